"""The tree over a list's elements: what is shared, what is written, and how it reads back."""

import hashlib
import random

import pytest

from threadkeep.checkpoints.entries import Inline, Mark, Tree, pack, unpack
from threadkeep.checkpoints.lists import FANOUT, LEAF_WEIGHT, REF_WEIGHT, Listing, arrange, read
from threadkeep.errors import CorruptionError

LEAF = LEAF_WEIGHT // REF_WEIGHT

Node = tuple[bytes, tuple[bytes, ...]]


class Store:
    """Keeps leaves and nodes by content, and counts those that are new."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, Node] = {}
        self.calls = 0

    def write(self, payload: bytes, refs: tuple[bytes, ...]) -> bytes:
        self.calls += 1
        ref = hashlib.sha256(payload + b"".join(refs)).digest()[:12]
        self.nodes[ref] = payload, refs
        return ref

    def read(self, ref: bytes) -> Node:
        return self.nodes[ref]


def marks(count: int, start: int = 0) -> list[Mark]:
    return [b"%012d" % number for number in range(start, start + count)]


@pytest.mark.parametrize(
    "count", [0, 1, LEAF - 1, LEAF, LEAF + 1, 16 * LEAF, 17 * LEAF - 1, 256 * LEAF, 5000]
)
def test_a_list_of_any_length_reads_back_as_it_was_stored(count: int) -> None:
    store = Store()
    stored = arrange(marks(count), Listing(), 0, store.write)
    again = read(stored.entry(), store.read)
    assert again == Listing(stored.marks, list(stored.ends), stored.levels, stored.root)
    assert list(again.marks) == marks(count)


def test_small_elements_stand_in_the_leaf_and_fill_it_by_their_size() -> None:
    store = Store()
    small: list[Mark] = [Inline(b"\x03" + bytes([n % 128])) for n in range(1000)]
    stored = arrange(small, Listing(), 0, store.write)
    assert read(stored.entry(), store.read).marks == small
    assert len(stored.ends) == 1000 // (LEAF_WEIGHT // 4)
    assert not any(refs for payload, refs in store.nodes.values() if payload[:1] == b"\x00")


def test_appending_one_by_one_gives_what_storing_at_once_gives() -> None:
    store, stored = Store(), Listing()
    for count in range(1, 400):
        stored = arrange(marks(count), stored, count - 1, store.write)
        assert stored == arrange(marks(count), Listing(), 0, Store().write)


@pytest.mark.parametrize("count", [100, 10_000, 100_000])
def test_a_turn_of_appending_costs_the_same_at_any_length(count: int) -> None:
    store = Store()
    stored = arrange(marks(count), Listing(), 0, store.write)
    store.calls = 0
    for more in range(1, LEAF * FANOUT + 1):
        stored = arrange(marks(count + more), stored, count + more - 1, store.write)
    # A leaf and a root for each eight elements, and a node or two for all of them.
    assert store.calls <= 2 * FANOUT + 3
    assert len(store.nodes[stored.root or b""][1]) < 4 * FANOUT


def test_any_change_is_stored_right_whatever_was_kept() -> None:
    chosen = random.Random(7)
    store, stored, before = Store(), Listing(), list[Mark]()
    for _ in range(300):
        kept = chosen.randint(0, len(before))
        after = [*before[:kept], *marks(chosen.randint(0, 60), chosen.randrange(10**6))]
        stored = arrange(after, stored, kept, store.write)
        assert list(read(stored.entry(), store.read).marks) == after
        assert stored == arrange(after, Listing(), 0, Store().write)
        before = after


def test_an_entry_packs_and_unpacks() -> None:
    tail = (b"a" * 12, b"b" * 12, Inline(b"\x03\x01"), b"c" * 12)
    entry = Tree(b"r" * 12, tail)
    refs: list[bytes] = []
    packed = pack(entry, refs)
    assert packed == [1, 2, b"\x03\x01", 1]
    assert unpack(packed, iter(refs)) == entry


@pytest.mark.parametrize("packed", ["text", 7, 1.5, ["x", 1]])
def test_an_entry_that_is_none_is_refused(packed: object) -> None:
    with pytest.raises(CorruptionError):
        unpack(packed, iter(()))


def test_a_tree_whose_nodes_are_swapped_is_refused() -> None:
    store = Store()
    stored = arrange(marks(40 * LEAF), Listing(), 0, store.write)
    leaf, node = stored.levels[0][0], stored.levels[1][0]
    for wrong, right in ((leaf, store.nodes[node]), (node, store.nodes[leaf])):
        damaged = {**store.nodes, wrong: right}
        with pytest.raises(CorruptionError):
            read(stored.entry(), damaged.__getitem__)
