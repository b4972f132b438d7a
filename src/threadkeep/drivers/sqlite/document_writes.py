"""Units of work that change documents; each runs in the writer's transaction."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadkeep.drivers.sql.keyed import LIES_WITH, keyed_row, pack_key
from threadkeep.drivers.sqlite.document_rows import KIND_OF, AddressedRow, kinds_of, pack_scope
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    WRITES,
    Batch,
    Document,
    Inserted,
    Key,
    Scope,
)
from threadkeep.rules.document_life import erasure_mark

THREADS_REMEMBERED = 10_000  # row numbers of threads, kept per process: about 2 MB

ThreadKey = tuple[bytes, bytes, bytes]

_ADD = {CHECKPOINTS: "add_checkpoint", WRITES: "add_write"}
_PUT = {CHECKPOINTS: "put_checkpoints", WRITES: "put_writes"}
_HAS = {CHECKPOINTS: "has_checkpoint", WRITES: "has_write"}
_REMOVE = {CHECKPOINTS: "remove_checkpoints", WRITES: "remove_writes"}
for _statements in (_ADD, _PUT, _HAS, _REMOVE):
    _statements.update({earlier: _statements[later] for earlier, later in LIES_WITH.items()})


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread's names, and what its erasure is remembered by."""

    key: ThreadKey
    mark: bytes

    @classmethod
    def of(cls, scope: Scope, thread_id: str) -> "Thread":
        """Pack a thread's names."""
        return cls(pack_scope(scope, thread_id), erasure_mark(scope, thread_id))


class Threads:
    """The row numbers of threads; what is remembered is checked in each transaction.

    Used with the writer's gate held, so by one thread at a time.
    """

    def __init__(self) -> None:
        self._numbers: OrderedDict[ThreadKey, int] = OrderedDict()

    def find(self, session: Session, key: ThreadKey) -> int | None:
        """Return a thread's number, or ``None`` when it stores nothing."""
        row = self.look(session, key)
        return None if row is None else row[0]

    def look(self, session: Session, key: ThreadKey) -> tuple[int, int | None] | None:
        """Return a thread's number, and when what had its names before was erased."""
        number = self._numbers.get(key)
        # It may have been erased, and made again under another number, by another process.
        if number is not None:
            row = session.one("has_thread", (number,))
            if row is not None:
                self._numbers.move_to_end(key)
                return number, row[0]
        self._numbers.pop(key, None)
        found: tuple[int, int | None] | None = session.one("find_thread", key)
        if found is None:
            return None
        self._numbers[key] = found[0]
        if len(self._numbers) > THREADS_REMEMBERED:
            self._numbers.popitem(last=False)
        return found

    def find_or_add(self, session: Session, thread: Thread) -> int:
        """Return a thread's number, a new one where it stores nothing yet."""
        number = self.find(session, thread.key)
        return self.add(session, thread) if number is None else number

    def add(self, session: Session, thread: Thread) -> int:
        """Give a thread that stores nothing yet its number."""
        session.run("add_thread", (*thread.key, thread.mark))
        return int(session.one("find_thread", thread.key)[0])

    def forget_all(self) -> None:
        """Forget: numbers given in a transaction that was undone are given again."""
        self._numbers.clear()


