"""A document store for one run under durability ``async``: its inserts return at once.

    staged = StagedDocuments(store)
    await staged.insert(scope, batch)      # taken, committed within LINGER_SECONDS
    await staged.flush()                   # everything is durable now, or the first failure raises

Reads pass through, and see what was staged. One object serves one run on one event loop.
"""

from collections.abc import Mapping, Sequence

from threadkeep.errors import LeaseLostError, NotFoundError, UnavailableError
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
from threadkeep.ports.staging import Staged, StagingDocumentStore

LINGER_SECONDS = 0.010  # a run's steps share a transaction; a kill loses at most this much


class StagedDocuments:
    """An ``AsyncDocumentStore`` over a staging one."""

    def __init__(self, store: StagingDocumentStore) -> None:
        self._store = store
        self._pending: list[tuple[str, Staged]] = []
        self._last: Staged | None = None
        self._failure: Exception | None = None  # the first; nothing that follows it is whole

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return self._store.max_body_bytes

    async def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        await self._store.setup()

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """Stage a batch; a required document that is absent shows in ``flush`` only.

        Each batch relies on the one before it: once one is lost, none that follows is written.

        Raises:
            NotFoundError: A batch before it was lost, as ``flush`` says; so for StorageError.
        """
        if self._failure is not None:
            raise self._failure
        staged = self._store.stage(scope, batch, within_seconds=LINGER_SECONDS, after=self._last)
        self._last = staged
        self._pending.append((_thread_of(batch), staged))
        return Inserted()

    async def flush(self) -> None:
        """Wait until everything staged is durable.

        Raises:
            NotFoundError: A batch was not written, because its thread or the checkpoint it
                follows was deleted meanwhile.
            LeaseLostError: A batch was not written, because its lease had passed to another.
            StorageError: The backend failed. Of several failures the first is raised, after all
                batches were waited for; it is raised again each time.
        """
        while self._pending:
            thread_id, staged = self._pending[0]
            try:
                inserted = await staged.committed()
                if inserted.stale:
                    raise LeaseLostError(thread_id)
                if not inserted.written:
                    raise NotFoundError("thread", thread_id)
            except Exception as error:
                self._failure = self._failure or error
            self._pending.pop(0)
        if self._failure is not None:
            raise self._failure

    def check(self) -> None:
        """Refuse unless all that was staged is durable, or becomes so with this transaction.

        Never waits; to be called inside a unit of work handed over after it, see ``Staged``.

        Raises:
            NotFoundError: As ``flush``; so for LeaseLostError and StorageError.
            UnavailableError: It is too early to know.
        """
        if self._failure is not None:
            raise self._failure
        for thread_id, staged in self._pending:
            inserted = staged.so_far()
            if inserted is None:
                raise UnavailableError("what a run wrote is not committed yet")
            if inserted.stale:
                raise LeaseLostError(thread_id)
            if not inserted.written:
                raise NotFoundError("thread", thread_id)

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        return await self._store.fetch(scope, thread_id, refs, nodes=nodes)

    async def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return await self._store.find(scope, find)

    async def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return await self._store.count(scope, find)

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        """See ``DocumentStore.remove``."""
        return await self._store.remove(scope, thread_id, documents)

    async def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        return await self._store.erase(scope, thread_id)

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        return await self._store.copy(scope, source, target)

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        return await self._store.prune(scope, thread_id, pruning)

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return await self._store.lease(scope, thread_id, seconds)

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        return await self._store.extend_lease(scope, thread_id, token, seconds)

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        await self._store.release_lease(scope, thread_id, token)

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return await self._store.measure(scope, thread_id)

    async def close(self) -> None:
        """Wait for what was staged; the store beneath belongs to whoever opened it."""
        await self.flush()


def _thread_of(batch: Batch) -> str:
    return next((document.thread_id for document in (*batch.documents, *batch.replacing)), "")
