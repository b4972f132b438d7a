"""Whether the elements of a list are still what they were when their addresses were taken.

A *print* holds all that a serializer sees of an element: equal prints of one type serialize to the
same bytes. Values of different type have different prints (1, 1.0 and True). What cannot be printed
is serialized each time. A message's text stands in its print as the object that it is, so that an
unchanged one is told without a look at it. Prints are kept in *sheets*: one call tells a sheet of
unchanged elements, at about half a microsecond an element; serializing takes ten times that.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from operator import attrgetter, is_
from typing import Any
from uuid import UUID

import ormsgpack

SHEET_LEN = 64  # elements told by one call: fewer cost more calls, more cost more memory at once

_OPTION = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_ARRAY = tuple(ormsgpack.packb([None] * count)[: -count or None] for count in range(SHEET_LEN + 1))
_BUILTIN = frozenset((str, int, float, bool, type(None), dict, list))
_CONTAINERS = frozenset((dict, list, set, frozenset, tuple, str, bytes, int, float))
_EXTRA = attrgetter("__pydantic_extra__")
_NO_TEXT = {"content": None}
_IMMUTABLE = frozenset((datetime, date, time, timedelta, Decimal, UUID))


Print = tuple[str | None, bytes] | None  # a message's text, and all else packed


class Sheet:
    """Some consecutive elements' types and prints.

    Args:
        kinds: The elements' types.
        prints: Their prints, ``None`` where there is none.
    """

    __slots__ = ("_lengths", "_packed", "_texts", "kinds", "messages", "whole")

    def __init__(self, kinds: list[Any], prints: Sequence[Print]) -> None:
        self.kinds = kinds
        self.whole = None not in prints
        self._texts = [seen[0] if seen else None for seen in prints]
        self._lengths = [len(seen[1]) if seen else 0 for seen in prints]
        self._packed = _ARRAY[len(kinds)] + b"".join(seen[1] for seen in prints if seen)
        self.messages = None not in self._texts

    @property
    def size_bytes(self) -> int:
        """Say what it occupies beside the texts, which the elements hold, roughly."""
        return 128 + 24 * len(self.kinds) + len(self._packed)

    def prints(self) -> Iterator[Print]:
        """Give the elements' prints, in order."""
        at = len(_ARRAY[len(self.kinds)])
        for text, length in zip(self._texts, self._lengths, strict=True):
            yield (text, self._packed[at : at + length]) if length else None
            at += length

    def unchanged(self, elements: Sequence[Any]) -> int:
        """Count the leading elements that are of the type and print they were of."""
        if self.whole and [*map(type, elements)] == self.kinds and self._is_still(elements):
            return len(elements)
        count = 0
        for element, kind, known in zip(elements, self.kinds, self.prints(), strict=False):
            if type(element) is not kind or known is None or take(element) != known:
                break
            count += 1
        return count

    def _is_still(self, elements: Sequence[Any]) -> bool:
        try:
            if self.messages and not any(map(_EXTRA, elements)):
                fields = [one.__dict__ for one in elements]
                texts = [one["content"] for one in fields]
                views = [one | _NO_TEXT for one in fields]
            else:
                texts, views = map(list, zip(*map(_parts, elements), strict=True))
            if not all(map(is_, texts, self._texts)):
                return False
            return ormsgpack.packb(views, _nested, _OPTION) == self._packed
        except (TypeError, ValueError, AttributeError, KeyError):
            return False  # an element that cannot be printed any more has changed


class Prints:
    """What a list's elements were; a value, whose sheets later lists share."""

    def __init__(self, sheets: Sequence[Sheet] = ()) -> None:
        self._sheets = sheets

    def __len__(self) -> int:
        """Count the elements."""
        return sum(len(sheet.kinds) for sheet in self._sheets)

    @cached_property
    def whole(self) -> bool:
        """Tell whether every element has a print."""
        return all(sheet.whole for sheet in self._sheets)

    @cached_property
    def size_bytes(self) -> int:
        """Say what they occupy, roughly."""
        return sum(sheet.size_bytes for sheet in self._sheets)

    def unchanged(self, elements: Sequence[Any]) -> int:
        """Count the leading elements that are of the type and print they were of."""
        count = 0
        for sheet in self._sheets:
            end = count + len(sheet.kinds)
            count += sheet.unchanged(elements[count:end])
            if count < end:
                break
        return count

    def changed(self, elements: Sequence[Any]) -> list[int]:
        """Say which elements are not of the type and print they were of; all that have none are."""
        places: list[int] = []
        start = 0
        for sheet in self._sheets:
            own = elements[start : start + len(sheet.kinds)]
            at = sheet.unchanged(own)
            pairs = [*zip(sheet.kinds, sheet.prints(), strict=True)] if at < len(own) else []
            for place in range(at, len(own)):
                kind, known = pairs[place]
                if type(own[place]) is not kind or known is None or take(own[place]) != known:
                    places.append(start + place)
            start += len(sheet.kinds)
        return [*places, *range(start, len(elements))]

    def replaced(self, elements: Sequence[Any], taken: Mapping[int, Print]) -> "Prints":
        """Give the prints of a list whose elements at some places are others, with these prints."""
        sheets = list(self._sheets)
        for number in {place // SHEET_LEN for place in taken}:
            start = number * SHEET_LEN
            prints = list(sheets[number].prints())
            kinds = list(sheets[number].kinds)
            for at in range(len(kinds)):
                if start + at in taken:
                    prints[at], kinds[at] = taken[start + at], type(elements[start + at])
            sheets[number] = Sheet(kinds, prints)
        return Prints(sheets)

    def after(self, start: int) -> Iterator[tuple[type[Any], Print]]:
        """Give type and print of each element from a place on."""
        for sheet in self._sheets[start // SHEET_LEN :]:
            pairs = [*zip(sheet.kinds, sheet.prints(), strict=True)]
            yield from pairs[start % SHEET_LEN :]
            start = 0

    def extended(self, kept: int, elements: Sequence[Any], taken: Sequence[Print]) -> "Prints":
        """Give the prints of a list of the first ``kept`` elements and others, taken before."""
        full = kept // SHEET_LEN
        pairs = [*self.after(full * SHEET_LEN)][: kept % SHEET_LEN] if kept % SHEET_LEN else []
        pairs += zip(map(type, elements), taken, strict=True)
        parts = (pairs[at : at + SHEET_LEN] for at in range(0, len(pairs), SHEET_LEN))
        made = (Sheet([kind for kind, _ in part], [seen for _, seen in part]) for part in parts)
        return Prints((*self._sheets[:full], *made))


def take(element: Any) -> Print:
    """Take an element's print, or ``None`` where there is none."""
    try:
        text, view = _parts(element)
        return text, ormsgpack.packb(view, _nested, _OPTION)
    except (TypeError, ValueError, AttributeError):
        return None


def _parts(element: Any) -> tuple[str | None, Any]:
    """Give an element's text, if it is a message with one, and the plain values beside it."""
    kind: Any = type(element)
    if kind in _BUILTIN:
        return None, element
    if _is_model(kind):
        fields, extra = element.__dict__, element.__pydantic_extra__
        text = fields.get("content")
        if type(text) is not str:
            return None, [fields, extra] if extra else fields
        rest = fields | _NO_TEXT
        return text, [rest, extra] if extra else rest
    if _is_dataclass(kind):
        return None, element.__dict__
    raise TypeError(kind.__name__)


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
