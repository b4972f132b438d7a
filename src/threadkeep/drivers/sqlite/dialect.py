"""Conditions in SQLite's words.

Where a rule decides (containment, item filters), a comparison of single values that SQLite makes
itself comes first: it lets through all that the rule can match, and spares it most rows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from threadkeep.drivers.sql.database import One
from threadkeep.drivers.sql.rows import AFTER_LABELS, path_of
from threadkeep.drivers.sql.where import Conditions
from threadkeep.model.items import ItemQuery, NamespaceQuery
from threadkeep.model.queries import RunQuery, ThreadQuery
from threadkeep.rules.identifiers import is_plain
from threadkeep.rules.item_filter import Condition, parse_filter
from threadkeep.rules.json_text import json_text

MAX_ENTRIES = 4  # comparisons before a rule; the first few spare the most rows
MAX_LABEL = 200  # characters of a label's key or text; longer ones are no labels
MAX_EXACT = 10**15  # integers below it are the same number for every JSON reader

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")

_OWNED = """EXISTS (
    SELECT 1 FROM threads
    WHERE threads.thread_id = runs.thread_id AND json_contains({column}, :{name})
)"""

_OWNED_BY_LABEL = """runs.thread_id IN (
    SELECT label_thread FROM thread_labels
    WHERE label_key = :{name}_key AND label_value = :{name}_label
    AND (SELECT json_contains({column}, :{name}) FROM threads WHERE thread_id = label_thread)
)"""
_OWNED_EXACTLY = """runs.thread_id IN (
    SELECT label_thread FROM thread_labels
    WHERE label_key = :{name}_key AND label_value = :{name}_label AND (label_is_exact OR (
        SELECT json_contains({column}, :{name}) FROM threads WHERE thread_id = label_thread
    ))
)"""
# A label that is exact needs no look at the metadata.
_IS_CONTAINED = """(label_is_exact OR (
    SELECT json_contains(metadata, :label_wanted) FROM threads WHERE thread_id = label_thread
))"""
_RUN_IS_CONTAINED = """(label_is_exact OR (
    SELECT json_contains(metadata, :label_wanted) FROM runs WHERE position = label_position
))"""

_LABELLED = """{column} IN (
    SELECT label_item FROM item_labels WHERE label_key = :{name}_key AND {test}{below}
)"""
_BELOW = " AND label_path >= :{name}_low AND label_path < :{name}_high"
_AMONG = "label_value IN (SELECT value FROM json_each(:{name}))"
_IS_LABEL = "label_value = :{name}"
# Numbers come before every text. A bound lets a little more through: SQLite may read a fraction as
# one of its neighbours, and an integer above 64 bits as the nearest float.
_RANGES = {
    "$gt": "label_value >= :{name} AND label_value < ''",
    "$gte": "label_value >= :{name} AND label_value < ''",
    "$lt": "label_value <= :{name}",
    "$lte": "label_value <= :{name}",
}
_SLACK = 1e-12  # of a bound


class SqliteDialect:
    """Satisfies ``Dialect``; the rules are registered as functions (``functions.py``)."""

    def contain(self, where: Conditions, column: str, wanted: Mapping[str, Any]) -> None:
        """See ``Dialect.contain``."""
        _compare(where, column, _leaves(wanted))
        where.add("json_contains({column}, :{name})", column, json_text(wanted))

    def match(
        self,
        where: Conditions,
        column: str,
        wanted: Mapping[str, Any],
        parsed: Sequence[Condition],
    ) -> None:
        """See ``Dialect.match``."""
        equal = [((each.key,), each.operand) for each in parsed if each.operator == "$eq"]
        _compare(where, column, equal)
        where.add("item_matches({column}, :{name})", column, json_text(wanted))

    def have_part(self, where: Conditions, column: str, part: str) -> None:
        """See ``Dialect.have_part``."""
        where.add("has_part({column}, :{name})", column, part)

    def have_shape(self, where: Conditions, query: NamespaceQuery) -> None:
        """See ``Dialect.have_shape``; the statements call the rule."""
        shape = {
            "prefix": list(query.prefix),
            "suffix": list(query.suffix),
            "max_depth": query.max_depth,
            "more": [[list(prefix), list(suffix)] for prefix, suffix in query.more],
        }
        where.parameters["shape"] = json_text(shape)

    def be_owned(
        self, where: Conditions, wanted: Mapping[str, Any], *, of_one_thread: bool
    ) -> None:
        """See ``Dialect.be_owned``: by a label of the threads, where one is wanted."""
        label = None if of_one_thread else next(_labels(wanted), None)
        if label is None:
            where.add(_OWNED, "threads.metadata", json_text(wanted))
            return
        key, value = label
        template = _OWNED_EXACTLY if len(wanted) == 1 else _OWNED_BY_LABEL
        where.add(template, "metadata", json_text(wanted), key=key, label=value)

    def read_threads(self, where: Conditions, query: ThreadQuery) -> None:
        """See ``Dialect.read_threads``: by a label, where one is wanted, else by the threads.

        ``thread_labels`` holds the single values at the top of each thread's metadata.
        """
        where.source = "threads"
        wanted = {**query.metadata, **query.enforced_metadata}
        is_narrow = query.status is None and query.ids is None and not query.values
        if is_narrow and not wanted:
            where.total = _total("thread", None)
        elif query.status is not None and query.ids is None and not (wanted or query.values):
            where.total = _total("thread", [query.status])
        label = next(_labels(query.enforced_metadata), None) or next(_labels(wanted), None)
        if label is None or query.ids is not None:
            return
        where.source = "thread_labels CROSS JOIN threads ON threads.thread_id = label_thread"
        where.add("{column} = :{name}", "label_key", label[0])
        where.add("{column} = :{name}", "label_value", label[1])
        if is_narrow and len(query.metadata) + len(query.enforced_metadata) == 1:
            where.counted = f"thread_labels WHERE {' AND '.join(where.parts)} AND {_IS_CONTAINED}"
            where.parameters["label_wanted"] = json_text(wanted)
        if query.sort_by == "created_at":
            where.order_by("label_at", "label_thread", query.sort_order)

    def read_runs(self, where: Conditions, query: RunQuery) -> None:
        """See ``Dialect.read_runs``."""
        where.source = "runs"
        others = (query.thread_id, query.assistant_id, query.enforced_metadata)
        if not any(others) and not query.metadata:
            where.total = _total("run", query.statuses)
        # The longest: what names one of many is longer than what names one of few.
        label = max(_labels(query.metadata), key=_length, default=None)
        if label is None or query.thread_id is not None:
            return
        where.source = "run_labels CROSS JOIN runs ON runs.position = label_position"
        where.add("{column} = :{name}", "label_key", label[0])
        where.add("{column} = :{name}", "label_value", label[1])
        where.order_by("label_at", "run_id", "desc")
        if not any(others) and query.statuses is None and len(query.metadata) == 1:
            where.counted = f"run_labels WHERE {' AND '.join(where.parts)} AND {_RUN_IS_CONTAINED}"
            where.parameters["label_wanted"] = json_text(query.metadata)

    def read_items(self, where: Conditions, query: ItemQuery) -> None:
        """See ``Dialect.read_items``: by the labels of the most telling condition that has some.

        ``item_labels`` holds the single values at the top of each item's value.
        """
        parsed = sorted(parse_filter(query.filter), key=_width)
        for condition in parsed:
            sought = _sought(condition)
            # Within a subtree, an order of numbers might pass through all that is outside.
            if sought is None or (query.prefix and condition.operator not in _SETS):
                continue
            test, value = sought
            below, bounds = "", {}
            if query.prefix:
                low = path_of(query.prefix)
                below, bounds = _BELOW, {"low": low, "high": low + AFTER_LABELS}
            template = _LABELLED.replace("{test}", test).replace("{below}", below)
            where.add(template, "items.item_id", value, key=condition.key, **bounds)
            return

    def be_one_of(self, where: Conditions, column: str, values: Sequence[str]) -> None:
        """See ``Dialect.be_one_of``."""
        listed = "{column} IN (SELECT value FROM json_each(:{name}))"
        where.add(listed, column, json_text(list(values)))


SQLITE = SqliteDialect()


def _total(kind: str, statuses: Sequence[str] | None) -> One:
    listed = None if statuses is None else json_text(list(statuses))
    return One("total_resources", {"kind": kind, "statuses": listed})


def _labels(wanted: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Iterate over what of wanted metadata is a label: single values at the top."""
    for key, value in wanted.items():
        if not _is_comparable((key,), value) or len(key) > MAX_LABEL:
            continue
        if isinstance(value, bool):
            yield key, b"\x01" if value else b"\x00"
        elif isinstance(value, int) or len(value) <= MAX_LABEL:
            yield key, value


