"""Queries as conditions: the one place that writes SQL text, in the words of a dialect.

A condition never holds a caller's word: values are bound, columns and orders are known names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from threadkeep.drivers.sql.database import One
from threadkeep.drivers.sql.rows import AFTER_LABELS, micros, path_of
from threadkeep.model.items import ItemQuery, Namespace, NamespaceQuery
from threadkeep.model.queries import (
    AssistantQuery,
    CronQuery,
    DeliveryQuery,
    RunQuery,
    SortOrder,
    ThreadQuery,
    VersionQuery,
)
from threadkeep.rules.item_filter import Condition as Each
from threadkeep.rules.item_filter import parse_filter
from threadkeep.rules.namespaces import literal_labels

_ORDERS: Mapping[SortOrder, str] = {"asc": "ASC", "desc": "DESC"}


class Dialect(Protocol):
    """How a database says what SQL has no word for."""

    def contain(self, where: "Conditions", column: str, wanted: Mapping[str, Any]) -> None:
        """Add ``rules.containment`` of a JSON column."""
        ...

    def match(
        self, where: "Conditions", column: str, wanted: Mapping[str, Any], parsed: Sequence[Each]
    ) -> None:
        """Add ``rules.item_filter`` of a JSON column; ``parsed`` is what ``wanted`` states."""
        ...

    def have_part(self, where: "Conditions", column: str, part: str) -> None:
        """Add ``rules.identifiers.has_part`` of a text column."""
        ...

    def have_shape(self, where: "Conditions", query: NamespaceQuery) -> None:
        """Add ``rules.namespaces.cut_namespace``, in so far as the statements do not do it."""
        ...

    def be_owned(
        self, where: "Conditions", wanted: Mapping[str, Any], *, of_one_thread: bool
    ) -> None:
        """Add that the metadata of a run's thread contains something.

        Args:
            where: The conditions of a search for runs.
            wanted: What is enforced.
            of_one_thread: Whether the search is in one thread anyway.
        """
        ...

    def read_threads(self, where: "Conditions", query: ThreadQuery) -> None:
        """Say where the rows of a search come from, where the statement leaves that open."""
        ...

    def read_runs(self, where: "Conditions", query: RunQuery) -> None:
        """Do the same for runs."""
        ...

    def read_items(self, where: "Conditions", query: ItemQuery) -> None:
        """Add what spares a search for items most of them; its filter is added anyway."""
        ...

    def be_one_of(self, where: "Conditions", column: str, values: Sequence[str]) -> None:
        """Add that a text column is one of some texts."""
        ...


@dataclass(slots=True)
class Conditions:
    """Conditions that hold together, and what they bind.

    Attributes:
        source: Tables and joins before the conditions, where the statement leaves them open.
        counted: Another text by which the same rows are counted, where that is cheaper.
        total: Another statement that counts them, and what it binds, where that is cheaper.
    """

    dialect: Dialect
    parameters: dict[str, Any] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    order: str = ""
    source: str = ""
    counted: str = ""
    total: One | None = None

    @property
    def text(self) -> str:
        """What takes the place of ``{where}``."""
        conditions = " AND ".join(self.parts) or "TRUE"
        return f"{self.source} WHERE {conditions}" if self.source else conditions

    @property
    def ordered_text(self) -> str:
        """What takes its place where rows are read in order."""
        return f"{self.text} ORDER BY {self.order}"

    def add(self, template: str, column: str, value: Any, **more: Any) -> None:
        """Add a condition on a column and a bound value, ``:{name}``."""
        name = f"w{len(self.parts)}"
        self.parts.append(template.format(column=column, name=name))
        self.parameters[name] = value
        self.parameters |= {f"{name}_{suffix}": bound for suffix, bound in more.items()}

    def add_false(self) -> None:
        """Add a condition that never holds."""
        self.parts.append("FALSE")

    def equal(self, column: str, value: str | None) -> None:
        """Add equality, where a value is given."""
        if value is not None:
            self.add("{column} = :{name}", column, value)

    def one_of(self, column: str, values: Sequence[str] | None) -> None:
        """Add membership, where values are given."""
        if values is not None and len(values) == 1:
            self.equal(column, values[0])
        elif values is not None:
            self.dialect.be_one_of(self, column, values)

    def contain(self, column: str, wanted: Mapping[str, Any]) -> None:
        """Add containment, where something is wanted."""
        if wanted:
            self.dialect.contain(self, column, wanted)

    def owned(self, wanted: Mapping[str, Any], *, of_one_thread: bool) -> None:
        """Add what is enforced of a run's thread, where something is."""
        if wanted:
            self.dialect.be_owned(self, wanted, of_one_thread=of_one_thread)

    def match(self, column: str, wanted: Mapping[str, Any]) -> None:
        """Add an item filter, where it states something."""
        parsed = parse_filter(wanted)
        if parsed:
            self.dialect.match(self, column, wanted, parsed)

    def have_part(self, column: str, part: str | None) -> None:
        """Add part of a text in either case, where one is given."""
        if part is not None:
            self.dialect.have_part(self, column, part)

    def below(self, column: str, labels: Namespace) -> None:
        """Add a subtree of namespaces, where labels are given."""
        if labels:
            low = path_of(labels)
            self.add("{column} >= :{name}", column, low)
            self.add("{column} < :{name}", column, low + AFTER_LABELS)

    def live(self, column: str, now: datetime) -> None:
        """Add that a lifetime, where there is one, has not ended."""
        self.add("coalesce({column} > :{name}, TRUE)", column, micros(now))

    def order_by(
        self, column: str, id_column: str, direction: SortOrder, *, nulls_last: bool = False
    ) -> None:
        """Set the order, ties broken in the same direction."""
        nulls = " NULLS LAST" if nulls_last else ""
        self.order = f"{column} {_ORDERS[direction]}{nulls}, {id_column} {_ORDERS[direction]}"

    def flag(self, column: str, *, value: bool | None) -> None:
        """Add that a column is true, or is not, where a value is given."""
        if value is not None:
            self.parts.append(column if value else f"NOT {column}")


