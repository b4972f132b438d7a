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
OVERHEAD_BYTES = 200  # of the objects around the bytes
_MARK_BYTES = 8


# A value that a serializer makes many of at once: what ``prints.take`` takes of it, and what else
# the serializer needs. A plain tuple: a long conversation is thousands of these.
Sketch = tuple[str | None, bytes, Any]


class SketchingSerde(Protocol):
    """What a serializer may do beside ``Serde``; a saver does without where it cannot.

    Attributes:
        sketches: Whether it can.
    """

    @property
    def sketches(self) -> bool: ...  # noqa: D102

    def sketch(self, stored: Sequence[bytes], start: int) -> list[Sketch | None]:
        """Look at what ``dumps_typed`` made as ``msgpack``; ``None`` where one is none of these.

        Args:
            stored: Bytes, each ending with what it made of one value.
            start: Where in each of them that begins.
        """
        ...

    def compose(self, sketches: Sequence[Sketch]) -> list[Any]:
        """Make values of sketches, what ``loads_typed`` would make.

        Raises:
            ValueError: Not all of them can be made so.
        """
        ...

    def load(self, stored: Sequence[bytes], start: int) -> list[Any]:
        """Make values of what ``dumps_typed`` made as ``msgpack``, what ``loads_typed`` would make.

        Args:
            stored: See ``sketch``.
            start: See ``sketch``.

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


def size_of(kept: Kept) -> int:
    """Say what one occupies, roughly."""
    if isinstance(kept, tuple):
        text, rest, _ = kept
        return OVERHEAD_BYTES + len(rest) + len(text or "")
    if isinstance(kept, Document):
        return OVERHEAD_BYTES + len(kept.body)
    marks = 0 if kept.listing is None else len(kept.listing.marks)
    return OVERHEAD_BYTES + len(kept.plain) + _MARK_BYTES * marks


class _Own:
    """What is kept of one thread; one that goes takes the mean size with it.

    A look at each to know its own size would cost as much as to read it.
    """

    __slots__ = ("documents", "size_bytes")

    def __init__(self) -> None:
        self.documents: dict[bytes, Kept] = {}
        self.size_bytes = 0

    def leave(self, count: int) -> int:
        """Take out so many of those that are there; answers their size."""
        size = self.size_bytes * count // len(self.documents) if self.documents else 0
        self.size_bytes -= size
        return size


class Shelf:
    """Bounded; what belongs to the thread that was not used for longest goes first.

    Args:
        capacity_bytes: Kept at most.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity = capacity_bytes
        self._threads: OrderedDict[str, _Own] = OrderedDict()
        self._bytes = 0

    def find(self, thread_id: str, refs: Iterable[bytes]) -> dict[bytes, Kept]:
        """Find those that are kept."""
        own = self._threads.get(thread_id)
        if own is None:
            return {}
        self._threads.move_to_end(thread_id)
        documents = own.documents
        return {ref: documents[ref] for ref in refs if ref in documents}

    def keep(self, thread_id: str, found: Mapping[bytes, Kept], size_bytes: int) -> None:
        """Take in documents that were read; they replace what was written.

        Args:
            thread_id: Their thread.
            found: The documents.
            size_bytes: What all of them occupy; see ``size_of``.
        """
        own = self._threads.setdefault(thread_id, _Own())
        self._threads.move_to_end(thread_id)
        if not own.documents.keys().isdisjoint(found):
            again = sum(map(own.documents.__contains__, found))
            self._bytes -= own.leave(again)
        own.documents.update(found)
        own.size_bytes += size_bytes
        self._bytes += size_bytes
        while self._bytes > self._capacity:
            self._drop_oldest()

    def keep_documents(self, documents: Collection[Document]) -> None:
        """Take in documents as they were written; those without an address are left out."""
        by_thread: dict[str, dict[bytes, Kept]] = {}
        for document in documents:
            ref = document.key[0]
            if isinstance(ref, bytes) and document.collection != PARTS:
                by_thread.setdefault(document.thread_id, {})[ref] = document
        for thread_id, written in by_thread.items():
            own = self._threads.get(thread_id)
            known = {} if own is None else own.documents
            new = {ref: document for ref, document in written.items() if ref not in known}
            self.keep(thread_id, new, sum(map(size_of, new.values())))

    def forget(self, thread_id: str) -> None:
        """Drop all of one thread."""
        own = self._threads.pop(thread_id, None)
        self._bytes -= 0 if own is None else own.size_bytes

    def _drop_oldest(self) -> None:
        thread_id, own = next(iter(self._threads.items()))
        if own.documents:
            self._bytes -= own.leave(1)
            del own.documents[next(iter(own.documents))]
        if not own.documents:
            self._bytes -= own.size_bytes
            del self._threads[thread_id]
