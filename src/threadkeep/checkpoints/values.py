"""A channel's value as an entry and documents.

Lists are told apart by element, also in LangGraph's wrapper for delta channels, and dicts that
hold lists or are large by key, those of many keys one level deeper too. Only ``list`` and ``dict``
themselves are: a subclass goes to the serializer as it is. A long text that goes on from the one
before it is stored as what was added.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.checkpoint.serde import types as serde_types

from threadkeep.checkpoints.dicts import (
    KEYED_KEYS,
    TABLE_BYTES,
    TableMemory,
    can_be_table,
    encode_table,
)
from threadkeep.checkpoints.drafts import INLINE_BYTES, Draft
from threadkeep.checkpoints.entries import Blob, Entry, Inline, Keyed, Mark, Snapshot, Tree
from threadkeep.checkpoints.lists import Listing, arrange
from threadkeep.checkpoints.marks import Marks
from threadkeep.checkpoints.prints import Print, Prints, Taken, print_of, take
from threadkeep.checkpoints.sends import is_send, pack_send
from threadkeep.checkpoints.texts import TextMemory, encode_text, is_long

# What LangGraph wraps the stated value of a ``DeltaChannel`` in; its older releases have none.
SNAPSHOT: Any = getattr(serde_types, "_DeltaSnapshot", None)
NESTED_DEPTH = 3  # how deep dicts are told apart by key: the second and third only for lists
NESTED_LEN = 8  # and for lists of so many elements: shorter ones are seldom a conversation
KEYED_BYTES = 1024  # a dict of few keys, without lists and up to this, is one document

Path = tuple[str, ...]  # the channel, and the key for a value in a dict


@dataclass(frozen=True, slots=True)
class ListMemory:
    """A list as it is stored, and what tells whether an element has changed since.

    Attributes:
        listing: How it is stored.
        prints: The elements' prints; none when nothing is known of the elements.
    """

    listing: Listing
    prints: Prints = Prints()  # noqa: RUF009 - a value, never changed

    @property
    def printed(self) -> bool:
        """Tell whether every element has a print."""
        return self.prints.whole and len(self.prints) == len(self.listing.marks)

    @property
    def size_bytes(self) -> int:
        """Say what it occupies, roughly."""
        return self.prints.size_bytes

    def likeness(self, value: Any) -> int:
        """Count the leading elements that another value seems to share, by its ends."""
        count = min(len(value), len(self.prints)) if type(value) is list else 0
        if not count or not self._has(0, value[0]):
            return 0
        return count if self._has(count - 1, value[count - 1]) else 1

    def _has(self, at: int, element: Any) -> bool:
        kind, seen = next(self.prints.after(at))
        return kind is type(element) and seen is not None and print_of(take(element)) == seen

    def names(self) -> Iterator[bytes]:
        """Iterate over the addresses below its entry that are known to be stored."""
        for level in self.listing.levels:
            yield from level
        if not self.printed:  # its elements are serialized each time: none is handed over
            yield from (mark for mark in self.listing.marks if isinstance(mark, bytes))


Memory = ListMemory | TableMemory | TextMemory
Memories = Mapping[Path, Memory]


class Before(Protocol):
    """Finds what a value goes on from."""

    def find(self, path: Path, value: Any) -> Memory | None:
        """Find what a value at a path goes on from."""
        ...


_NO_LIST = ListMemory(Listing())


def watch(elements: Sequence[Any], taken: Sequence[Taken], listing: Listing) -> ListMemory:
    """Remember a list that was read, given what its elements' prints are made of."""
    return ListMemory(listing, Prints().extended(0, elements, taken))


def encode(value: Any, path: Path, draft: Draft, old: Before) -> tuple[Entry, dict[Path, Memory]]:
    """Take a value into a draft.

    Args:
        value: The value, read completely before this returns.
        path: The channel it belongs to.
        draft: Gets the documents.
        old: Finds the values to share with.

    Returns:
        The entry, and what to remember of its lists, tables and long texts.
    """
    if type(value) is list:
        return _encode_list(value, path, draft, old)
    if type(value) is SNAPSHOT and type(value.value) is list:
        entry, lists = _encode_list(value.value, path, draft, old)
        if isinstance(entry, Tree):
            return Snapshot(entry), lists
    if type(value) is dict:
        return _encode_dict(value.copy(), path, draft, old)  # another thread may change it
    if is_send(value):
        return _encode_send(value, path, draft, old) or draft.value(draft.codec.dump(value)), {}
    if is_long(value):
        before = old.find(path, value)
        text, memory = encode_text(value, draft, before if isinstance(before, TextMemory) else None)
        return text, {path: memory}
    return draft.value(draft.codec.dump(value)), {}


