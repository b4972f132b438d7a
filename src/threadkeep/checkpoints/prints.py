"""Whether an element of a list is still what it was when its address was taken.

A *print* holds all that a serializer sees of an element: equal prints of one type serialize to the
same bytes. Values of different type have different prints (1, 1.0 and True). Taking one costs
about a microsecond, serializing the element ten times that. What cannot be printed is serialized.
"""

import dataclasses
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

import ormsgpack

LONG_CHARS = 256  # a message's text above this is told by identity, and not touched each time

_OPTION = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_BUILTIN = frozenset((str, int, float, bool, type(None), dict, list))
_CONTAINERS = frozenset((dict, list, set, frozenset, tuple, str, bytes, int, float))
_IMMUTABLE = frozenset((datetime, date, time, timedelta, Decimal, UUID))


class Whole(bytes):
    """The print of an element that is no plain model."""


Print = bytes | tuple[str, bytes] | None


def unchanged(elements: Sequence[Any], kinds: Sequence[type[Any]], prints: Sequence[Print]) -> int:
    """Count the leading elements that are of the type and print they were of."""
    count = 0
    pack, nested, option = ormsgpack.packb, _nested, _OPTION
    try:
        for element, kind, known in zip(elements, kinds, prints, strict=False):
            if type(element) is not kind:
                break
            if type(known) is bytes:  # a short message: the frequent case, without a call
                if pack(element.__dict__, nested, option) != known or element.__pydantic_extra__:
                    break
            elif known is None or not _is_still(element, known):
                break
            count += 1
    except (TypeError, ValueError, AttributeError):
        return count  # an element that cannot be printed any more has changed
    return count


def _is_still(element: Any, known: bytes | tuple[str, bytes]) -> bool:
    if type(known) is not tuple:
        return take(element) == known
    rest = element.__dict__.copy()
    return (
        rest.pop("content", None) is known[0]
        and ormsgpack.packb(rest, _nested, _OPTION) == known[1]
        and not element.__pydantic_extra__
    )


def take(element: Any) -> Print:
    """Take an element's print, or ``None`` where there is none."""
    kind: Any = type(element)
    try:
        if kind in _BUILTIN:
            return Whole(ormsgpack.packb(element, _nested, _OPTION))
        if _is_model(kind):
            return _of_model(element)
        if _is_dataclass(kind):
            return Whole(ormsgpack.packb(element.__dict__, _nested, _OPTION))
    except (TypeError, ValueError, AttributeError):
        pass
    return None


def _of_model(element: Any) -> Print:
    fields: dict[str, Any] = element.__dict__
    if element.__pydantic_extra__:
        return Whole(ormsgpack.packb([fields, element.__pydantic_extra__], _nested, _OPTION))
    text = fields.get("content")
    if type(text) is str and len(text) > LONG_CHARS:
        rest = fields.copy()
        del rest["content"]
        return text, ormsgpack.packb(rest, _nested, _OPTION)
    return ormsgpack.packb(fields, _nested, _OPTION)


def _nested(value: Any) -> Any:
    """Print what ormsgpack does not know, with its type."""
    kind: Any = type(value)
    if kind is tuple:
        return [id(kind), list(value)]
    if kind in _IMMUTABLE:
        return [id(kind), repr(value)]
    if _is_model(kind):
        return [id(kind), value.__dict__, value.__pydantic_extra__]
    if _is_dataclass(kind):
        return [id(kind), value.__dict__]
    raise TypeError(kind.__name__)


@lru_cache(maxsize=1024)
def _is_model(kind: Any) -> bool:
    """Tell whether all state of a pydantic model is in its ``__dict__`` and its extra fields."""
    return (
        hasattr(kind, "__pydantic_fields__")
        and hasattr(kind, "__pydantic_extra__")
        and not getattr(kind, "__private_attributes__", None)
        and not set(kind.__mro__).intersection(_CONTAINERS)
    )


@lru_cache(maxsize=1024)
def _is_dataclass(kind: Any) -> bool:
    """Tell whether all state of a dataclass is in its ``__dict__``."""
    bases = kind.__mro__
    return (
        dataclasses.is_dataclass(kind)
        and not any("__slots__" in vars(base) for base in bases)
        and not set(bases).intersection(_CONTAINERS)
    )
