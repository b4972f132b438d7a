"""What one thread stores, in dictionaries and sorted lists."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from threadkeep.ports.documents import COLLECTIONS, Document, Key
from threadkeep.rules.document_order import key_order

Order = tuple[Any, ...]


class Shelf:
    """The documents of one collection and thread, in key order."""

    def __init__(self, collection: str) -> None:
        self._collection = collection
        self._order: list[Order] = []
        self._documents: dict[Order, Document] = {}

    def __len__(self) -> int:
        return len(self._order)

    def get(self, key: Key) -> Document | None:
        return self._documents.get(key_order(self._collection, key))

    def put(self, document: Document) -> None:
        order = key_order(self._collection, document.key)
        if order not in self._documents:
            insort(self._order, order)
        self._documents[order] = document

    def pop(self, key: Key) -> None:
        order = key_order(self._collection, key)
        del self._documents[order]
        del self._order[bisect_left(self._order, order)]

    def under(self, prefix: Order, *, backwards: bool = False) -> Iterator[Document]:
        """Iterate over the documents whose key begins with what sorts as ``prefix``."""
        start = bisect_left(self._order, prefix)
        stop = start
        if backwards or not prefix:
            stop = _end_of(self._order, prefix, start)
            span = range(stop - 1, start - 1, -1) if backwards else range(start, stop)
            yield from (self._documents[self._order[at]] for at in span)
            return
        while stop < len(self._order) and self._order[stop][: len(prefix)] == prefix:
            yield self._documents[self._order[stop]]
            stop += 1


def _end_of(order: Sequence[Order], prefix: Order, start: int) -> int:
    """Find where the keys that begin with ``prefix`` end, by bisection."""
    low, high = start, len(order)
    while low < high:
        middle = (low + high) // 2
        if order[middle][: len(prefix)] == prefix:
            low = middle + 1
        else:
            high = middle
    return low


@dataclass
class Thread:
    """What one thread stores; addressed documents of all collections are found by address too."""

    shelves: dict[str, Shelf] = field(default_factory=dict)
    addressed: dict[bytes, Document] = field(default_factory=dict)

    def shelf(self, collection: str) -> Shelf:
        return self.shelves.setdefault(collection, Shelf(collection))

    def get(self, collection: str, key: Key) -> Document | None:
        shelf = self.shelves.get(collection)
        return shelf.get(key) if shelf else None

    def occupant(self, document: Document) -> Document | None:
        """Return the document in whose place a new one would stand."""
        if COLLECTIONS[document.collection].addressed:
            return self.addressed.get(ref_of(document))
        return self.get(document.collection, document.key)

    def put(self, document: Document) -> None:
        present = self.occupant(document)
        if present is not None and present.collection != document.collection:
            self.shelf(present.collection).pop(present.key)
        self.shelf(document.collection).put(document)
        if COLLECTIONS[document.collection].addressed:
            self.addressed[ref_of(document)] = document

    def pop(self, collection: str, key: Key) -> bool:
        present = self.get(collection, key)
        if present is None:
            return False
        self.shelf(collection).pop(key)
        if COLLECTIONS[collection].addressed:
            del self.addressed[ref_of(present)]
        return True


def ref_of(document: Document) -> bytes:
    (ref,) = document.key
    assert isinstance(ref, bytes)
    return ref
