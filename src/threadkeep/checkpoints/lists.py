"""A list value as an append-only tree of element addresses.

Elements gather in the entry's tail until they fill a leaf; sealed leaves stand under nodes, those
under nodes, up to one root. So a longer list shares all but the right edge with the shorter one,
and most steps write no leaf at all. Which elements make a leaf depends on those before them only.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import ormsgpack

from threadkeep.checkpoints.entries import Inline, Mark, Tree, pack_marks, unpack_marks
from threadkeep.errors import CorruptionError

LEAF_WEIGHT = 128  # a leaf is sealed at this: 8 addresses; 4 or 16 of them hand over more a turn
REF_WEIGHT = LEAF_WEIGHT // 8
INLINE_WEIGHT = 2  # of an element in the leaf itself, beside its bytes
FANOUT = 16  # addresses in a node: with 32 a turn's bytes grow by 11 % up to 4,000 elements, not 6

WriteNode = Callable[[bytes, tuple[bytes, ...]], bytes]  # payload, addresses -> address
ReadNode = Callable[[bytes], tuple[bytes, tuple[bytes, ...]]]  # address -> payload, addresses


@dataclass(frozen=True, slots=True)
class Listing:
    """How one list value is stored.

    Attributes:
        marks: All elements, in order.
        ends: For each sealed leaf, how many elements it and those before it hold.
        levels: The addresses of the leaves, of the nodes over them, and so on up to the root.
    """

    marks: Sequence[Mark] = ()
    ends: Sequence[int] = ()
    levels: Sequence[Sequence[bytes]] = field(default=())

    def entry(self) -> Tree:
        """State the list: its root and its tail."""
        sealed = self.ends[-1] if self.ends else 0
        root = self.levels[-1][0] if self.levels else None
        return Tree(len(self.levels), root, tuple(self.marks[sealed:]))


def arrange(marks: Sequence[Mark], old: Listing, kept: int, write: WriteNode) -> Listing:
    """Store the leaves and nodes over some marks, given how a list was stored before.

    Args:
        marks: The elements, in order.
        old: Another list as it is stored; the empty ``Listing()`` will do.
        kept: How many leading marks the two have in common.
        write: Stores a leaf or node, or finds it stored, and answers its address.
    """
    sealed = bisect_right(old.ends, kept)
    ends = list(old.ends[:sealed])
    leaves = list(old.levels[0][:sealed]) if sealed else []
    start, weight = (ends[-1] if ends else 0), 0
    for at in range(start, len(marks)):
        mark = marks[at]
        weight += len(mark.plain) + INLINE_WEIGHT if isinstance(mark, Inline) else REF_WEIGHT
        if weight >= LEAF_WEIGHT:
            refs: list[bytes] = []
            runs = pack_marks(marks[start : at + 1], refs)
            leaves.append(write(b"\x00" + ormsgpack.packb(runs), tuple(refs)))
            ends.append(at + 1)
            start, weight = at + 1, 0
    return Listing(marks, ends, _levels(leaves, old.levels, sealed, write))


def _levels(
    leaves: list[bytes], old: Sequence[Sequence[bytes]], kept: int, write: WriteNode
) -> list[list[bytes]]:
    levels = [leaves] if leaves else []
    while levels and len(levels[-1]) > 1:
        below, height = levels[-1], len(levels)
        kept //= FANOUT
        level = list(old[height][:kept]) if height < len(old) else []
        for start in range(len(level) * FANOUT, len(below), FANOUT):
            level.append(write(bytes((height,)), tuple(below[start : start + FANOUT])))
        levels.append(level)
    return levels


def read(tree: Tree, node: ReadNode) -> Listing:
    """Find out how a list is stored.

    Raises:
        CorruptionError: The tree is none that ``arrange`` makes; or what ``node`` raises.
    """
    levels = [[tree.root]] if tree.root is not None else []
    for height in range(tree.height - 1, 0, -1):
        below: list[bytes] = []
        for ref in levels[0]:
            payload, refs = node(ref)
            if payload[:1] != bytes((height,)):
                raise CorruptionError(f"a list's node at height {height} is none")
            below += refs
        levels.insert(0, below)
    marks: list[Mark] = []
    ends: list[int] = []
    for ref in levels[0] if levels else ():
        payload, refs = node(ref)
        if payload[:1] != b"\x00":
            raise CorruptionError("a list's leaf is none")
        marks += unpack_marks(ormsgpack.unpackb(payload[1:]), iter(refs))
        ends.append(len(marks))
    return Listing([*marks, *tree.tail], ends, levels)
