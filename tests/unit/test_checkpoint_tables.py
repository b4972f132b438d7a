"""The tree over a dict's items: what is shared, what is written, and how it reads back."""

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import pytest

from threadkeep.checkpoints.entries import Key, Mark, Table, pack, unpack
from threadkeep.checkpoints.tables import LEAF_MOST, NODE_MOST, Items, arrange, read
from threadkeep.errors import CorruptionError

EMPTY = Items()


class Store:
    """Keeps documents by content, and counts those that are new."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, tuple[bytes, tuple[bytes, ...]]] = {}
        self.calls = 0
        self.new_bytes = 0

    def write(self, payload: bytes, refs: tuple[bytes, ...]) -> bytes:
        self.calls += 1
        ref = hashlib.sha256(payload + b"".join(refs)).digest()[:12]
        if ref not in self.nodes:
            self.new_bytes += len(payload) + 12 * len(refs)
        self.nodes[ref] = payload, refs
        return ref

    def store(self, value: dict[Key, Mark], old: Items = EMPTY, kept: int = 0) -> Items:
        changed = [
            at
            for at, (mark, other) in enumerate(zip(value.values(), old.marks, strict=False))
            if at < kept and mark != other
        ]
        self.calls = self.new_bytes = 0
        return arrange([*value], [*value.values()], old, kept, changed, self.write)

    def read(self, root: bytes | None) -> Items:
        assert root is not None
        return read(root, self.nodes.__getitem__)


def mark(number: int) -> Mark:
    return b"%012d" % number


def dict_of(count: int) -> dict[Key, Mark]:
    return {f"key {number}": mark(number) for number in range(count)}


def common(keys: Sequence[Any], others: Sequence[Any]) -> int:
    pairs = enumerate(zip(keys, others, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(keys), len(others)))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 33, 128, 1000, 5000, 40_000])
def test_a_dict_of_any_length_reads_back_as_it_was_stored(count: int) -> None:
    store = Store()
    stored = store.store(dict_of(count))
    assert store.read(stored.root) == stored
    assert dict(zip(stored.keys, stored.marks, strict=True)) == dict_of(count)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_stored_does_not_depend_on_what_was_stored_before(seed: int) -> None:
    rng, store = random.Random(seed), Store()
    value = dict_of(rng.randrange(1, 900))
    stored = store.store(value)
    for step in range(150):
        before = list(value)
        change = rng.randrange(4)
        key = rng.choice(before)
        if change == 0:
            value[key] = mark(10_000 + step)
        elif change == 1:
            value[f"new {step}"] = mark(step)
        elif change == 2 and len(value) > 1:
            del value[key]
        else:
            value[key] = value.pop(key)
        stored = store.store(value, stored, common(before, [*value]))
        assert stored == Store().store(value)
        assert store.read(stored.root) == stored


@pytest.mark.parametrize("count", [100, 5000, 40_000])
def test_a_change_anywhere_writes_a_leaf_and_what_is_above_it(count: int) -> None:
    store, value = Store(), dict_of(count)
    stored = store.store(value)
    for step in range(40):
        key = f"key {count * step // 40}"
        before = list(value)
        if step % 2:
            value[key] = mark(10**6 + step)
        else:
            del value[key]
        stored = store.store(value, stored, common(before, [*value]))
        assert store.new_bytes < 3000
        if step % 2:
            assert store.calls <= 5


def test_keys_whose_hashes_end_no_leaf_still_make_small_ones() -> None:
    store, found, number = Store(), dict[Key, Mark](), 0
    while len(found) < 3000:
        number += 1
        if not Store().store({number: mark(0)}).ends:
            found[number] = mark(number)
    stored = store.store(found)
    assert stored.ends[0] == list(range(LEAF_MOST, 3001, LEAF_MOST))
    assert stored.ends[1] == [LEAF_MOST * NODE_MOST]
    assert store.read(stored.root) == stored


@pytest.mark.parametrize("key", ["", "\ud800", "\ud83d\ude00", "é", 0, -1, 2**64 - 1])
def test_a_key_comes_back_exactly(key: Key) -> None:
    store = Store()
    read_back = store.read(store.store({key: mark(1)}).root).keys[0]
    assert (type(read_back), read_back) == (type(key), key)


def test_an_entry_names_the_root_only() -> None:
    refs: list[bytes] = []
    packed = pack(Table(b"r" * 12), refs)
    assert (packed, refs) == (1, [b"r" * 12])
    assert unpack(packed, iter(refs)) == Table(b"r" * 12)


@pytest.mark.parametrize("tag", [b"\xff", b"\x00", b"\x01"])
def test_a_tree_that_is_no_dicts_is_refused(tag: bytes) -> None:
    store = Store()
    stored = store.store(dict_of(3000))
    for height in range(len(stored.levels)):
        for ref in (stored.root, stored.levels[height][0]):
            assert ref is not None
            payload, refs = store.nodes[ref]
            if payload[:1] == tag:
                continue
            damaged = store.nodes | {ref: (tag + payload[1:], refs)}
            with pytest.raises(CorruptionError):
                read(stored.root or b"", damaged.__getitem__)
