"""The document store in a SQLite file: both faces, over one database and one writer."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from threadkeep.drivers.sql.staged import StagedJob
from threadkeep.drivers.sqlite import document_reads as reads
from threadkeep.drivers.sqlite import document_threads as whole
from threadkeep.drivers.sqlite import document_writes as writes
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.document_rows import pack_scope
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.model.uuid_times import ticks_of
from threadkeep.ports.clock import Clock, SystemClock
from threadkeep.ports.documents import (
    Batch,
    Fetched,
    Find,
    Inserted,
    Key,
    Page,
    Pruned,
    Pruning,
    Scope,
    Usage,
)
from threadkeep.ports.staging import Staged
from threadkeep.rules.document_checks import (
    MAX_BODY_BYTES,
    check_batch,
    check_find,
    check_keys,
    check_pruning,
    check_refs,
    check_scope,
)


class _Documents:
    """Checked requests as units of work: what the two faces share."""

    def __init__(self, database: SqliteDatabase, clock: Clock) -> None:
        self._clock = clock
        self._threads = writes.Threads()
        database.load("threadkeep.drivers.sqlite", "documents.sql")
        database.load("threadkeep.drivers.sqlite", "document_threads.sql")
        database.on_rollback(self._threads.forget_all)

    def insert(self, scope: Scope, batch: Batch) -> writes.Insertion | None:
        thread_id = check_batch(batch, MAX_BODY_BYTES)
        check_scope(scope, thread_id)
        if thread_id is None:
            return None
        touched = int(self._clock.now().timestamp())
        return writes.insertion(self._threads, scope, thread_id, batch, touched=touched)

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool
    ) -> "partial[Fetched]":
        check_scope(scope, thread_id)
        check_refs(refs)
        return partial(reads.fetch, scope=scope, thread_id=thread_id, refs=tuple(refs), nodes=nodes)

    def find(self, scope: Scope, find: Find) -> "partial[Page]":
        check_scope(scope, find.thread_id)
        check_find(find)
        return partial(reads.find, scope=scope, wanted=find)

    def count(self, scope: Scope, find: Find) -> "partial[int]":
        check_scope(scope, find.thread_id)
        check_find(find)
        return partial(reads.count, scope=scope, wanted=find)

    def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> "partial[int]":
        check_scope(scope, thread_id)
        check_keys(documents)
        return partial(
            writes.remove,
            threads=self._threads,
            thread=pack_scope(scope, thread_id),
            documents=tuple(documents),
        )

    def erase(self, scope: Scope, thread_id: str) -> Callable[[Session], int]:
        check_scope(scope, thread_id)
        thread, now = writes.Thread.of(scope, thread_id), ticks_of(self._clock.now())

        def work(session: Session) -> int:
            gone = writes.erase(session, self._threads, thread.key)
            if gone:
                whole.remember_erasure(session, thread.mark, now)
            return gone

        return work

    def copy(self, scope: Scope, source: str, target: str) -> "partial[int]":
        check_scope(scope, source)
        check_scope(scope, target)
        return partial(
            whole.copy,
            threads=self._threads,
            source=writes.Thread.of(scope, source),
            target=writes.Thread.of(scope, target),
            touched=self._now_ms() // 1000,
        )

    def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> "partial[Pruned]":
        check_scope(scope, thread_id)
        check_pruning(pruning)
        thread = pack_scope(scope, thread_id)
        return partial(whole.prune, threads=self._threads, thread=thread, pruning=pruning)

    def lease(self, scope: Scope, thread_id: str, seconds: float) -> "partial[int | None]":
        check_scope(scope, thread_id)
        now = self._now_ms()
        ends_at = now + int(seconds * 1000)
        return partial(whole.lease, thread=pack_scope(scope, thread_id), now=now, ends_at=ends_at)

    def extend_lease(
        self, scope: Scope, thread_id: str, token: int, seconds: float
    ) -> "partial[bool]":
        check_scope(scope, thread_id)
        ends_at = self._now_ms() + int(seconds * 1000)
        thread = pack_scope(scope, thread_id)
        return partial(whole.extend_lease, thread=thread, token=token, ends_at=ends_at)

    def release_lease(self, scope: Scope, thread_id: str, token: int) -> "partial[None]":
        check_scope(scope, thread_id)
        return partial(whole.release_lease, thread=pack_scope(scope, thread_id), token=token)

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)

    def measure(self, scope: Scope, thread_id: str) -> "partial[Mapping[str, Usage]]":
        check_scope(scope, thread_id)
        return partial(reads.measure, scope=scope, thread_id=thread_id)


def _nothing(_: Session) -> Inserted:
    return Inserted()


def _following(session: Session, *, after: Staged, work: Callable[[Session], Inserted]) -> Inserted:
    """Write a batch where the one it relies on is written; what that one raised is raised."""
    before = after.so_far()
    if before is None or not before.written:
        return Inserted(written=False)
    return work(session)


class SqliteDocumentStore:
    """The blocking face; it runs on the calling thread."""

    def __init__(self, database: SqliteDatabase, *, clock: Clock | None = None) -> None:
        self._database = database
        self._documents = _Documents(database, clock or SystemClock())

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return MAX_BODY_BYTES

    def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        self._database.setup_now()
        self._database.read_now(reads.prepare)

    def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        return self._database.write_now(self._documents.insert(scope, batch) or _nothing)

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        return self._database.read_now(self._documents.fetch(scope, thread_id, refs, nodes=nodes))

    def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return self._database.read_now(self._documents.find(scope, find))

    def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return self._database.read_now(self._documents.count(scope, find))

    def remove(self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]) -> int:
        """See ``DocumentStore.remove``."""
        return self._database.write_now(self._documents.remove(scope, thread_id, documents))

    def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        return self._database.write_now(self._documents.erase(scope, thread_id), scrub=True)

    def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        return self._database.write_now(self._documents.copy(scope, source, target))

    def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        return self._database.write_now(self._documents.prune(scope, thread_id, pruning))

    def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return self._database.write_now(self._documents.lease(scope, thread_id, seconds))

    def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        work = self._documents.extend_lease(scope, thread_id, token, seconds)
        return self._database.write_now(work)

    def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        self._database.write_now(self._documents.release_lease(scope, thread_id, token))

    def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return self._database.read_now(self._documents.measure(scope, thread_id))

    def close(self) -> None:
        """See ``DocumentStore.close``; closes the file for all that share it."""
        self._database.close()


class AsyncSqliteDocumentStore:
    """The awaiting face, with staging; writes join the shared writer's next transaction."""

    def __init__(self, database: SqliteDatabase, *, clock: Clock | None = None) -> None:
        self._database = database
        self._documents = _Documents(database, clock or SystemClock())

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return MAX_BODY_BYTES

    async def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        await self._database.setup()
        await self._database.read_soon(reads.prepare)

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        return await self._database.write_soon(self._documents.insert(scope, batch) or _nothing)

    def stage(
        self, scope: Scope, batch: Batch, *, within_seconds: float, after: Staged | None = None
    ) -> Staged:
        """See ``StagingDocumentStore.stage``."""
        work: Callable[[Session], Inserted] = self._documents.insert(scope, batch) or _nothing
        if after is not None:
            work = partial(_following, after=after, work=work)
        return StagedJob(self._database.stage(work, within_seconds=within_seconds))

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        work = self._documents.fetch(scope, thread_id, refs, nodes=nodes)
        return await self._database.read_soon(work)

    async def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return await self._database.read_soon(self._documents.find(scope, find))

    async def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return await self._database.read_soon(self._documents.count(scope, find))

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        """See ``DocumentStore.remove``."""
        return await self._database.write_soon(self._documents.remove(scope, thread_id, documents))

    async def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        work = self._documents.erase(scope, thread_id)
        return await self._database.write_soon(work, scrub=True)

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        return await self._database.write_soon(self._documents.copy(scope, source, target))

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        return await self._database.write_soon(self._documents.prune(scope, thread_id, pruning))

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return await self._database.write_soon(self._documents.lease(scope, thread_id, seconds))

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        work = self._documents.extend_lease(scope, thread_id, token, seconds)
        return await self._database.write_soon(work)

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        await self._database.write_soon(self._documents.release_lease(scope, thread_id, token))

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return await self._database.read_soon(self._documents.measure(scope, thread_id))

    async def close(self) -> None:
        """See ``DocumentStore.close``; closes the file for all that share it."""
        await self._database.close_soon()
