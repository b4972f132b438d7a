"""A dict of many keys as a tree of its items, in the order it has them.

Which items make a leaf depends on their keys alone: a leaf ends with a key whose hash says so, and
a node with a leaf whose last key says so. So an item that is changed, added, removed or moved
anywhere costs the leaf it is in, the nodes above and the root, however many keys there are. The
root also holds the items after the last leaf, so that one that is added seldom costs a leaf.
"""

import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

import ormsgpack

from threadkeep.checkpoints.entries import Key, Mark, pack_key, pack_marks, unpack_key, unpack_marks
from threadkeep.errors import CorruptionError

LEAF_BITS = 3  # a key in 8 ends a leaf: 4 or 16 of them hand over more for an item changed
NODE_BITS = 4  # one leaf in 16 ends a node, and so on
LEAF_MOST = 32  # items in a leaf, whatever their keys' hashes
NODE_MOST = 64  # addresses in a node
HASH_BITS = 32
SPREAD = 0x9E3779B1  # odd, so that every bit of a checksum reaches the upper bits of the product
LEAF = b"\xfe"  # begins a leaf's payload; a node's begins with its height
ROOT = b"\xfd"

WriteNode = Callable[[bytes, tuple[bytes, ...]], bytes]  # payload, addresses -> address
ReadNode = Callable[[bytes], tuple[bytes, tuple[bytes, ...]]]  # address -> payload, addresses


@dataclass(frozen=True, slots=True)
class Items:
    """How one dict is stored.

    Attributes:
        keys: Its keys, in order.
        marks: Their values.
        ends: For each height the nodes of that height, leaves having 0: how many items one and
            those before it hold.
        levels: The addresses of the same.
        root: The address of the root; ``None`` for the empty dict, which has none.
    """

    keys: Sequence[Key] = ()
    marks: Sequence[Mark] = ()
    ends: Sequence[Sequence[int]] = ()
    levels: Sequence[Sequence[bytes]] = ()
    root: bytes | None = None


def arrange(
    keys: Sequence[Key],
    marks: Sequence[Mark],
    old: Items,
    kept: int,
    changed: Collection[int],
    write: WriteNode,
) -> Items:
    """Store the leaves, nodes and the root over some items, given how a dict was stored before.

    Args:
        keys: Its keys, in order.
        marks: Their values.
        old: Another dict as it is stored; the empty ``Items()`` will do.
        kept: How many leading keys the two have in common.
        changed: Where among those the values differ.
        write: Stores a document, or finds it stored, and answers its address.
    """
    ends: list[list[int]] = []
    levels: list[list[bytes]] = []
    for height in range(HASH_BITS):
        before = old.ends[height] if height < len(old.ends) else ()
        same = bisect_right(before, kept)
        own = list(before[:same])
        own += _ends(keys, ends[-1] if ends else None, height, kept, own[-1] if own else 0)
        if not own:
            break
        ends.append(own)
        level = [*old.levels[height][:same]] if same else []
        level += [b""] * (len(own) - same)
        dirty = {bisect_right(own, at) for at in changed}
        for at in [*sorted(number for number in dirty if number < same), *range(same, len(own))]:
            start = own[at - 1] if at else 0
            if height == 0:
                level[at] = write(*_leaf(LEAF, [], keys, marks, start, own[at]))
            else:
                below = ends[-2]
                inner = levels[-1][bisect_right(below, start) : bisect_right(below, own[at])]
                level[at] = write(bytes((height,)), tuple(inner))
        levels.append(level)
    return Items(keys, marks, ends, levels, _write_root(keys, marks, ends, levels, write))


def _ends(
    keys: Sequence[Key], below: Sequence[int] | None, height: int, kept: int, start: int
) -> Iterator[int]:
    """Say where leaves or nodes end, after the last one that is known to.

    Args:
        keys: Of the whole dict.
        below: Where what the nodes are made of ends; ``None`` for leaves, made of items.
        height: Of the nodes.
        kept: Up to where none ends beyond ``start``, so far as their keys say.
        start: Where the last known one ends.
    """
    places: Iterable[int] = range(start + 1, len(keys) + 1)
    most = LEAF_MOST
    if below is not None:
        places, most = below[bisect_right(below, start) :], NODE_MOST
    count = 0
    for end in places:
        count += 1
        if count == most or (end > kept and _height(keys[end - 1]) > height):
            yield end
            count = 0