@dataclass(frozen=True, slots=True)
class Insertion:
    """A batch, ready to be written: calling it is the unit of work.

    Attributes:
        threads: Shared by the store's insertions.
        thread: Whose documents.
        touched: Seconds since 1970, for addressed documents.
        requires: Rows that must be there, as (collection, key).
        after: Checkpoints it belongs to, each with when it was made.
        lease: The token that must be the thread's lease's, if any.
        addressed: Rows written where absent, in order.
        keyed: The same for the other collections, as (collection, key, row).
        put_addressed: Rows that replace what is there.
        put_keyed: The same for the other collections, by collection.
    """

    threads: Threads
    thread: Thread
    touched: int
    requires: Sequence[tuple[str, Key]]
    after: Sequence[tuple[Key, int]]
    lease: int | None
    addressed: Sequence[AddressedRow]
    keyed: Sequence[tuple[str, Key, tuple[Any, ...]]]
    put_addressed: Sequence[AddressedRow]
    put_keyed: Mapping[str, Sequence[tuple[Any, ...]]]

    def __call__(self, session: Session) -> Inserted:
        """Write the batch."""
        if self.lease is not None and session.one("find_lease", self.thread.key) != (self.lease,):
            return Inserted(written=False, stale=True)
        known = self.threads.look(session, self.thread.key)
        if self.after and self._is_erased(session, known):
            return Inserted(written=False, erased=True)
        if self.requires and not self._has_required(session, known):
            return Inserted(written=False)
        tid = self.threads.add(session, self.thread) if known is None else known[0]
        self._add_addressed(session, tid)
        present = [
            (collection, key)
            for collection, key, row in self.keyed
            if not session.run(_ADD[collection], (tid, *row))
        ]
        self._put_addressed(session, tid)
        for collection, rows in self.put_keyed.items():
            session.run_many(_PUT[collection], [(tid, *row) for row in rows])
        return Inserted(present=present)

    def _has_required(self, session: Session, known: tuple[int, int | None] | None) -> bool:
        return known is not None and all(_has(session, known[0], *each) for each in self.requires)

    def _is_erased(self, session: Session, known: tuple[int, int | None] | None) -> bool:
        if known is None:
            mark = session.one("find_erasure", (self.thread.mark,))
            return mark is not None and any(made_at <= mark[0] for _, made_at in self.after)
        tid, erased_at = known
        return erased_at is not None and not all(
            made_at > erased_at or _has(session, tid, CHECKPOINTS, key)
            for key, made_at in self.after
        )

    def _add_addressed(self, session: Session, tid: int) -> None:
        # In order: of two documents with one address the first is kept.
        plain: list[tuple[Any, ...]] = []
        for row in self.addressed:
            if row.metadata is None:
                plain.append(row.values(tid, self.touched))
                continue
            if plain:
                session.run_many("add_documents", plain)
                plain = []
            if session.run("add_absent_document", row.values(tid, self.touched)):
                session.run("add_metadata", (tid, row.ref, row.metadata))
            else:
                session.run("touch_document", (self.touched, tid, row.ref))
        if plain:
            session.run_many("add_documents", plain)

    def _put_addressed(self, session: Session, tid: int) -> None:
        if not self.put_addressed:
            return
        session.run_many(
            "put_documents", [row.values(tid, self.touched) for row in self.put_addressed]
        )
        for row in self.put_addressed:
            session.run("remove_metadata", (tid, row.ref))
            if row.metadata is not None:
                session.run("add_metadata", (tid, row.ref, row.metadata))


def insertion(
    threads: Threads, scope: Scope, thread_id: str, batch: Batch, *, touched: int
) -> Insertion:
    """Make a checked batch ready to be written."""
    put_keyed: dict[str, list[tuple[Any, ...]]] = {}
    for document in batch.replacing:
        if document.collection not in KIND_OF:
            put_keyed.setdefault(document.collection, []).append(keyed_row(document))
    return Insertion(
        threads=threads,
        thread=Thread.of(scope, thread_id),
        touched=touched,
        requires=batch.requires,
        after=batch.after,
        lease=batch.lease,
        addressed=_addressed_rows(batch.documents),
        keyed=[
            (document.collection, document.key, keyed_row(document))
            for document in batch.documents
            if document.collection not in KIND_OF
        ],
        put_addressed=_addressed_rows(batch.replacing),
        put_keyed=put_keyed,
    )


def remove(
    session: Session, threads: Threads, thread: ThreadKey, documents: Iterable[tuple[str, Key]]
) -> int:
    """Delete documents; answer with how many were there."""
    tid = threads.find(session, thread)
    if tid is None:
        return 0
    return sum(_remove(session, tid, collection, key) for collection, key in documents)


def erase(session: Session, threads: Threads, thread: ThreadKey) -> int:
    """Delete all of a thread; answer with how many documents there were."""
    tid = threads.find(session, thread)
    if tid is None:
        return 0
    tables = ("erase_checkpoints", "erase_writes", "erase_documents")
    gone = sum(session.run(name, (tid,)) for name in tables)
    session.run("erase_metadata", (tid,))
    session.run("erase_thread", (tid,))
    return gone


def _addressed_rows(documents: Sequence[Document]) -> list[AddressedRow]:
    return [AddressedRow.of(each) for each in documents if each.collection in KIND_OF]


def _has(session: Session, tid: int, collection: str, key: Key) -> bool:
    packed = pack_key(collection, key)
    if collection in KIND_OF:
        return session.one("has_document", (tid, *packed, *kinds_of(collection))) is not None
    return session.one(_HAS[collection], (tid, *packed)) is not None


def _remove(session: Session, tid: int, collection: str, key: Key) -> int:
    packed = pack_key(collection, key)
    if collection not in KIND_OF:
        return session.run(_REMOVE[collection], (tid, *packed))
    gone = session.run("remove_documents", (tid, *packed, *kinds_of(collection)))
    if gone and collection == BLOBS:
        session.run("remove_metadata", (tid, *packed))
    return gone