_SETS = {"$eq", "$in"}


def _length(label: tuple[str, Any]) -> int:
    return 0 if isinstance(label[1], bytes) else len(str(label[1]))


def _width(condition: Condition) -> tuple[bool, int]:
    """Order conditions by how much they let through, as far as can be told without a look."""
    return condition.operator not in _SETS, -len(str(condition.operand))


def _sought(condition: Condition) -> tuple[str, Any] | None:
    """Return the test of labels that lets through what a condition may match, and its bound."""
    key, operator, operand = condition.key, condition.operator, condition.operand
    if len(key) > MAX_LABEL:
        return None
    if operator in _RANGES:
        return _sought_range(key, operator, operand)
    if operator not in _SETS:
        return None
    values = operand if operator == "$in" else [operand]
    labels = [label for each in values for _, label in _labels({key: each})]
    if len(labels) < len(values) or not values:
        return None
    if operator == "$eq":
        return _IS_LABEL, labels[0]
    flags = any(isinstance(label, bytes) for label in labels)
    return None if flags else (_AMONG, json_text(labels))


def _sought_range(key: str, operator: str, operand: Any) -> tuple[str, Any] | None:
    is_number = isinstance(operand, (int, float)) and not isinstance(operand, bool)
    if not is_number or not _PLAIN_KEY.fullmatch(key) or abs(operand) >= MAX_EXACT:
        return None
    slack = abs(operand) * _SLACK
    return _RANGES[operator], operand + (slack if operator.startswith("$lt") else -slack)


def _compare(
    where: Conditions, column: str, entries: Iterable[tuple[tuple[str, ...], Any]]
) -> None:
    kept = [(path, value) for path, value in entries if _is_comparable(path, value)]
    for path, value in kept[:MAX_ENTRIES]:
        where.add(
            "json_extract({column}, :{name}_path) = :{name}", column, value, path=_path_text(path)
        )


def _leaves(
    wanted: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in wanted.items():
        path = (*above, key)
        if isinstance(value, Mapping):
            yield from _leaves(value, path)
        else:
            yield path, value


def _is_comparable(path: tuple[str, ...], value: Any) -> bool:
    """Say whether SQLite reads this entry out of JSON as the same value."""
    if not all(_PLAIN_KEY.fullmatch(key) for key in path):
        return False
    if isinstance(value, str):
        return is_plain(value)
    return isinstance(value, int) and abs(value) < MAX_EXACT


def _path_text(path: tuple[str, ...]) -> str:
    return "$" + "".join(f'."{key}"' for key in path)