def _encode_dict(
    value: dict[Any, Any], path: Path, draft: Draft, old: Before
) -> tuple[Entry, dict[Path, Memory]]:
    if can_be_table(value):
        before = old.find(path, value)
        known = before if isinstance(before, TableMemory) else None
        if known is None and len(plain := draft.codec.dump(value)) <= TABLE_BYTES:
            return draft.value(plain), {}
        table, memory = encode_table(value, draft, known)
        return table, {path: memory}
    by_key = 0 < len(value) <= KEYED_KEYS and all(type(key) is str for key in value)
    if by_key and _holds_a_long_list(value, NESTED_DEPTH - len(path)):
        return _encode_by_key(value, path, draft, old)
    by_key = by_key and len(path) == 1
    if not by_key or not any(type(inner) is list and inner for inner in value.values()):
        plain = draft.codec.dump(value)
        if not by_key or len(plain) <= KEYED_BYTES:
            return draft.value(plain), {}
    return _encode_by_key(value, path, draft, old)


def _holds_a_long_list(value: dict[Any, Any], depth: int) -> bool:
    """Tell whether a dict, or one so much deeper in it, holds a list worth telling apart."""
    return depth >= 0 and any(
        (type(inner) is list and len(inner) >= NESTED_LEN)
        or (type(inner) is dict and _holds_a_long_list(inner, depth - 1))
        for inner in value.values()
    )


def _encode_send(value: Any, path: Path, draft: Draft, old: Before) -> Blob | None:
    """Take a ``Send`` into a draft, if its argument is worth telling apart."""
    argument = value.arg.copy()
    if not _holds_a_long_list(argument, NESTED_DEPTH - 1):
        return None
    with draft.inside_an_element():
        entry, _ = _encode_dict(argument, path[:1], draft, old)
        packed = pack_send(value.node, entry)
    return Blob(draft.send(*packed)) if packed else None


def _encode_by_key(
    value: dict[str, Any], path: Path, draft: Draft, old: Before
) -> tuple[Entry, dict[Path, Memory]]:
    entries: list[tuple[str, Entry]] = []
    memories: dict[Path, Memory] = {}
    for key, inner in value.items():
        entry, lists = encode(inner, (*path, key), draft, old)
        entries.append((key, entry))
        memories |= lists
    return Keyed(tuple(entries)), memories


def _encode_list(
    value: list[Any], path: Path, draft: Draft, old: Before
) -> tuple[Entry, dict[Path, Memory]]:
    value = value.copy()  # another thread may change it meanwhile
    known = old.find(path, value)
    before = known if isinstance(known, ListMemory) else _NO_LIST
    kept = before.prints.unchanged(value)
    marks, taken = _marks(value, kept, before, path, draft, old)
    if _is_small(marks):
        plain = draft.codec.dump(value)
        if len(plain) <= INLINE_BYTES:
            return Inline(plain), {}
    listing = arrange(marks, before.listing, kept, draft.node)
    prints = before.prints.extended(kept, value, taken)
    return listing.entry(), {path: ListMemory(listing, prints)}


def _marks(
    value: list[Any], kept: int, before: ListMemory, path: Path, draft: Draft, old: Before
) -> tuple[Marks, list[Taken]]:
    """Name all elements, and take what prints of those after the kept ones are made of."""
    marks: list[Mark] = []
    taken: list[Taken] = []
    moved: dict[tuple[type, Print], Mark] = {}
    if kept < len(before.prints):  # removed, inserted or edited: what was further on may be reused
        moved = dict(zip(before.prints.after(kept), before.listing.marks[kept:], strict=True))
    for element in value[kept:]:
        seen = take(element)
        mark = moved.get((type(element), print_of(seen))) if moved and seen is not None else None
        marks.append(_mark(element, path, draft, old) if mark is None else mark)
        taken.append(seen)
    return Marks.joined(before.listing.marks, kept, marks), taken


def _mark(element: Any, path: Path, draft: Draft, old: Before) -> Mark:
    sent = _encode_send(element, path, draft, old) if is_send(element) else None
    return sent.ref if sent else draft.mark(draft.codec.dump(element))


def _is_small(marks: Sequence[Mark]) -> bool:
    return len(marks) <= INLINE_BYTES and all(isinstance(mark, Inline) for mark in marks)
