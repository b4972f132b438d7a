"""Whether a document meets a condition: the one meaning, for the drivers that have no SQL."""

from functools import lru_cache
from typing import Any

from threadkeep.errors import InvalidRequestError
from threadkeep.ports.documents import (
    COLLECTIONS,
    Below,
    Condition,
    Document,
    HasEntry,
    In,
    Is,
    Scalar,
)
from threadkeep.rules.document_checks import parse_json
from threadkeep.rules.document_order import field_order
from threadkeep.rules.json_equality import json_equal


def matches(document: Document, condition: Condition) -> bool:
    """Say whether a document meets a condition that ``check_find`` let pass."""
    value = _value_of(document, condition.name)
    match condition:
        case Is(_, wanted):
            return value == wanted
        case In(_, values):
            return value in values
        case Below(name, bound):
            order = field_order(document.collection, name)
            return bool(order(value) < order(bound))
        case HasEntry(_, entry, wanted):
            return isinstance(value, str) and has_entry(value, entry, wanted)


def has_entry(text: str, entry: str, value: str) -> bool:
    """Say whether the JSON object ``text`` has a top-level ``entry`` equal to JSON ``value``."""
    try:
        stored = parse_json(text)
    except InvalidRequestError:
        return False
    return (
        isinstance(stored, dict) and entry in stored and json_equal(stored[entry], _wanted(value))
    )


@lru_cache(maxsize=64)  # the same few values are compared with every stored object
def _wanted(value: str) -> Any:
    return parse_json(value)


def _value_of(document: Document, name: str) -> Scalar:
    for field, value in zip(COLLECTIONS[document.collection].key, document.key, strict=True):
        if field == name:
            return value
    return document.fields.get(name)
