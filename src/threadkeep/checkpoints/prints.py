"""Whether the elements of a list are still what they were when their addresses were taken.

A *print* stands for all that a serializer sees of an element: equal prints of one type serialize to
the same bytes. Values of different type have different prints (1, 1.0 and True). What cannot be
printed is serialized each time. A print is a sum over the packed element, under a key of this
process; a long text of a message stands in it as the object that it is, so that an unchanged one is
told without a look at it. Prints are kept in *sheets*: one call packs the elements of a sheet, one
more sums them up; serializing them takes ten times as long.

The elements of a long list are in no cache when they are asked about, so what is touched first and
how often decides: a sheet is packed in one walk, a short text with the rest, and whatever else must
be looked at is looked at afterwards.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any
from uuid import UUID

import ormsgpack
from xxhash import xxh3_128, xxh3_128_digest

SHEET_LEN = 64  # elements told by one call: fewer cost more calls, more cost more memory at once
TEXT_LEN = 2048  # characters up to which packing a text costs less than setting it apart

# Keys must be text: msgpack would take an enum or a date for the text that it prints as.
_OPTION = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_KEY = hash(__name__) & (1 << 64) - 1  # of this process, as hashes of strings are
_SUM_LEN = 16
_NO_SUM = bytes(_SUM_LEN)  # of an element without a print
_HEADER_LEN = tuple(len(ormsgpack.packb([None] * count)) - count for count in range(SHEET_LEN + 1))
_BUILTIN = frozenset((str, int, float, bool, type(None), dict, list))
_CONTAINERS = frozenset((dict, list, set, frozenset, tuple, str, bytes, int, float))
_EXTRA = attrgetter("__pydantic_extra__")
_NO_TEXT = {"content": None}
_IMMUTABLE = frozenset((datetime, date, time, timedelta, Decimal, UUID))


# A message's long text, and all else packed; what follows these is not looked at.
Taken = tuple[str | None, bytes, *tuple[Any, ...]] | None
Print = tuple[str | None, bytes] | None  # a message's long text, and the sum of all else


class Sheet:
    """Some consecutive elements' types and prints; a value.

    Attributes:
        kinds: The elements' types.
        whole: Whether every element has a print.
    """

    __slots__ = ("_all", "_plain", "_sums", "_texts", "kinds", "whole")

    def __init__(self) -> None:
        self.kinds: list[Any] = []
        self.whole = True
        self._plain = True  # all are models without extra fields
        self._texts: dict[int, str] = {}  # the long ones, by place
        self._sums = b""  # of one after the other
        self._all = xxh3_128(seed=_KEY)  # of all together

    @property
    def size_bytes(self) -> int:
        """Say what it occupies beside the texts, which the elements hold, roughly."""
        return 1024 + (8 + _SUM_LEN) * len(self.kinds)

    def extended(self, elements: Sequence[Any], taken: Sequence[Taken]) -> "Sheet":
        """Give a sheet of these elements and of others, taken before; there must be room."""
        kinds = [*map(type, elements)]
        places = enumerate(taken, len(self.kinds))
        packed = [seen[1] if seen else b"" for seen in taken]
        models = self._plain and all(map(_is_model, dict.fromkeys(kinds)))
        sheet = Sheet()
        sheet.kinds = self.kinds + kinds
        sheet.whole = self.whole and all(packed)
        sheet._plain = models and not any(map(_EXTRA, elements))
        sheet._texts = self._texts | {
            place: seen[0] for place, seen in places if seen and seen[0] is not None
        }
        sums = [xxh3_128_digest(each, _KEY) if each else _NO_SUM for each in packed]
        sheet._sums = self._sums + b"".join(sums)
        sheet._all = self._all.copy()
        sheet._all.update(b"".join(packed))
        return sheet

    def again(self, elements: Sequence[Any], start: int, edited: Mapping[int, Taken]) -> "Sheet":
        """Give a sheet of its leading elements; one that changes just now has no print in it.

        Args:
            elements: These elements.
            start: The place of the first one.
            edited: What was taken before of those that are others now, by place.
        """
        taken: list[Taken] = []
        for place, (element, known) in enumerate(zip(elements, self.prints(), strict=False), start):
            seen = edited[place] if place in edited else take(element)
            taken.append(seen if place in edited or print_of(seen) == known else None)
        return Sheet().extended(elements, taken)

    def prints(self) -> Iterator[Print]:
        """Give the elements' prints, in order."""
        for place in range(len(self.kinds)):
            one = self._sums[place * _SUM_LEN : (place + 1) * _SUM_LEN]
            yield None if one == _NO_SUM else (self._texts.get(place), one)

    def unchanged(self, elements: Sequence[Any]) -> int:
        """Count the leading elements that are of the type and print they were of."""
        if self.whole and [*map(type, elements)] == self.kinds and self._is_still(elements):
            return len(elements)
        count = 0
        for element, kind, known in zip(elements, self.kinds, self.prints(), strict=False):
            if type(element) is not kind or known is None or print_of(take(element)) != known:
                break
            count += 1
        return count

    def _is_still(self, elements: Sequence[Any]) -> bool:
        try:
            views = self._views(elements)
            if views is None:
                return False
            packed = memoryview(ormsgpack.packb(views, _nested, _OPTION))
            if _sum(packed[_HEADER_LEN[len(elements)] :]) != self._all.digest():
                return False
            return not (self._plain and any(map(_EXTRA, elements)))
        except (TypeError, ValueError, AttributeError):
            return False  # an element that cannot be printed any more has changed

    def _views(self, elements: Sequence[Any]) -> list[Any] | None:
        """Give what is to be packed, unless a long text is another one already."""
        if not self._plain:
            parts = [_parts(one) for one in elements]
            same = all(text is self._texts.get(at) for at, (text, _) in enumerate(parts))
            return [view for _, view in parts] if same else None
        views = [one.__dict__ for one in elements]
        for at, text in self._texts.items():
            if views[at].get("content") is not text:
                return None
            views[at] = views[at] | _NO_TEXT
        return views


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
                still = known is not None and print_of(take(own[place])) == known
                if type(own[place]) is not kind or not still:
                    places.append(start + place)
            start += len(sheet.kinds)
        return [*places, *range(start, len(elements))]

    def after(self, start: int) -> Iterator[tuple[type[Any], Print]]:
        """Give type and print of each element from a place on."""
        for sheet in self._sheets[start // SHEET_LEN :]:
            pairs = [*zip(sheet.kinds, sheet.prints(), strict=True)]
            yield from pairs[start % SHEET_LEN :]
            start = 0

    def extended(
        self,
        kept: int,
        elements: Sequence[Any],
        taken: Iterable[Taken],
        edited: Mapping[int, Taken] = MappingProxyType({}),
    ) -> "Prints":
        """Give the prints of a list whose first ``kept`` elements have theirs here.

        Args:
            kept: How many leading elements have their print here.
            elements: The whole list.
            taken: What was taken of the other elements.
            edited: What was taken of leading elements that have changed, by place.
        """
        sheets = [*self._sheets[: -(-kept // SHEET_LEN)]]
        made_again = {place // SHEET_LEN for place in edited}
        if 0 < kept % SHEET_LEN < len(sheets[-1].kinds if sheets else ()):
            made_again.add(len(sheets) - 1)
        for number in made_again:
            at = number * SHEET_LEN
            own = elements[at : min(kept, at + SHEET_LEN)]
            sheets[number] = sheets[number].again(own, at, edited)
        others, at = iter(taken), kept
        while at < len(elements):
            end = at - at % SHEET_LEN + SHEET_LEN
            sheet = sheets.pop() if at % SHEET_LEN else Sheet()
            sheets.append(sheet.extended(elements[at:end], [*islice(others, end - at)]))
            at = end
        return Prints(sheets)


def take(element: Any) -> Taken:
    """Take what an element's print is made of, or ``None`` where there is none."""
    try:
        text, view = _parts(element)
        return text, ormsgpack.packb(view, _nested, _OPTION)
    except (TypeError, ValueError, AttributeError):
        return None


def print_of(taken: Taken) -> Print:
    """Make the print of what was taken."""
    return taken and (taken[0], _sum(taken[1]))


def _sum(packed: bytes | memoryview) -> bytes:
    return xxh3_128_digest(packed, _KEY)


def _parts(element: Any) -> tuple[str | None, Any]:
    """Give an element's text, if it is a message with a long one, and the rest."""
    kind: Any = type(element)
    if kind in _BUILTIN:
        return None, element
    if _is_model(kind):
        fields, extra = element.__dict__, element.__pydantic_extra__
        text = fields.get("content")
        if type(text) is not str or len(text) <= TEXT_LEN:
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
