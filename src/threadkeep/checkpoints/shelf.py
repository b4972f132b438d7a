"""Documents one process has read or written, by thread and address: what need not be read again.

An address names its content, so what is kept here is right for as long as it is kept. What was
read is kept as its plain or as the serializer's *sketch* of it, so that it is neither unpacked nor
checked again; values are made of it anew each time, and no two readers share one.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from threadkeep.checkpoints.lists import Listing
from threadkeep.ports.documents import PART_BYTES, PARTS, Document

KEPT_BYTES = PART_BYTES  # a larger plain is not kept: it would push many others out
_OVERHEAD_BYTES = 200  # of the objects around the bytes
_MARK_BYTES = 8


# A value that a serializer makes many of at once: what ``prints.take`` takes of it, and what else
# the serializer needs. A plain tuple: a long conversation is thousands of these.
Sketch = tuple[tuple[str | None, bytes], Any]


class SketchingSerde(Protocol):
    """What a serializer may do beside ``Serde``; a saver does without where it cannot.

    Attributes:
        sketches: Whether it can.
    """

    @property
    def sketches(self) -> bool: ...  # noqa: D102

    def sketch(self, payload: bytes) -> Sketch | None:
        """Look at what ``dumps_typed`` made as ``msgpack``; ``None`` where it is none of these."""
        ...

    def compose(self, sketches: Sequence[Sketch]) -> list[Any]:
        """Make values of sketches, what ``loads_typed`` would make.

        Raises:
            ValueError: Not all of them can be made so.
        """
        ...

    def payload(self, sketch: Sketch) -> bytes:
        """Give back what a sketch was made of."""
        ...


class Held:
    """A document that is what its address says, and has no sketch.

    Args:
        refs: Addresses of the documents it names.
        plain: Its plain.
        listing: The sealed elements of the list it is the root of, once they are known.
    """

    __slots__ = ("listing", "plain", "refs")

    def __init__(
        self, refs: tuple[bytes, ...], plain: bytes, listing: Listing | None = None
    ) -> None:
        self.refs = refs
        self.plain = plain
        self.listing = listing


Source = Held | Sketch  # what a value is made of
Kept = Document | Source


def refs_of(kept: Kept) -> tuple[bytes, ...]:
    """Name the documents that one names; what a sketch is made of names none."""
    return () if type(kept) is tuple else kept.refs  # type: ignore[union-attr]


def _size(kept: Kept) -> int:
    """Say what one occupies, roughly."""
    if isinstance(kept, tuple):
        text, rest = kept[0]
        return _OVERHEAD_BYTES + len(rest) + len(text or "")
    if isinstance(kept, Document):
        return _OVERHEAD_BYTES + len(kept.body)
    marks = 0 if kept.listing is None else len(kept.listing.marks)
    return _OVERHEAD_BYTES + len(kept.plain) + _MARK_BYTES * marks


class Shelf:
    """Bounded; what belongs to the thread that was not used for longest goes first.

    Args:
        capacity_bytes: Kept at most.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity = capacity_bytes
        self._threads: OrderedDict[str, dict[bytes, Kept]] = OrderedDict()
        self._bytes = 0

    def find(self, thread_id: str, refs: Iterable[bytes]) -> dict[bytes, Kept]:
        """Find those that are kept."""
        own = self._threads.get(thread_id)
        if own is None:
            return {}
        self._threads.move_to_end(thread_id)
        return {ref: own[ref] for ref in refs if ref in own}

    def keep(self, thread_id: str, found: Mapping[bytes, Kept]) -> None:
        """Take in documents; what was read replaces what was written."""
        own = self._threads.setdefault(thread_id, {})
        self._threads.move_to_end(thread_id)
        for ref, kept in found.items():
            old = own.get(ref)
            if old is not None:
                if isinstance(kept, Document):
                    continue
                self._bytes -= _size(old)
            own[ref] = kept
            self._bytes += _size(kept)
        while self._bytes > self._capacity:
            self._drop_oldest()

    def keep_documents(self, documents: Collection[Document]) -> None:
        """Take in documents as they were written; those without an address are left out."""
        by_thread: dict[str, dict[bytes, Kept]] = {}
        for document in documents:
            ref = document.key[0]
            if isinstance(ref, bytes) and document.collection != PARTS:
                by_thread.setdefault(document.thread_id, {})[ref] = document
        for thread_id, found in by_thread.items():
            self.keep(thread_id, found)

    def forget(self, thread_id: str) -> None:
        """Drop all of one thread."""
        self._bytes -= sum(map(_size, self._threads.pop(thread_id, {}).values()))

    def _drop_oldest(self) -> None:
        thread_id, own = next(iter(self._threads.items()))
        if own:
            self._bytes -= _size(own.pop(next(iter(own))))
        if not own:
            del self._threads[thread_id]
