"""Texts in pieces: what is shared with the text before, and what is stored whole."""

from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.drafts import Draft
from threadkeep.checkpoints.entries import Blob, Entry, Text, Tree, pack, unpack
from threadkeep.checkpoints.texts import (
    PIECE_LEN,
    TEXT_LEN,
    TEXT_MOST_LEN,
    TextMemory,
    encode_text,
    is_long,
    join,
)
from threadkeep.errors import CorruptionError

CODEC = Codec(JsonPlusSerializer())
BASE = "".join(chr(32 + at % 90) for at in range(5000))
PIECE = "é" * PIECE_LEN


def encode(value: Any, before: TextMemory | None = None) -> tuple[Entry, TextMemory, int]:
    """Return the entry, what is remembered, and the bytes that were handed over."""
    draft = Draft("t", CODEC)
    entry, memory = encode_text(value, draft, before)
    assert memory.text == value
    assert memory.ends[-1] == len(value)
    bodies = [one.body for batch in draft.batches() for one in batch.documents]
    return entry, memory, sum(map(len, bodies))


def grown(*pieces: Any) -> TextMemory:
    memory = None
    for end in range(1, len(pieces) + 1):
        _, memory, _ = encode(join(pieces[:end]), memory)
    assert memory is not None
    return memory


def test_a_text_of_which_nothing_is_known_is_one_document() -> None:
    entry, memory, _ = encode(BASE)
    assert isinstance(entry, Blob)
    assert memory.ends == [len(BASE)]


@pytest.mark.parametrize("more", ["x", "\x00", "😀" * 20, PIECE, BASE * 9])
def test_what_is_added_is_a_piece(more: str) -> None:
    first = grown(BASE)
    entry, memory, handed = encode(BASE + more, first if len(more) < 2 * len(BASE) else None)
    if len(more) < 2 * len(BASE):
        assert isinstance(entry, Text)
        assert memory.ends == [len(BASE), len(BASE) + len(more)]
        assert handed < len(more.encode()) + 60


def test_bytes_grow_as_text_does() -> None:
    memory = grown(BASE.encode(), b"\x00\xff" * 400)
    assert memory.ends == [len(BASE), len(BASE) + 800]
    assert memory.shared(BASE) == 0


def test_a_short_last_piece_is_joined_with_what_follows() -> None:
    memory = grown(BASE, "a", "b", "c" * PIECE_LEN, "d", "e")
    assert memory.ends == [5000, 5002 + PIECE_LEN, 5004 + PIECE_LEN]


def test_pieces_fill_leaves() -> None:
    memory = grown(BASE, *([PIECE] * 40))
    assert len(memory.ends) == 41
    assert memory.listing.root is not None
    entry = memory.entry()
    assert isinstance(entry, Text)
    assert len(entry.tree.tail) <= 8


def test_what_is_before_an_edit_is_shared() -> None:
    before = grown(BASE, *([PIECE] * 20))
    edited = str(before.text)[:-700] + "edited" + "é" * 30
    _, memory, handed = encode(edited, before)
    assert memory.ends[:-1] == before.ends[:19]
    assert handed < 2500
    shorter, memory, _ = encode(before.text[: len(BASE) + 2 * PIECE_LEN], before)
    assert memory.ends == before.ends[:3]
    assert shorter == Text(Tree(None, tuple(before.listing.marks[:3])))


@pytest.mark.parametrize(
    "other", [BASE[1:], "x" + BASE, BASE[:4000], PIECE * 40, BASE + PIECE * 40]
)
def test_a_text_that_shares_little_is_one_document(other: str) -> None:
    entry, memory, _ = encode(other, grown(BASE))
    assert isinstance(entry, Blob)
    assert memory.ends == [len(other)]


def test_the_same_text_again_is_the_same_entry() -> None:
    memory = grown(BASE, "more")
    assert encode(memory.text, memory)[0] == memory.entry()


def test_which_texts_are_long() -> None:
    assert is_long("x" * TEXT_LEN)
    assert is_long(b"x" * TEXT_LEN)
    assert not is_long("x" * (TEXT_LEN - 1))
    assert not is_long("x" * (TEXT_MOST_LEN + 1))
    assert not is_long(bytearray(TEXT_LEN))
    assert not is_long(["x"] * TEXT_LEN)


def test_an_entry_of_a_text_is_packed_and_unpacked() -> None:
    for memory in (grown(BASE, "more"), grown(BASE, *([PIECE] * 30))):
        refs: list[bytes] = []
        packed = pack(memory.entry(), refs)
        assert packed[0] in (4, 5)
        assert unpack(packed, iter(refs)) == memory.entry()


@pytest.mark.parametrize("pieces", [[], ["a", b"b"], ["a", 1], [None]])
def test_pieces_that_are_no_text_are_refused(pieces: list[Any]) -> None:
    with pytest.raises(CorruptionError, match="pieces"):
        join(pieces)
