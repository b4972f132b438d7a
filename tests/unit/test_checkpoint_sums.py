"""Sums over rows: what was changed beside a body is noticed, and what may change is not."""

from dataclasses import replace
from typing import Any

import pytest

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.sums import add_sums, parent_is, unseal_row
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import CHECKPOINTS, WRITES, Document, Scalar

PLAIN = b"\x50a checkpoint's plain"
FIELDS: dict[str, Scalar] = {"parent_id": "p", "source": "loop", "step": 3, "meta": b"m" * 12}


def checkpoint() -> Document:
    bare = Document(
        "t", CHECKPOINTS, ("ns", "c1"), bodies.seal(PLAIN), (b"1" * 12, b"2" * 12), FIELDS
    )
    return replace(bare, body=add_sums(bare))


def writes() -> Document:
    bare = Document("t", WRITES, ("ns", "c1", "task", -3), bodies.seal(PLAIN), (b"1" * 12,))
    return replace(bare, body=add_sums(bare))


@pytest.mark.parametrize("row", [checkpoint(), writes()])
def test_a_row_gives_its_plain_back(row: Document) -> None:
    assert unseal_row(row) == PLAIN
    assert unseal_row(replace(row, thread_id="a copy")) == PLAIN


def test_the_sums_are_those_of_the_format() -> None:
    assert checkpoint().body[:8].hex() == "082c277c7b9eb100"
    assert writes().body[:6].hex() == "08465cf78200"


@pytest.mark.parametrize(
    "changes",
    [
        {"key": ("ns", "c2")},
        {"key": ("n", "sc1")},
        {"refs": (b"2" * 12, b"1" * 12)},
        {"refs": (b"1" * 12,)},
        {"fields": {**FIELDS, "source": "input"}},
        {"fields": {**FIELDS, "source": None}},
        {"fields": {**FIELDS, "step": 4}},
        {"fields": {**FIELDS, "parent_id": "q"}},
    ],
)
def test_what_was_changed_beside_a_checkpoint_is_noticed(changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptionError):
        unseal_row(replace(checkpoint(), **changes))


@pytest.mark.parametrize("part", [0, 3, "3", None])
def test_what_was_changed_beside_a_write_is_noticed(part: Any) -> None:
    with pytest.raises(CorruptionError):
        unseal_row(replace(writes(), key=("ns", "c1", "task", part)))


@pytest.mark.parametrize("row", [checkpoint(), writes()])
def test_every_changed_byte_of_a_body_is_noticed(row: Document) -> None:
    for at in range(1, len(row.body)):
        body = bytearray(row.body)
        body[at] ^= 0x40
        with pytest.raises(CorruptionError):
            unseal_row(replace(row, body=bytes(body)))


def test_a_parent_that_a_prune_took_away_is_not_missed() -> None:
    row = checkpoint()
    cut = replace(row, fields={**FIELDS, "parent_id": None, "meta": None})
    assert unseal_row(cut) == PLAIN
    assert parent_is(cut, "p")
    assert not parent_is(cut, "q")


def test_a_row_of_an_earlier_release_has_no_sum_and_is_read() -> None:
    old = replace(checkpoint(), body=bodies.seal(PLAIN), key=("ns", "any"))
    assert unseal_row(old) == PLAIN
    assert not parent_is(old, "p")
