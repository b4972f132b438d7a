"""The document store in a PostgreSQL database: both faces, over the same operations."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from threadkeep.drivers.postgres import document_reads as reads
from threadkeep.drivers.postgres import document_writes as writes
from threadkeep.drivers.postgres import whole_threads as whole
from threadkeep.drivers.postgres.batch_statements import BatchStatements
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.queries import Operation, Unit
from threadkeep.drivers.sql.staged import StagedJob
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

MINUTE_SECONDS = 60
TAKER_BYTES = 16  # random: no two calls that take a lease have the same


class _Documents:
    """Checked requests as operations: what the two faces share."""

    def __init__(self, database: PostgresDatabase, clock: Clock, max_body_bytes: int) -> None:
        self.max_body_bytes = max_body_bytes
        self._clock = clock
        self._threads = writes.Threads()
        self._reads = database.load("document_reads.sql")
        self._writes = database.load("document_writes.sql")
        self._wholes = {**self._writes, **database.load("whole_threads.sql")}
        self._batches = BatchStatements(self._writes)

    def insert(self, scope: Scope, batch: Batch) -> Operation[Inserted]:
        thread_id = check_batch(batch, self.max_body_bytes)
        check_scope(scope, thread_id)
        if thread_id is None:
            return Operation("insert", writes.nothing)
        insertions = writes.insertions(
            self._batches, self._threads, scope, thread_id, batch, touched=self._minute()
        )
        unit = partial(writes.run_all, insertions)
        return Operation("insert", unit, atomic=len(insertions) > 1)

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool
    ) -> Operation[Fetched]:
        check_scope(scope, thread_id)
        check_refs(refs)
        unit = partial(reads.fetch, self._reads, scope, thread_id, tuple(refs), nodes=nodes)
        return Operation("fetch", unit)

    def prepare(self) -> Unit[None]:
        return reads.prepare(self._reads)

    def find(self, scope: Scope, find: Find) -> Operation[Page]:
        check_scope(scope, find.thread_id)
        check_find(find)
        return Operation("find", partial(reads.find, self._reads, scope, find))

    def count(self, scope: Scope, find: Find) -> Operation[int]:
        check_scope(scope, find.thread_id)
        check_find(find)
        return Operation("count", partial(reads.count, self._reads, scope, find))

    def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> Operation[int]:
        check_scope(scope, thread_id)
        check_keys(documents)
        unit = partial(writes.remove, self._writes, scope, thread_id, tuple(documents))
        return Operation("remove", unit)

    def erase(self, scope: Scope, thread_id: str) -> Operation[int]:
        check_scope(scope, thread_id)
        now = ticks_of(self._clock.now())
        unit = partial(whole.erase, self._wholes, scope, thread_id, now=now)
        return Operation("erase", unit, atomic=True)

    def copy(self, scope: Scope, source: str, target: str) -> Operation[int]:
        check_scope(scope, source)
        check_scope(scope, target)
        unit = partial(whole.copy, self._wholes, scope, source, target, touched=self._minute())
        return Operation("copy", unit, atomic=True)

    def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Operation[Pruned]:
        check_scope(scope, thread_id)
        check_pruning(pruning)
        unit = partial(whole.prune, self._wholes, scope, thread_id, pruning)
        return Operation("prune", unit, atomic=True)

    def lease(self, scope: Scope, thread_id: str, seconds: float) -> Operation[int | None]:
        check_scope(scope, thread_id)
        times = {"now": self._now_ms(), "ends_at": self._now_ms() + int(seconds * 1000)}
        taker = secrets.token_bytes(TAKER_BYTES)
        unit = partial(whole.lease, self._wholes, scope, thread_id, {**times, "taker": taker})
        return Operation("lease", unit, atomic=True)

    def extend_lease(
        self, scope: Scope, thread_id: str, token: int, seconds: float
    ) -> Operation[bool]:
        check_scope(scope, thread_id)
        given = {"token": token, "ends_at": self._now_ms() + int(seconds * 1000)}
        unit = partial(whole.extend_lease, self._wholes, scope, thread_id, given)
        return Operation("extend_lease", unit)

    def release_lease(self, scope: Scope, thread_id: str, token: int) -> Operation[None]:
        check_scope(scope, thread_id)
        unit = partial(whole.release_lease, self._wholes, scope, thread_id, token)
        return Operation("release_lease", unit)

    def measure(self, scope: Scope, thread_id: str) -> Operation[Mapping[str, Usage]]:
        check_scope(scope, thread_id)
        return Operation("measure", partial(reads.measure, self._reads, scope, thread_id))

    def _minute(self) -> int:
        return int(self._clock.now().timestamp()) // MINUTE_SECONDS

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)


class PostgresDocumentStore:
    """The blocking face; it runs on the calling thread."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        clock: Clock | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._database = database
        self._documents = _Documents(database, clock or SystemClock(), max_body_bytes)

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return self._documents.max_body_bytes

    def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        self._database.setup(self._documents.prepare)

    def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        return self._database.run(self._documents.insert(scope, batch))

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        return self._database.run(self._documents.fetch(scope, thread_id, refs, nodes=nodes))

    def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return self._database.run(self._documents.find(scope, find))

    def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return self._database.run(self._documents.count(scope, find))

    def remove(self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]) -> int:
        """See ``DocumentStore.remove``; after a lost connection it may count too few."""
        return self._database.run(self._documents.remove(scope, thread_id, documents))

    def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``; after a lost connection it may count too few.

        The database overwrites what is erased when it next vacuums the tables.
        """
        return self._database.run(self._documents.erase(scope, thread_id))

    def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``; after a lost connection it may count too few."""
        return self._database.run(self._documents.copy(scope, source, target))

    def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``; after a lost connection it may count too few."""
        return self._database.run(self._documents.prune(scope, thread_id, pruning))

    def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return self._database.run(self._documents.lease(scope, thread_id, seconds))

    def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        operation = self._documents.extend_lease(scope, thread_id, token, seconds)
        return self._database.run(operation)

    def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        self._database.run(self._documents.release_lease(scope, thread_id, token))

    def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return self._database.run(self._documents.measure(scope, thread_id))

    def close(self) -> None:
        """See ``DocumentStore.close``; closes the connections of all that share them."""
        self._database.close()


def _following(after: Staged, unit: Callable[[], Unit[Inserted]]) -> Unit[Inserted]:
    """Write a batch where the one it relies on is written; what that one raised is raised."""
    before = after.so_far()
    if before is None or not before.written:
        return Inserted(written=False)
    return (yield from unit())


class AsyncPostgresDocumentStore:
    """The awaiting face, with staging; inserts join the shared writer's next transaction."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        clock: Clock | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._database = database
        self._documents = _Documents(database, clock or SystemClock(), max_body_bytes)

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return self._documents.max_body_bytes

    async def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        await self._database.asetup(self._documents.prepare)

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        return await self._database.write(self._documents.insert(scope, batch))

    def stage(
        self, scope: Scope, batch: Batch, *, within_seconds: float, after: Staged | None = None
    ) -> Staged:
        """See ``StagingDocumentStore.stage``."""
        operation = self._documents.insert(scope, batch)
        if after is not None:
            operation = replace(operation, unit=partial(_following, after, operation.unit))
        return StagedJob(self._database.stage(operation, within_seconds=within_seconds))

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        return await self._database.arun(self._documents.fetch(scope, thread_id, refs, nodes=nodes))

    async def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return await self._database.arun(self._documents.find(scope, find))

    async def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return await self._database.arun(self._documents.count(scope, find))

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        """See ``PostgresDocumentStore.remove``."""
        return await self._database.arun(self._documents.remove(scope, thread_id, documents))

    async def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``PostgresDocumentStore.erase``."""
        return await self._database.arun(self._documents.erase(scope, thread_id))

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``PostgresDocumentStore.copy``."""
        return await self._database.arun(self._documents.copy(scope, source, target))

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``PostgresDocumentStore.prune``."""
        return await self._database.arun(self._documents.prune(scope, thread_id, pruning))

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return await self._database.arun(self._documents.lease(scope, thread_id, seconds))

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        operation = self._documents.extend_lease(scope, thread_id, token, seconds)
        return await self._database.arun(operation)

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        await self._database.arun(self._documents.release_lease(scope, thread_id, token))

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return await self._database.arun(self._documents.measure(scope, thread_id))

    async def close(self) -> None:
        """See ``DocumentStore.close``; closes the connections of all that share them."""
        await self._database.aclose()
