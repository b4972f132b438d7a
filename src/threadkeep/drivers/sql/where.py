"""Queries as conditions: the one place that writes SQL text, in each dialect's words.

A condition never holds a caller's word: values are bound, columns and orders are known names.
Where a rule decides (containment, item filters), a comparison of single values that the database
makes itself comes first: it lets through all that the rule can match, and spares it most rows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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
from threadkeep.rules.identifiers import is_plain
from threadkeep.rules.item_filter import parse_filter
from threadkeep.rules.json_text import json_text
from threadkeep.rules.namespaces import literal_labels

MAX_ENTRIES = 4  # comparisons before a rule; the first few spare the most rows
MAX_EXACT = 10**15  # integers below it are the same number for every JSON reader

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ORDERS: Mapping[SortOrder, str] = {"asc": "ASC", "desc": "DESC"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database says what SQL has no word for; ``{column}`` is a column, ``:{name}`` bound.

    Attributes:
        contains: ``rules.containment`` of a JSON column and bound JSON text.
        matches: ``rules.item_filter`` of a JSON column and bound JSON text.
        has_part: ``rules.identifiers.has_part`` of a text column and bound text.
        is_entry: Whether the entry at the bound path ``:{name}_path`` of a JSON column is the bound
            text, number or truth value; it may also hold for others that look alike.
        is_one_of: Whether a column is among the texts of a bound JSON list.
    """

    contains: str
    matches: str
    has_part: str
    is_entry: str
    is_one_of: str


SQLITE = Dialect(
    contains="json_contains({column}, :{name})",
    matches="item_matches({column}, :{name})",
    has_part="has_part({column}, :{name})",
    is_entry="json_extract({column}, :{name}_path) = :{name}",
    is_one_of="{column} IN (SELECT value FROM json_each(:{name}))",
)


@dataclass(slots=True)
class Conditions:
    """Conditions that hold together, and what they bind."""

    dialect: Dialect
    parameters: dict[str, Any] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    order: str = ""

    @property
    def text(self) -> str:
        """What takes the place of ``{where}`` where rows are counted."""
        return " AND ".join(self.parts) or "TRUE"

    @property
    def ordered_text(self) -> str:
        """What takes its place where rows are read."""
        return f"{self.text} ORDER BY {self.order}"

    def add(self, template: str, column: str, value: Any, **more: Any) -> None:
        """Add a condition on a column and a bound value."""
        name = f"w{len(self.parts)}"
        self.parts.append(template.format(column=column, name=name))
        self.parameters[name] = value
        self.parameters |= {f"{name}_{suffix}": bound for suffix, bound in more.items()}

    def equal(self, column: str, value: str | None) -> None:
        """Add equality, where a value is given."""
        if value is not None:
            self.add("{column} = :{name}", column, value)

    def one_of(self, column: str, values: Sequence[str] | None) -> None:
        """Add membership, where values are given."""
        if values is not None:
            self.add(self.dialect.is_one_of, column, json_text(list(values)))

    def contain(self, column: str, wanted: Mapping[str, Any]) -> None:
        """Add containment, where something is wanted."""
        if wanted:
            self._entries(column, _leaves(wanted))
            self.add(self.dialect.contains, column, json_text(wanted))

    def match(self, column: str, wanted: Mapping[str, Any]) -> None:
        """Add an item filter, where it states something."""
        conditions = parse_filter(wanted)
        if conditions:
            equal = [(each.key,) for each in conditions if each.operator == "$eq"]
            values = [each.operand for each in conditions if each.operator == "$eq"]
            self._entries(column, zip(equal, values, strict=True))
            self.add(self.dialect.matches, column, json_text(wanted))

    def below(self, column: str, labels: Namespace) -> None:
        """Add a subtree of namespaces, where labels are given."""
        if labels:
            low = path_of(labels)
            self.add("{column} >= :{name}", column, low)
            self.add("{column} < :{name}", column, low + AFTER_LABELS)

    def live(self, column: str, now: datetime) -> None:
        """Add that a lifetime, where there is one, has not ended."""
        self.add("({column} IS NULL OR {column} > :{name})", column, micros(now))

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

    def _entries(self, column: str, entries: Any) -> None:
        kept = [(path, value) for path, value in entries if _is_comparable(path, value)]
        for path, value in kept[:MAX_ENTRIES]:
            self.add(self.dialect.is_entry, column, value, path=_path_text(path))


def assistants_where(query: AssistantQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of a search for assistants."""
    where = Conditions(dialect)
    where.equal("graph_id", query.graph_id)
    if query.name is not None:
        where.add(dialect.has_part, "name", query.name)
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
    where.equal("status", query.status)
    where.one_of("thread_id", query.ids)
    where.contain("metadata", query.enforced_metadata)
    where.contain("metadata", query.metadata)
    where.contain('"values"', query.values)
    where.order_by(query.sort_by, "thread_id", query.sort_order)
    return where


def runs_where(query: RunQuery, dialect: Dialect) -> Conditions:
    """Return the conditions of a search for runs."""
    where = Conditions(dialect)
    where.equal("thread_id", query.thread_id)
    where.equal("assistant_id", query.assistant_id)
    where.one_of("status", query.statuses)
    where.contain("metadata", query.metadata)
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
    where.match("value", query.filter)
    where.order = 'updated_at DESC, path, "key"'
    return where


def namespaces_where(query: NamespaceQuery, dialect: Dialect, now: datetime) -> Conditions:
    """Return the conditions of the items whose namespaces a listing looks at."""
    where = Conditions(dialect)
    where.below("path", literal_labels(query.prefix))
    where.live("expires_at", now)
    return where


def _leaves(wanted: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[Any]:
    for key, value in wanted.items():
        path = (*above, key)
        if isinstance(value, Mapping):
            yield from _leaves(value, path)
        else:
            yield path, value


def _is_comparable(path: tuple[str, ...], value: Any) -> bool:
    """Say whether every database reads this entry out of JSON as the same value."""
    if not all(_PLAIN_KEY.fullmatch(key) for key in path):
        return False
    if isinstance(value, str):
        return is_plain(value)
    return isinstance(value, int) and abs(value) < MAX_EXACT


def _path_text(path: tuple[str, ...]) -> str:
    return "$" + "".join(f'."{key}"' for key in path)
