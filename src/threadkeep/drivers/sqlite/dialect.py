"""Conditions in SQLite's words.

Where a rule decides (containment, item filters), a comparison of single values that SQLite makes
itself comes first: it lets through all that the rule can match, and spares it most rows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from threadkeep.drivers.sql.where import Conditions
from threadkeep.model.items import NamespaceQuery
from threadkeep.rules.identifiers import is_plain
from threadkeep.rules.item_filter import Condition
from threadkeep.rules.json_text import json_text

MAX_ENTRIES = 4  # comparisons before a rule; the first few spare the most rows
MAX_EXACT = 10**15  # integers below it are the same number for every JSON reader

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")

_OWNED = """EXISTS (
    SELECT 1 FROM threads
    WHERE threads.thread_id = runs.thread_id AND json_contains({column}, :{name})
)"""


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
        }
        where.parameters["shape"] = json_text(shape)

    def be_owned(self, where: Conditions, wanted: Mapping[str, Any]) -> None:
        """See ``Dialect.be_owned``."""
        where.add(_OWNED, "threads.metadata", json_text(wanted))

    def be_one_of(self, where: Conditions, column: str, values: Sequence[str]) -> None:
        """See ``Dialect.be_one_of``."""
        listed = "{column} IN (SELECT value FROM json_each(:{name}))"
        where.add(listed, column, json_text(list(values)))


SQLITE = SqliteDialect()


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
