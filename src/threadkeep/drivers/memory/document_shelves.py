"""What one thread stores, in dictionaries and sorted lists."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from threadkeep.ports.documents import (
    CHECKPOINTS,
    COLLECTIONS,
    WRITES,
    Document,
    Key,
    Pruned,
    Pruning,
)
from threadkeep.rules.document_life import reachable
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
        """Find a document."""
        return self._documents.get(key_order(self._collection, key))

    def put(self, document: Document) -> None:
        """Write a document, whatever has its key."""
        order = key_order(self._collection, document.key)
        if order not in self._documents:
            insort(self._order, order)
        self._documents[order] = document

    def pop(self, key: Key) -> None:
        """Take out a document that is there."""
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
        """Return the documents of a collection."""
        return self.shelves.setdefault(collection, Shelf(collection))

    def get(self, collection: str, key: Key) -> Document | None:
        """Find a document."""
        shelf = self.shelves.get(collection)
        return shelf.get(key) if shelf else None

    def occupant(self, document: Document) -> Document | None:
        """Return the document in whose place a new one would stand."""
        if COLLECTIONS[document.collection].addressed:
            return self.addressed.get(_ref(document))
        return self.get(document.collection, document.key)

    def put_where_absent(self, document: Document) -> bool:
        """Write a document unless its place is taken; say whether it was written."""
        if self.occupant(document) is not None:
            return False
        self.put(document)
        return True

    def put(self, document: Document) -> None:
        """Write a document, whatever is in its place."""
        document = _with_every_field(document)
        present = self.occupant(document)
        if present is not None and present.collection != document.collection:
            self.shelf(present.collection).pop(present.key)
        self.shelf(document.collection).put(document)
        if COLLECTIONS[document.collection].addressed:
            self.addressed[_ref(document)] = document

    def pop(self, collection: str, key: Key) -> bool:
        """Take out a document; say whether it was there."""
        present = self.get(collection, key)
        if present is None:
            return False
        self.shelf(collection).pop(key)
        if COLLECTIONS[collection].addressed:
            del self.addressed[_ref(present)]
        return True

    def prune(self, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``; the store's lock is held."""
        if self._is_followed(pruning):
            return Pruned(done=False)
        writes = 0
        checkpoints = sum(self.pop(CHECKPOINTS, key) for key in pruning.gone)
        strays = [key for key in pruning.strays if self.get(CHECKPOINTS, key) is None]
        for key in (*pruning.gone, *strays):
            keys = [one.key for one in self.shelf(WRITES).under(key_order(CHECKPOINTS, key))]
            writes += sum(self.pop(WRITES, child) for child in keys)
        for key in pruning.orphans:
            self._cut_off(key)
        return Pruned(True, checkpoints, writes, self._sweep())

    def _is_followed(self, pruning: Pruning) -> bool:
        gone, orphans = set(pruning.gone), set(pruning.orphans)
        return any(
            (one.key[0], one.fields["parent_id"]) in gone
            for one in self.shelf(CHECKPOINTS).under(())
            if one.key not in gone and one.key not in orphans
        )

    def _cut_off(self, key: Key) -> None:
        found = self.get(CHECKPOINTS, key)
        if found is None or found.fields["parent_id"] is None:
            return
        if self.get(CHECKPOINTS, (key[0], found.fields["parent_id"])):
            return
        self.put(replace(found, fields={**found.fields, "parent_id": None}))

    def _sweep(self) -> int:
        named = [
            ref
            for collection in (CHECKPOINTS, WRITES)
            for document in self.shelf(collection).under(())
            for ref in document.refs
        ]
        live = reachable(named, {ref: one.refs for ref, one in self.addressed.items() if one.refs})
        dead = [one for ref, one in self.addressed.items() if ref not in live]
        return sum(self.pop(one.collection, one.key) for one in dead)


def _with_every_field(document: Document) -> Document:
    names = COLLECTIONS[document.collection].fields
    return replace(
        document,
        refs=tuple(document.refs),
        fields={name: document.fields.get(name) for name in names},
    )


def _ref(document: Document) -> bytes:
    (ref,) = document.key
    assert isinstance(ref, bytes)
    return ref
