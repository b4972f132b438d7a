"""Conditions on resources in PostgreSQL's words; see ``search_forms`` for how JSON is compared."""

from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.drivers.postgres.entry_digests import digest_of
from threadkeep.drivers.postgres.search_forms import search_json, search_text
from threadkeep.drivers.sql.where import Conditions
from threadkeep.model.items import ItemQuery, Namespace, NamespaceQuery
from threadkeep.model.queries import RunQuery, ThreadQuery
from threadkeep.rules.item_filter import Condition
from threadkeep.rules.json_text import json_text
from threadkeep.rules.namespaces import WILDCARD

MAX_DEPTH = 32_767  # labels; an address has at most some 1,000

# The entry of an item's value at a bound key; NULL where there is none.
_ENTRY = "(coalesce({column}_search, {column}::jsonb) -> :{name}_key::text)"
_TESTS: Mapping[str, str] = {
    "$eq": "(entries @> :{name}_entries::uuid[] AND " + _ENTRY + " = :{name}::jsonb)",
    "$ne": _ENTRY + " IS DISTINCT FROM :{name}::jsonb",
    "$in": "(entries && :{name}_entries::uuid[] AND " + _ENTRY + " = ANY (:{name}::jsonb[]))",
    "$nin": "(" + _ENTRY + " = ANY (:{name}::jsonb[])) IS NOT TRUE",
}
_ORDERS: Mapping[str, str] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_ORDERED = (
    "CASE WHEN jsonb_typeof(" + _ENTRY + ") = 'number' "
    "THEN " + _ENTRY + "::numeric {operator} :{name}::text::numeric ELSE FALSE END"
)
_FIRST = """NOT EXISTS (
    SELECT FROM unnest(:{name}::text[]) WITH ORDINALITY AS wanted (label, place)
    WHERE label <> :{name}_any::text AND label IS DISTINCT FROM {column}[place]
)"""
_LAST = """NOT EXISTS (
    SELECT FROM unnest(:{name}::text[]) WITH ORDINALITY AS wanted (label, place)
    WHERE label <> :{name}_any::text
    AND label IS DISTINCT FROM {column}[cardinality({column}) - :{name}_size::integer + place]
)"""

_OWNED = """runs.thread_id IN (
    SELECT owned.thread_id FROM {{schema}}thread_search AS owned
    WHERE owned.{column} @> :{name}::jsonb
)"""


class PostgresDialect:
    """Satisfies ``Dialect``."""

    def contain(self, where: Conditions, column: str, wanted: Mapping[str, Any]) -> None:
        """See ``Dialect.contain``."""
        searched = column.strip('"') + "_search"
        where.add("{column} @> :{name}::jsonb", searched, search_json(wanted))

    def match(
        self,
        where: Conditions,
        column: str,
        wanted: Mapping[str, Any],
        parsed: Sequence[Condition],
    ) -> None:
        """See ``Dialect.match``."""
        for each in parsed:
            _add_test(where, column, each)

    def have_part(self, where: Conditions, column: str, part: str) -> None:
        """See ``Dialect.have_part``."""
        where.add("strpos({column}_folded, :{name}::text) > 0", column, part.casefold())

    def have_shape(self, where: Conditions, query: NamespaceQuery) -> None:
        """See ``Dialect.have_shape``."""
        where.parameters["depth"] = min(query.max_depth or MAX_DEPTH, MAX_DEPTH)
        for prefix, suffix in query.shapes:
            _add_shape(where, prefix, suffix)

    def be_owned(
        self, where: Conditions, wanted: Mapping[str, Any], *, of_one_thread: bool
    ) -> None:
        """See ``Dialect.be_owned``."""
        where.add(_OWNED, "metadata_search", search_json(wanted))

    def read_threads(self, where: Conditions, query: ThreadQuery) -> None:
        """See ``Dialect.read_threads``; the statements say it."""

    def read_runs(self, where: Conditions, query: RunQuery) -> None:
        """See ``Dialect.read_runs``; the statements say it."""

    def read_items(self, where: Conditions, query: ItemQuery) -> None:
        """See ``Dialect.read_items``; the tests of the filter are by an index themselves."""

    def be_one_of(self, where: Conditions, column: str, values: Sequence[str]) -> None:
        """See ``Dialect.be_one_of``."""
        where.add("{column} = ANY (:{name}::text[])", column, list(values))


POSTGRES = PostgresDialect()


def _add_shape(where: Conditions, prefix: Namespace, suffix: Namespace) -> None:
    longest = max(len(prefix), len(suffix))
    if longest:
        where.add("cardinality({column}) >= :{name}::integer", "labels", longest)
    if prefix:
        where.add(_FIRST, "labels", list(prefix), any=WILDCARD)
    if suffix:
        where.add(_LAST, "labels", list(suffix), any=WILDCARD, size=len(suffix))


def _add_test(where: Conditions, column: str, condition: Condition) -> None:
    operator, operand = condition.operator, condition.operand
    key = search_text(condition.key)
    if operator in _ORDERS:
        if isinstance(operand, bool) or not isinstance(operand, (int, float)):
            where.add_false()
            return
        template = _ORDERED.replace("{operator}", _ORDERS[operator])
        where.add(template, column, search_json(operand), key=key)
        return
    if operator in {"$in", "$nin"}:
        value: Any = [search_json(each) for each in operand]
        equal = operand
    else:
        value = search_json(operand)
        equal = [operand]
    more = {}
    if "_entries" in _TESTS[operator]:
        more["entries"] = [digest_of(condition.key, json_text(each)) for each in equal]
    where.add(_TESTS[operator], column, value, key=key, **more)
