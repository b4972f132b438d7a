"""A long text that grows, as pieces that are joined again: what it was, and what was added since.

The pieces lie in a tree as a list's elements do. Where one ends follows from the history of the
text: of one that is not told to go on from a text before it, the only piece is the whole. What is
said of texts here holds for ``bytes`` too.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from threadkeep.checkpoints.drafts import Draft
from threadkeep.checkpoints.entries import Blob, Text
from threadkeep.checkpoints.lists import Listing, arrange
from threadkeep.errors import CorruptionError

TEXT_LEN = 2048  # a shorter one is one document, however it grows
TEXT_MOST_LEN = 16 * 1024 * 1024  # a longer one too: it would have to be remembered
PIECE_LEN = 512  # a last piece that is shorter is stored again together with what follows it


@dataclass(frozen=True, slots=True)
class TextMemory:
    """A text as it is stored.

    Attributes:
        text: All of it.
        ends: For each piece, how long it and those before it are.
        listing: How the pieces are stored.
    """

    text: str | bytes
    ends: Sequence[int]
    listing: Listing

    @property
    def size_bytes(self) -> int:
        """Say what it occupies, roughly."""
        return len(self.text) + 32 * len(self.ends)

    def likeness(self, value: Any) -> int:
        """Count what another value is to share."""
        kept = self.shared(value) if is_long(value) else 0
        return self.ends[kept - 1] if kept else 0

    def names(self) -> Iterator[bytes]:
        """Iterate over the addresses below its entry that are known to be stored."""
        for level in self.listing.levels:
            yield from level
        yield from (mark for mark in self.listing.marks if isinstance(mark, bytes))

    def entry(self) -> Blob | Text:
        """State the text: its document, or its pieces."""
        first, *more = self.listing.marks
        if not more and isinstance(first, bytes):
            return Blob(first)
        return Text(self.listing.entry())

    def shared(self, value: str | bytes) -> int:
        """Count the leading pieces that another text is to share; none if that does not pay."""
        if type(value) is not type(self.text):
            return 0
        if value == self.text:
            return len(self.ends)
        kept = bisect_right(self.ends, _common(self.text, value))
        if kept > 1 and self.ends[kept - 1] - self.ends[kept - 2] < PIECE_LEN:
            kept -= 1
        return kept if kept and 2 * self.ends[kept - 1] >= len(value) else 0


def is_long(value: Any) -> TypeGuard[str | bytes]:
    """Tell whether a value is a text that may be stored in pieces."""
    return type(value) in (str, bytes) and TEXT_LEN <= len(value) <= TEXT_MOST_LEN


def watch_text(text: str | bytes, listing: Listing, pieces: Sequence[str | bytes]) -> TextMemory:
    """Remember a text that was read."""
    ends, end = [], 0
    for piece in pieces:
        end += len(piece)
        ends.append(end)
    return TextMemory(text, ends, listing)


def join(pieces: Sequence[Any]) -> Any:
    """Make a text of its pieces.

    Raises:
        CorruptionError: They are none of a text.
    """
    for kind in (str, bytes):
        if pieces and all(type(piece) is kind for piece in pieces):
            return kind().join(pieces)
    raise CorruptionError("a text's pieces are not all text")


def encode_text(
    value: str | bytes, draft: Draft, before: TextMemory | None
) -> tuple[Blob | Text, TextMemory]:
    """Take a long text into a draft.

    Args:
        value: The text.
        draft: Gets the documents.
        before: The text it may go on from.
    """
    kept = before.shared(value) if before else 0
    old = before.listing if before else Listing()
    ends = list(before.ends[:kept]) if before else []
    marks = list(old.marks[:kept])
    start = ends[-1] if ends else 0
    if start < len(value):
        plain = draft.codec.dump(value[start:])
        whole = draft.value(plain) if not kept else None
        marks.append(whole.ref if isinstance(whole, Blob) else draft.mark(plain))
        ends.append(len(value))
    memory = TextMemory(value, ends, arrange(marks, old, kept, draft.node))
    return memory.entry(), memory


def _common(text: Any, other: Any) -> int:
    """Count how much two texts have in common from their start."""
    low, high = 0, min(len(text), len(other))
    if text[:high] == other[:high]:
        return high
    while high - low > 1:  # the first ``low`` are the same, the first ``high`` are not
        middle = (low + high) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