def assistants_where(query: AssistantQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of a search for assistants."""
    where = Conditions(dialect)
    where.equal("graph_id", query.graph_id)
    where.have_part("name", query.name)
    where.contain("metadata", query.enforced_metadata)
    where.contain("metadata", query.metadata)
    where.order_by(query.sort_by, "assistant_id", query.sort_order)
    return where


def versions_where(assistant_id: str, query: VersionQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of an assistant's history."""
    where = Conditions(dialect)
    where.equal("assistant_id", assistant_id)
    where.contain("metadata", query.metadata)
    where.order = "version DESC"
    return where


def threads_where(query: ThreadQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of a search for threads."""
    where = Conditions(dialect)
    dialect.read_threads(where, query)
    where.equal("status", query.status)
    where.one_of("thread_id", query.ids)
    where.contain("metadata", query.enforced_metadata)
    where.contain("metadata", query.metadata)
    where.contain('"values"', query.values)
    if not where.order:
        where.order_by(query.sort_by, "thread_id", query.sort_order)
    return where


def runs_where(query: RunQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of a search for runs."""
    where = Conditions(dialect)
    dialect.read_runs(where, query)
    where.equal("thread_id", query.thread_id)
    where.equal("assistant_id", query.assistant_id)
    where.one_of("status", query.statuses)
    where.owned(query.enforced_metadata, of_one_thread=query.thread_id is not None)
    where.contain("metadata", query.metadata)
    if not where.order:
        where.order_by("created_at", "run_id", "desc")
    return where


def crons_where(query: CronQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of a search for crons."""
    where = Conditions(dialect)
    where.equal("assistant_id", query.assistant_id)
    where.equal("thread_id", query.thread_id)
    where.flag("enabled", value=query.enabled)
    where.contain("metadata", query.enforced_metadata)
    where.contain("metadata", query.metadata)
    where.order_by(query.sort_by, "cron_id", query.sort_order, nulls_last=True)
    return where


def deliveries_where(query: DeliveryQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of a search for deliveries."""
    where = Conditions(dialect)
    where.equal("run_id", query.run_id)
    where.equal("thread_id", query.thread_id)
    where.equal("status", query.status)
    where.order_by("created_at", "delivery_id", "desc")
    return where


def items_where(query: ItemQuery, dialect: Dialect, now: datetime) -> Conditions:
    """Return the conditions of a search for items."""
    where = Conditions(dialect)
    where.below("path", query.prefix)
    where.live("expires_at", now)
    dialect.read_items(where, query)
    where.match("value", query.filter)
    where.order = 'updated_at DESC, path, "key"'
    return where


def namespaces_where(query: NamespaceQuery, dialect: Dialect, now: datetime) -> Conditions:
    """Return the conditions of the items whose namespaces a listing looks at."""
    where = Conditions(dialect)
    where.below("path", literal_labels(query.prefix))
    where.live("expires_at", now)
    dialect.have_shape(where, query)
    return where
