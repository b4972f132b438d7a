"""The rules of the resources as SQL functions, so that SQLite means what every driver means.

The second argument is the same for every row of a statement, and is read once.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from threadkeep.drivers.sql.rows import labels_of, path_of
from threadkeep.model.items import NamespaceQuery
from threadkeep.rules.containment import contains
from threadkeep.rules.identifiers import has_part
from threadkeep.rules.item_filter import Condition, matches, parse_filter
from threadkeep.rules.json_text import decode_json
from threadkeep.rules.namespaces import cut_namespace

READ_ONCE = 64  # second arguments remembered; more than statements run at once

_wanted: Callable[[str], Any] = lru_cache(READ_ONCE)(decode_json)


@lru_cache(READ_ONCE)
def _conditions(text: str) -> tuple[Condition, ...]:
    return parse_filter(decode_json(text))


@lru_cache(READ_ONCE)
def _shape(text: str) -> NamespaceQuery:
    shape = decode_json(text)
    more = tuple((tuple(prefix), tuple(suffix)) for prefix, suffix in shape["more"])
    prefix, suffix = tuple(shape["prefix"]), tuple(shape["suffix"])
    return NamespaceQuery(prefix, suffix, shape["max_depth"], more=more)


def _json_contains(column: str | None, wanted: str) -> bool:
    return column is not None and contains(decode_json(column), _wanted(wanted))


def _item_matches(column: str, wanted: str) -> bool:
    return matches(decode_json(column), _conditions(wanted))


def _cut_namespace(path: bytes, shape: str) -> bytes | None:
    labels = cut_namespace(labels_of(path), _shape(shape))
    return None if labels is None else path_of(labels)


FUNCTIONS: Mapping[tuple[str, int], Callable[..., Any]] = {
    ("json_contains", 2): _json_contains,
    ("item_matches", 2): _item_matches,
    ("cut_namespace", 2): _cut_namespace,
    ("has_part", 2): has_part,
}
