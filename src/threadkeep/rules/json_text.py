"""JSON values as text that gives back exactly what was put in, or a refusal.

Exact: integers of any size, text with NUL or lone surrogates, the order of keys. Tuples become
lists and subclasses of the plain types become the plain type, as every JSON encoder has it.
Refused: what is not JSON (``NaN``, sets, dates, keys that are not text), what nests deeper than
``MAX_DEPTH``, and text that holds a surrogate pair as two characters, which JSON cannot tell from
the one character it encodes.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import orjson

from threadkeep.errors import ValueNotStorableError

MAX_DEPTH = 128  # objects and lists inside one another; a walk takes three of 1,000 frames for each
MAX_INTEGER_BITS = (
    14_000  # integers; the interpreter refuses texts above 4,300 digits (14,284 bits)
)
EXACT = " "  # leads a text only the standard decoder reads back unchanged; it is JSON space

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def normal_json(value: Any, where: str) -> Any:
    """Return a copy of a value made of plain JSON types only.

    Args:
        value: What to copy; it is not shared with the answer.
        where: What a refusal calls the value, e.g. ``"metadata"``.

    Raises:
        ValueNotStorableError: See the module.
    """
    return _normal(value, where, 0)


def normal_object(value: Any, where: str) -> dict[str, Any]:
    """Do the same for a value that must be an object.

    Raises:
        ValueNotStorableError: Also when it is no object.
    """
    if not isinstance(value, Mapping):
        raise ValueNotStorableError(f"{where} must be a JSON object, not {type(value).__name__}")
    found: dict[str, Any] = _normal(dict(value), where, 0)
    return found


def copy_json(value: Any) -> Any:
    """Return a deep copy of a value that ``normal_json`` has made."""
    if type(value) is dict:
        return {key: copy_json(held) for key, held in value.items()}
    if type(value) is list:
        return [copy_json(held) for held in value]
    return value


def json_text(value: Any) -> str:
    """Return what ``normal_json`` has made as text for ``decode_json``."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer above 64 bits, or a lone surrogate
        return EXACT + json.dumps(value, separators=(",", ":"))


def decode_json(text: str) -> Any:
    """Return the value a text of ``json_text`` stands for."""
    if text.startswith(EXACT):
        return json.loads(text)
    return orjson.loads(text)


def _normal(value: Any, where: str, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return _exact_text(value, where)
    if value is None or kind is bool:
        return value
    if isinstance(value, (int, float)):
        return _number(value, where)
    if isinstance(value, (dict, list, tuple)):
        return _nested(value, where, depth + 1)
    if isinstance(value, str):
        return _exact_text(str.__str__(value), where)
    raise ValueNotStorableError(f"{where} holds a {kind.__name__}, which is not JSON")


def _nested(value: Any, where: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueNotStorableError(f"{where} nests deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {_key(key, where): _normal(held, where, depth) for key, held in value.items()}
    return [_normal(held, where, depth) for held in value]


def _key(key: Any, where: str) -> str:
    if isinstance(key, str):
        return _exact_text(str.__str__(key), where)
    raise ValueNotStorableError(f"{where} has the key {key!r}; keys must be text")


def _exact_text(text: str, where: str) -> str:
    if not text.isascii() and _SURROGATE_PAIR.search(text):
        raise ValueNotStorableError(
            f"{where} holds a surrogate pair as two characters; put the one character they encode"
        )
    return text


def _number(value: int | float, where: str) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueNotStorableError(f"{where} holds {float(value)}, which is not JSON")
        return float(value)
    if value.bit_length() > MAX_INTEGER_BITS:
        raise ValueNotStorableError(
            f"{where} holds an integer of more than {MAX_INTEGER_BITS} bits"
        )
    return int(value)
