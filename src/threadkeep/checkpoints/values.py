"""A channel's value as an entry and documents.

Lists are told apart by element, also in LangGraph's wrapper for delta channels, and dicts that
hold lists or are large by key, those of many keys one level deeper too. Only ``list`` and ``dict``
themselves are: a subclass goes to the serializer as it is. A long text that goes on from the one
before it is stored as what was added.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.serde import types as serde_types

from threadkeep.checkpoints.dicts import (
    KEYED_KEYS,
    TABLE_BYTES,
    TableMemory,
    can_be_table,
    encode_table,
)
from threadkeep.checkpoints.drafts import INLINE_BYTES, Draft
from threadkeep.checkpoints.entries import Entry, Inline, Keyed, Mark, Snapshot, Tree
from threadkeep.checkpoints.lists import Listing, arrange
from threadkeep.checkpoints.marks import Marks
from threadkeep.checkpoints.prints import Print, Prints, Taken, print_of, take
from threadkeep.checkpoints.texts import TextMemory, encode_text, is_long

# What LangGraph wraps the stated value of a ``DeltaChannel`` in; its older releases have none.
SNAPSHOT: Any = getattr(serde_types, "_DeltaSnapshot", None)
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

    def names(self) -> Iterator[bytes]:
        """Iterate over the addresses below its entry that are known to be stored."""
        for level in self.listing.levels:
            yield from level
        if not self.printed:  # its elements are serialized each time: none is handed over
            yield from (mark for mark in self.listing.marks if isinstance(mark, bytes))


Memory = ListMemory | TableMemory | TextMemory
Memories = Mapping[Path, Memory]
_NO_LIST = ListMemory(Listing())


def watch(elements: Sequence[Any], taken: Sequence[Taken], listing: Listing) -> ListMemory:
    """Remember a list that was read, given what its elements' prints are made of."""
    return ListMemory(listing, Prints().extended(0, elements, taken))


def encode(value: Any, path: Path, draft: Draft, old: Memories) -> tuple[Entry, dict[Path, Memory]]:
    """Take a value into a draft.

    Args:
        value: The value, read completely before this returns.
        path: The channel it belongs to.
        draft: Gets the documents.
        old: Values of the checkpoint before, to share with.

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
    if is_long(value):
        before = old.get(path)
        text, memory = encode_text(value, draft, before if isinstance(before, TextMemory) else None)
        return text, {path: memory}
    return draft.value(draft.codec.dump(value)), {}


def goes_on(value: Any, path: Path, memory: Memory) -> bool:
    """Tell whether a value at a path is likely to share much with one that is remembered.

    Args:
        value: The channel's.
        path: The channel, and a key if it is a dict of which one value is meant.
        memory: What is remembered at that path.
    """
    for key in path[1:]:
        value = value.get(key) if type(value) is dict else None
    if isinstance(memory, ListMemory):
        return type(value) is list and memory.prints.unchanged(value[:1]) == 1
    if isinstance(memory, TextMemory):
        return is_long(value) and memory.shared(value) > 0
    return type(value) is dict and can_be_table(value)


def _encode_dict(
    value: dict[Any, Any], path: Path, draft: Draft, old: Memories
) -> tuple[Entry, dict[Path, Memory]]:
    if can_be_table(value):
        before = old.get(path)
        known = before if isinstance(before, TableMemory) else None
        if known is None and len(plain := draft.codec.dump(value)) <= TABLE_BYTES:
            return draft.value(plain), {}
        table, memory = encode_table(value, draft, known)
        return table, {path: memory}
    few = len(path) == 1 and 0 < len(value) <= KEYED_KEYS
    by_key = few and all(type(key) is str for key in value)
    if not by_key or not any(type(inner) is list and inner for inner in value.values()):
        plain = draft.codec.dump(value)
        if not by_key or len(plain) <= KEYED_BYTES:
            return draft.value(plain), {}
    entries: list[tuple[str, Entry]] = []
    memories: dict[Path, Memory] = {}
    for key, inner in value.items():
        entry, lists = encode(inner, (*path, key), draft, old)
        entries.append((key, entry))
        memories |= lists
    return Keyed(tuple(entries)), memories


def _encode_list(
    value: list[Any], path: Path, draft: Draft, old: Memories
) -> tuple[Entry, dict[Path, Memory]]:
    value = value.copy()  # another thread may change it meanwhile
    known = old.get(path)
    before = known if isinstance(known, ListMemory) else _NO_LIST
    kept = before.prints.unchanged(value)
    marks, taken = _marks(value, kept, before, draft)
    if _is_small(marks):
        plain = draft.codec.dump(value)
        if len(plain) <= INLINE_BYTES:
            return Inline(plain), {}
    listing = arrange(marks, before.listing, kept, draft.node)
    prints = before.prints.extended(kept, value, taken)
    return listing.entry(), {path: ListMemory(listing, prints)}


def _marks(
    value: list[Any], kept: int, before: ListMemory, draft: Draft
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
        marks.append(draft.mark(draft.codec.dump(element)) if mark is None else mark)
        taken.append(seen)
    return Marks.joined(before.listing.marks, kept, marks), taken


def _is_small(marks: Sequence[Mark]) -> bool:
    return len(marks) <= INLINE_BYTES and all(isinstance(mark, Inline) for mark in marks)
