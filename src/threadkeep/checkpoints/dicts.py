"""A dict as an entry and documents: whole, by key in the entry, or as a table of its items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from threadkeep.checkpoints.drafts import Draft
from threadkeep.checkpoints.entries import Key, Mark, Table
from threadkeep.checkpoints.prints import Print, Prints, Taken, print_of, take
from threadkeep.checkpoints.tables import Items, arrange

KEYED_KEYS = 32  # a dict of up to so many keys is told apart in the entry, a longer one is a table
TABLE_BYTES = 2048  # a dict of more keys and up to this is one document
KEY_LEN = 256  # a dict with a longer key is one document: a leaf has to stay small
INTEGERS = range(-(2**63), 2**64)  # keys that msgpack can state


@dataclass(frozen=True, slots=True)
class TableMemory:
    """A table as it is stored, and what tells whether a value has changed since.

    Attributes:
        items: How it is stored.
        prints: The values' prints; none when nothing is known of the values.
    """

    items: Items
    prints: Prints = Prints()  # noqa: RUF009 - a value, never changed

    @property
    def size_bytes(self) -> int:
        """Say what it occupies, roughly."""
        return self.prints.size_bytes + 64 * len(self.items.keys)

    def likeness(self, value: Any) -> int:
        """Count the keys that another value has too, if it can be a table."""
        if type(value) is not dict or not can_be_table(value):
            return 0
        return sum(map(value.__contains__, self.items.keys))

    def names(self) -> Iterator[bytes]:
        """Iterate over the addresses below its root that are known to be stored."""
        for level in self.items.levels:
            yield from level
        if not (self.prints.whole and len(self.prints) == len(self.items.marks)):
            yield from (mark for mark in self.items.marks if isinstance(mark, bytes))


def watch_table(values: Sequence[Any], taken: Sequence[Taken], items: Items) -> TableMemory:
    """Remember a table that was read, given what its values' prints are made of."""
    return TableMemory(items, Prints().extended(0, values, taken))


def can_be_table(value: dict[Any, Any]) -> bool:
    """Tell whether a dict has the many and simple keys of a table."""
    return len(value) > KEYED_KEYS and all(
        (type(key) is str and len(key) <= KEY_LEN) or (type(key) is int and key in INTEGERS)
        for key in value
    )


def encode_table(
    value: dict[Any, Any], draft: Draft, before: TableMemory | None
) -> tuple[Table, TableMemory]:
    """Take a dict with the keys of a table into a draft.

    Args:
        value: The dict; nobody else may change it meanwhile.
        draft: Gets the documents.
        before: A table to share with.
    """
    old = before or TableMemory(Items())
    keys, values = list(value), list(value.values())
    kept = _common(keys, old.items.keys)
    marks = list(old.items.marks[:kept])
    taken: dict[int, Taken] = {}
    changed: list[int] = []
    for at in old.prints.changed(values[:kept]) if old.prints else range(kept):
        taken[at] = take(values[at])
        mark = draft.mark(draft.codec.dump(values[at]))
        if mark != marks[at]:
            marks[at] = mark
            changed.append(at)
    new_marks, new_taken = _rest(keys, values, kept, old, draft)
    items = arrange(keys, marks + new_marks, old.items, kept, changed, draft.node)
    if not old.prints:
        prints = Prints().extended(0, values, [*taken.values(), *new_taken])
    else:
        prints = old.prints.extended(kept, values, new_taken, taken)
    assert items.root is not None  # it has keys
    return Table(items.root), TableMemory(items, prints)


def _common(keys: Sequence[Key], others: Sequence[Key]) -> int:
    """Count the leading keys that are the same."""
    count = min(len(keys), len(others))
    if keys[:count] == others[:count]:
        return count
    pairs = zip(keys, others, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), count)


def _rest(
    keys: Sequence[Key], values: Sequence[Any], kept: int, old: TableMemory, draft: Draft
) -> tuple[list[Mark], list[Taken]]:
    """Name the values of the keys after the common ones, wherever their keys were before."""
    moved: dict[Key, tuple[type[Any], Print, Mark]] = {}
    if kept < len(old.prints):
        named = zip(old.prints.after(kept), old.items.marks[kept:], strict=True)
        moved = {
            key: (kind, seen, mark)
            for key, ((kind, seen), mark) in zip(old.items.keys[kept:], named, strict=True)
        }
    marks: list[Mark] = []
    taken: list[Taken] = []
    for key, value in zip(keys[kept:], values[kept:], strict=True):
        seen = take(value)
        kind, print_, mark = moved.get(key, (None, None, None))
        if mark is None or seen is None or kind is not type(value) or print_ != print_of(seen):
            mark = draft.mark(draft.codec.dump(value))
        marks.append(mark)
        taken.append(seen)
    return marks, taken