def _height(key: Key) -> int:
    """Say up to which height what ends with a key is ended by it; 0 where a leaf is not either."""
    spread = zlib.crc32(ormsgpack.packb(pack_key(key))) * SPREAD % 2**HASH_BITS
    zeros = HASH_BITS - spread.bit_length()
    return 1 + (zeros - LEAF_BITS) // NODE_BITS if zeros >= LEAF_BITS else 0


def _leaf(
    tag: bytes, head: list[Any], keys: Sequence[Key], marks: Sequence[Mark], start: int, end: int
) -> tuple[bytes, tuple[bytes, ...]]:
    """Pack some items after what else the document says."""
    refs: list[bytes] = []
    runs = pack_marks(marks[start:end], refs)
    packed = ormsgpack.packb([*head, [pack_key(key) for key in keys[start:end]], *runs])
    return tag + packed, tuple(refs)


def _write_root(
    keys: Sequence[Key],
    marks: Sequence[Mark],
    ends: Sequence[Sequence[int]],
    levels: Sequence[Sequence[bytes]],
    write: WriteNode,
) -> bytes | None:
    """Name what is in no node, the highest first, and hold the items that are in no leaf."""
    if not keys:
        return None
    above = [*(level[-1] for level in ends[1:]), 0]
    rest = [
        level[bisect_right(own, end) :]
        for level, own, end in zip(levels, ends, above, strict=False)
    ][::-1]
    start = ends[0][-1] if ends else 0
    counts = [len(level) for level in rest]
    payload, refs = _leaf(ROOT, [counts], keys, marks, start, len(keys))
    return write(payload, (*(ref for level in rest for ref in level), *refs))


def read(root: bytes, node: ReadNode) -> Items:
    """Find out how a dict is stored.

    Raises:
        CorruptionError: The tree is none that ``arrange`` makes; or what ``node`` raises.
    """
    payload, refs = node(root)
    if payload[:1] != ROOT:
        raise CorruptionError("a dict's root is none")
    counts, last, *runs = ormsgpack.unpackb(payload[1:])
    rest = iter(refs)
    levels, widths = _read_levels(counts, rest, node)
    keys: list[Key] = []
    marks: list[Mark] = []
    ends: list[list[int]] = [[] for _ in levels[:1]]
    for ref in levels[0] if levels else ():
        payload, children = node(ref)
        if payload[:1] != LEAF:
            raise CorruptionError("a dict's leaf is none")
        packed, *inner_runs = ormsgpack.unpackb(payload[1:])
        keys += map(unpack_key, packed)
        marks += unpack_marks(inner_runs, iter(children))
        ends[0].append(len(keys))
    for width in widths:
        ends.append([ends[-1][child - 1] for child in accumulate(width)])
    keys += map(unpack_key, last)
    marks += unpack_marks(runs, rest)
    if len(keys) != len(marks):
        raise CorruptionError("a dict's keys are not as many as its values")
    return Items(keys, marks, ends, levels, root)


def _read_levels(
    counts: Sequence[int], rest: Iterator[bytes], node: ReadNode
) -> tuple[list[list[bytes]], list[list[int]]]:
    """Follow a root's addresses down to the leaves.

    Returns:
        The addresses at each height, leaves first; and how many each node names, likewise.
    """
    levels: list[list[bytes]] = []
    widths: list[list[int]] = []
    for height, count in zip(range(len(counts) - 1, -1, -1), counts, strict=True):
        inner: list[bytes] = []
        width: list[int] = []
        for ref in levels[0] if levels else ():
            payload, children = node(ref)
            if payload[:1] != bytes((height + 1,)):
                raise CorruptionError(f"a dict's node at height {height + 1} is none")
            inner += children
            width.append(len(children))
        if levels:
            widths.insert(0, width)
        levels.insert(0, [*inner, *islice(rest, count)])
    return levels, widths
