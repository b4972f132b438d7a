"""The document store in dictionaries: the reference the other drivers are compared with."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from threadkeep.drivers.memory.document_shelves import Order, Thread
from threadkeep.errors import StorageError
from threadkeep.model.uuid_times import TICKS_PER_SECOND, ticks_of
from threadkeep.ports.clock import Clock, SystemClock
from threadkeep.ports.documents import (
    CHECKPOINTS,
    COLLECTIONS,
    ERASURE_SECONDS,
    READ_BYTES,
    Batch,
    Document,
    Fetched,
    Find,
    Inserted,
    Is,
    Key,
    Page,
    Pruned,
    Pruning,
    Scope,
    Usage,
)
from threadkeep.rules.document_checks import (
    MAX_BODY_BYTES,
    check_batch,
    check_find,
    check_keys,
    check_pruning,
    check_refs,
    check_scope,
)
from threadkeep.rules.document_life import erasure_mark
from threadkeep.rules.document_matches import matches
from threadkeep.rules.document_order import field_order, key_order, size_of


class MemoryDocumentStore:
    """Keeps documents until it is let go of."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._erased: dict[bytes, int] = {}  # the last to be erased comes last
        self._leases: dict[tuple[Scope, str], tuple[int, datetime]] = {}
        self._tokens = 0
        self._threads: dict[Scope, dict[str, Thread]] = {}
        self._lock = threading.Lock()
        self._closed = False

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return MAX_BODY_BYTES

    def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        self._check_open()

    def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        self._check_open()
        thread_id = check_batch(batch, MAX_BODY_BYTES)
        check_scope(scope, thread_id)
        if thread_id is None:
            return Inserted()
        with self._lock:
            threads = self._threads.setdefault(scope, {})
            thread = threads.get(thread_id, Thread())
            if batch.lease is not None and not self._has_lease(scope, thread_id, batch.lease):
                return Inserted(written=False, stale=True)
            if self._is_erased(scope, thread_id, thread, batch):
                return Inserted(written=False, erased=True)
            if not all(thread.get(*required) for required in batch.requires):
                return Inserted(written=False)
            threads[thread_id] = thread
            present = [
                (document.collection, document.key)
                for document in batch.documents
                if not thread.put_where_absent(document)
                and not COLLECTIONS[document.collection].addressed
            ]
            for document in batch.replacing:
                thread.put(document)
            return Inserted(present=present)

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        self._check_open()
        check_scope(scope, thread_id)
        check_refs(refs)
        with self._lock:
            addressed = self._thread(scope, thread_id).addressed
            waiting = list(dict.fromkeys(refs))
            asked = set(waiting)
            found: dict[bytes, Document] = {}
            total = 0
            for at, ref in enumerate(waiting):  # which grows while nodes are followed
                document = addressed.get(ref)
                if document is None:
                    continue
                total += size_of(document)
                if found and total > READ_BYTES:
                    return Fetched(found, waiting[at:])
                found[ref] = _copy(document)
                if nodes:
                    inner = [name for name in dict.fromkeys(document.refs) if name not in asked]
                    inner = [name for name in inner if name in addressed and addressed[name].refs]
                    asked.update(inner)
                    waiting.extend(inner)
            return Fetched(found)

    def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        self._check_open()
        check_scope(scope, find.thread_id)
        check_find(find)
        with self._lock:
            if find.limit == 0:
                return Page(())
            documents, more = _page(self._ordered(scope, find), find)
            children = self._children(scope, find, documents)
        if not find.bodies:
            documents = [replace(document, body=b"") for document in documents]
            children = [replace(document, body=b"") for document in children]
        return Page([*map(_copy, documents)], [*map(_copy, children)], more)

    def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        self._check_open()
        check_scope(scope, find.thread_id)
        check_find(find)
        with self._lock:
            return sum(1 for _ in self._ordered(scope, replace(find, after=None)))

    def remove(self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]) -> int:
        """See ``DocumentStore.remove``."""
        self._check_open()
        check_scope(scope, thread_id)
        check_keys(documents)
        with self._lock:
            thread = self._thread(scope, thread_id)
            return sum(thread.pop(collection, key) for collection, key in documents)

    def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        self._check_open()
        check_scope(scope, thread_id)
        with self._lock:
            thread = self._threads.get(scope, {}).pop(thread_id, Thread())
            gone = sum(map(len, thread.shelves.values()))
            if gone:
                self._remember_erasure(erasure_mark(scope, thread_id))
            return gone

    def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        self._check_open()
        check_scope(scope, source)
        check_scope(scope, target)
        with self._lock:
            origin = self._threads.get(scope, {}).get(source)
            if origin is None or source == target:
                return 0
            self._erased.pop(erasure_mark(scope, target), None)
            thread = self._threads[scope].setdefault(target, Thread())
            return sum(
                thread.put_where_absent(replace(document, thread_id=target))
                for shelf in origin.shelves.values()
                for document in shelf.under(())
            )

    def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        self._check_open()
        check_scope(scope, thread_id)
        check_pruning(pruning)
        with self._lock:
            return self._thread(scope, thread_id).prune(pruning)

    def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        self._check_open()
        check_scope(scope, thread_id)
        with self._lock:
            now = self._clock.now()
            held = self._leases.get((scope, thread_id))
            if held is not None and held[1] > now:
                return None
            self._tokens += 1
            self._leases[scope, thread_id] = self._tokens, now + timedelta(seconds=seconds)
            return self._tokens

    def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        self._check_open()
        with self._lock:
            if not self._has_lease(scope, thread_id, token):
                return False
            ends_at = self._clock.now() + timedelta(seconds=seconds)
            self._leases[scope, thread_id] = token, ends_at
            return True

    def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        self._check_open()
        with self._lock:
            if self._has_lease(scope, thread_id, token):
                del self._leases[scope, thread_id]

    def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        self._check_open()
        check_scope(scope, thread_id)
        with self._lock:
            shelves = self._thread(scope, thread_id).shelves
            return {
                name: Usage(len(shelf), sum(map(size_of, shelf.under(()))))
                for name, shelf in shelves.items()
                if len(shelf)
            }

    def close(self) -> None:
        """See ``DocumentStore.close``."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the document store is closed")

    def _thread(self, scope: Scope, thread_id: str) -> Thread:
        return self._threads.get(scope, {}).get(thread_id) or Thread()

    def _has_lease(self, scope: Scope, thread_id: str, token: int) -> bool:
        held = self._leases.get((scope, thread_id))
        return held is not None and held[0] == token

    def _is_erased(self, scope: Scope, thread_id: str, thread: Thread, batch: Batch) -> bool:
        """Say whether a batch belongs to what the thread was before it was erased."""
        if not batch.after or not self._erased:
            return False
        erased_at = self._erased.get(erasure_mark(scope, thread_id))
        return erased_at is not None and not all(
            made_at > erased_at or thread.get(CHECKPOINTS, key) for key, made_at in batch.after
        )

    def _remember_erasure(self, mark: bytes) -> None:
        now = ticks_of(self._clock.now())
        self._erased.pop(mark, None)
        self._erased[mark] = now
        for old, at in list(self._erased.items()):
            if at > now - ERASURE_SECONDS * TICKS_PER_SECOND:
                break
            del self._erased[old]

    def _ordered(self, scope: Scope, find: Find) -> Iterator[Document]:
        """Iterate over what meets the conditions, in the order asked for."""
        threads = self._threads.get(scope, {})
        wanted = sorted(threads) if find.thread_id is None else [find.thread_id]
        prefix = _prefix(find)
        names = len(COLLECTIONS[find.collection].key)
        # One thread and all key fields but the last: the shelf's own order, read backwards.
        backwards = find.newest_first and find.thread_id is not None and len(prefix) >= names - 1
        found: Iterator[Document] = (
            document
            for thread_id in wanted
            if thread_id in threads
            for document in threads[thread_id]
            .shelf(find.collection)
            .under(prefix, backwards=backwards)
            if all(matches(document, condition) for condition in find.where)
        )
        if find.newest_first and not backwards:
            found = iter(sorted(sorted(found, key=_ties), key=_newest, reverse=True))
        return found

    def _children(self, scope: Scope, find: Find, documents: Sequence[Document]) -> list[Document]:
        if find.children is None:
            return []
        children = [
            child
            for document in documents
            for child in self._thread(scope, document.thread_id)
            .shelf(find.children)
            .under(key_order(find.collection, document.key))
        ]
        return sorted(children, key=_oldest)


def _copy(document: Document) -> Document:
    return replace(document, fields=dict(document.fields))


def _prefix(find: Find) -> Order:
    """Return what the leading key fields sort by, as far as conditions name them."""
    named = {each.name: each.value for each in find.where if isinstance(each, Is)}
    prefix: list[Any] = []
    for name in COLLECTIONS[find.collection].key:
        if named.get(name) is None:
            break
        prefix.append(field_order(find.collection, name)(named[name]))
    return tuple(prefix)


def _oldest(document: Document) -> Order:
    return document.thread_id, key_order(document.collection, document.key)


def _newest(document: Document) -> Any:
    return key_order(document.collection, document.key)[-1]


def _ties(document: Document) -> Order:
    return key_order(document.collection, document.key)[:-1], document.thread_id


def _page(found: Iterator[Document], find: Find) -> tuple[list[Document], bool]:
    if find.after is not None:
        found = (document for document in found if _is_after(document, find))
    page: list[Document] = []
    total = 0
    for document in islice(found, find.limit + 1):
        total += size_of(document) if find.bodies else size_of(replace(document, body=b""))
        if len(page) == find.limit or (page and total > READ_BYTES):
            return page, True
        page.append(document)
    return page, False


def _is_after(document: Document, find: Find) -> bool:
    assert find.after is not None
    thread_id, key = find.after
    anchor = replace(document, thread_id=thread_id, key=key)
    if not find.newest_first:
        return _oldest(document) > _oldest(anchor)
    if _newest(document) != _newest(anchor):
        return bool(_newest(document) < _newest(anchor))
    return _ties(document) > _ties(anchor)
