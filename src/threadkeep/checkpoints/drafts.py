"""The documents one write is going to hand over, in the order they must be stored.

A document is stored before any that names it, so that a crash between two requests leaves garbage
and never a dangling address.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import Blob, Inline, Mark
from threadkeep.checkpoints.terms import Terms
from threadkeep.ports.documents import (
    BLOBS,
    ITEMS,
    PARTS,
    READ_BYTES,
    Batch,
    Document,
    Key,
)

INLINE_BYTES = 40  # a plain up to this stands where it is named: an address and its key cost more
DOCUMENT_BYTES = 64  # what a request spends on a document beside its body, roughly

ANY_TERMS = Terms()

Stored = Callable[[bytes], bool]


def nothing_stored(_ref: bytes) -> bool:
    """Answer for a thread of which nothing is known."""
    return False


class Draft:
    """Collects documents; those that ``stored`` knows are left out."""

    def __init__(self, thread_id: str, codec: Codec, stored: Stored = nothing_stored) -> None:
        self.codec = codec
        self._thread_id = thread_id
        self._stored = stored
        self._values = BLOBS
        self._new: dict[str, dict[bytes, Document]] = {PARTS: {}, ITEMS: {}, BLOBS: {}}

    def mark(self, plain: bytes) -> Mark:
        """Take in one element of a list."""
        if len(plain) <= INLINE_BYTES:
            return Inline(plain)
        return self._add(ITEMS, plain)

    def value(self, plain: bytes) -> Inline | Blob:
        """Take in a value that is not told apart."""
        if len(plain) <= INLINE_BYTES:
            return Inline(plain)
        return Blob(self._add(self._values, plain))

    @contextmanager
    def inside_an_element(self) -> Iterator[None]:
        """Take in values that an element names: they are stored before it."""
        before, self._values = self._values, ITEMS
        try:
            yield
        finally:
            self._values = before

    def send(self, payload: bytes, refs: tuple[bytes, ...]) -> bytes:
        """Take in a ``Send`` whose argument is told apart."""
        return self._add(ITEMS, bodies.flag(bodies.SEND) + payload, refs)

    def node(self, payload: bytes, refs: tuple[bytes, ...]) -> bytes:
        """Take in a leaf or a node of a list."""
        return self._add(ITEMS, bodies.flag(bodies.NODE) + payload, refs)

    def blob(self, plain: bytes) -> bytes:
        """Take in a shape, or another plain that is never inline."""
        return self._add(BLOBS, plain)

    def meta(self, plain: bytes, text: str, *, in_field: bool) -> bytes:
        """Take in metadata: its plain, and the JSON text that is asked for by its entries."""
        ref = self.codec.address(plain)
        if not self._has(ref):
            body = bytes((bodies.FIELD,)) + plain[:1] if in_field else bodies.seal(plain)
            fields = {"metadata": text}
            self._new[BLOBS][ref] = Document(self._thread_id, BLOBS, (ref,), body, fields=fields)
        return ref

    def refs(self) -> Iterator[bytes]:
        """Name the documents collected."""
        for documents in self._new.values():
            yield from documents

    def only(self, refs: Iterable[bytes]) -> None:
        """Leave out what no address given leads to: it would be stored and named by nobody."""
        new = {ref: one for documents in self._new.values() for ref, one in documents.items()}
        named: set[bytes] = set()
        pending = list(refs)
        while pending:
            ref = pending.pop()
            if ref in new and ref not in named:
                named.add(ref)
                pending += new[ref].refs
        self.without(lambda ref: ref not in named)

    def without(self, stored: Stored) -> None:
        """Leave out what has turned out to be stored."""
        for documents in self._new.values():
            for ref in [ref for ref in documents if stored(ref)]:
                del documents[ref]

    def batches(
        self,
        terms: Terms = ANY_TERMS,
        *,
        first: Sequence[Document] = (),
        replacing: Sequence[Document] = (),
    ) -> list[Batch]:
        """Cut everything into batches of at most ``READ_BYTES``, the last one completing it.

        What goes ahead is named by nothing until the last batch comes, and a prune would take it
        away: so the last one requires all of it.

        Args:
            terms: On which each of them is written.
            first: Further documents of the last batch, kept where they are present.
            replacing: Further documents of the last batch.
        """
        held: list[Document] = []
        cut: list[Batch] = []
        size = sum(map(_size, (*first, *replacing)))
        for documents in self._new.values():
            for document in documents.values():
                if held and size + _size(document) > READ_BYTES:
                    cut.append(_batch(terms, held))
                    held, size = [], 0
                held.append(document)
                size += _size(document)
        ahead = [(one.collection, one.key) for batch in cut for one in batch.documents]
        return [*cut, _batch(terms, [*held, *first], replacing, ahead)]

    def _add(self, collection: str, plain: bytes, refs: tuple[bytes, ...] = ()) -> bytes:
        ref = self.codec.address(plain, refs)
        if not self._has(ref):
            form, packed = bodies.sealed(plain)
            if len(packed) < self.codec.part_bytes:
                body = form + packed
            else:
                refs, body = self._split(form, packed), bytes((bodies.MANIFEST,))
            self._new[collection][ref] = Document(self._thread_id, collection, (ref,), body, refs)
        return ref

    def _split(self, form: bytes, packed: bytes) -> tuple[bytes, ...]:
        """Cut a body into parts; it may be large, so no whole copy of it is made."""
        refs = []
        room = self.codec.part_bytes - 2  # beside the format byte and the flag byte
        for start in range(-len(form), len(packed), room):
            head = form if start < 0 else b""
            plain = bodies.flag(bodies.PART) + head + packed[max(start, 0) : start + room]
            ref = self.codec.address(plain)
            refs.append(ref)
            if not self._has(ref):
                self._new[PARTS][ref] = Document(
                    self._thread_id, PARTS, (ref,), bytes((bodies.PLAIN,)) + plain
                )
        return tuple(refs)

    def _has(self, ref: bytes) -> bool:
        return any(ref in documents for documents in self._new.values()) or self._stored(ref)


def _batch(
    terms: Terms,
    documents: Sequence[Document],
    replacing: Sequence[Document] = (),
    ahead: Sequence[tuple[str, Key]] = (),
) -> Batch:
    return Batch(documents, replacing, (*terms.requires, *ahead), terms.after, terms.lease)


def _size(document: Document) -> int:
    text: Mapping[str, object] = document.fields
    return (
        len(document.body)
        + 12 * len(document.refs)
        + DOCUMENT_BYTES
        + sum(len(value) for value in text.values() if isinstance(value, str))
    )
