"""A list value as an append-only tree of element addresses.

Elements gather in the entry's tail until they fill a leaf; sixteen leaves fill a node, sixteen
nodes the next one. What fills no node yet is named by the root. So a sealed leaf costs itself and
a new root, however long the list, and most steps seal none. Which elements make a leaf depends on
those before them only: a longer list shares everything but the root with the shorter one.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import ormsgpack

from threadkeep.checkpoints.entries import Inline, Mark, Tree, pack_marks, unpack_marks
from threadkeep.errors import CorruptionError

LEAF_WEIGHT = 128  # a leaf is sealed at this: 8 addresses; 4 or 16 of them hand over more a turn
REF_WEIGHT = LEAF_WEIGHT // 8
INLINE_WEIGHT = 2  # of an element in the leaf itself, beside its bytes
FANOUT = 16  # addresses in a node; the root names 15 at most of each height
ROOT = b"\xff"  # begins a root's payload; a leaf's begins with 0, a node's with its height

WriteNode = Callable[[bytes, tuple[bytes, ...]], bytes]  # payload, addresses -> address
ReadNode = Callable[[bytes], tuple[bytes, tuple[bytes, ...]]]  # address -> payload, addresses


@dataclass(frozen=True, slots=True)
class Listing:
    """How one list value is stored.

    Attributes:
        marks: All elements, in order.
        ends: For each sealed leaf, how many elements it and those before it hold.
        levels: The addresses of the leaves, of the nodes filled with them, and so on.
        root: The address of the root, or ``None`` without a sealed leaf.
    """

    marks: Sequence[Mark] = ()
    ends: Sequence[int] = ()
    levels: Sequence[Sequence[bytes]] = field(default=())
    root: bytes | None = None

    def entry(self) -> Tree:
        """State the list: its root and its tail."""
        sealed = self.ends[-1] if self.ends else 0
        return Tree(self.root, tuple(self.marks[sealed:]))


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
    for at, mark in enumerate(marks[start:], start):
        weight += len(mark.plain) + INLINE_WEIGHT if isinstance(mark, Inline) else REF_WEIGHT
        if weight >= LEAF_WEIGHT:
            refs: list[bytes] = []
            runs = pack_marks(marks[start : at + 1], refs)
            leaves.append(write(b"\x00" + ormsgpack.packb(runs), tuple(refs)))
            ends.append(at + 1)
            start, weight = at + 1, 0
    levels = _levels(leaves, old.levels, sealed, write)
    if leaves and len(leaves) == sealed == len(old.levels[0]):
        return Listing(marks, ends, levels, old.root)
    return Listing(marks, ends, levels, _write_root(levels, write) if leaves else None)


def _levels(
    leaves: list[bytes], old: Sequence[Sequence[bytes]], kept: int, write: WriteNode
) -> list[list[bytes]]:
    """Fill nodes with leaves, further nodes with those, and so on."""
    levels = [leaves] if leaves else []
    while levels and len(levels[-1]) >= FANOUT:
        below, height = levels[-1], len(levels)
        kept //= FANOUT
        level = list(old[height][:kept]) if height < len(old) else []
        for start in range(len(level) * FANOUT, len(below) - FANOUT + 1, FANOUT):
            level.append(write(bytes((height,)), tuple(below[start : start + FANOUT])))
        levels.append(level)
    return levels


def _write_root(levels: Sequence[Sequence[bytes]], write: WriteNode) -> bytes:
    """Name what fills no node, the highest first: it comes first in the list."""
    filled = [FANOUT * len(above) for above in levels[1:]] + [0]
    rest = [level[count:] for level, count in zip(levels, filled, strict=True)][::-1]
    counts = [len(level) for level in rest]
    return write(ROOT + ormsgpack.packb(counts), tuple(ref for level in rest for ref in level))


def read(tree: Tree, node: ReadNode) -> Listing:
    """Find out how a list is stored.

    Raises:
        CorruptionError: The tree is none that ``arrange`` makes; or what ``node`` raises.
    """
    levels = _read_levels(tree.root, node) if tree.root is not None else []
    marks: list[Mark] = []
    ends: list[int] = []
    for ref in levels[0] if levels else ():
        payload, refs = node(ref)
        if payload[:2] == b"\x00\x91" and payload[2] == len(refs) < 128:  # as most: addresses only
            marks += refs
            ends.append(len(marks))
            continue
        if payload[:1] != b"\x00":
            raise CorruptionError("a list's leaf is none")
        marks += unpack_marks(ormsgpack.unpackb(payload[1:]), iter(refs))
        ends.append(len(marks))
    return Listing([*marks, *tree.tail], ends, levels, tree.root)


def _read_levels(root: bytes, node: ReadNode) -> list[list[bytes]]:
    payload, refs = node(root)
    if payload[:1] != ROOT:
        raise CorruptionError("a list's root is none")
    levels: list[list[bytes]] = []
    rest = iter(refs)
    counts = ormsgpack.unpackb(payload[1:])
    for height, count in zip(range(len(counts), 0, -1), counts, strict=True):
        level: list[bytes] = []
        for ref in levels[0] if levels else ():
            payload, children = node(ref)
            if payload[:1] != bytes((height,)):
                raise CorruptionError(f"a list's node at height {height} is none")
            level += children
        levels.insert(0, [*level, *islice(rest, count)])
    return levels
