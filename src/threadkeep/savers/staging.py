"""A document store for one run under durability ``async``: its inserts return at once.

    staged = StagedDocuments(StagedRun(store, doubt))
    await arun(steps, staged.writing(again), scope)  # taken, committed within LINGER_SECONDS
    await staged.flush()                             # everything is durable now, or it raises

Reads pass through, and see what was staged. One run on one event loop.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from threadkeep.ports.documents import (
    AsyncDocumentStore,
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
from threadkeep.savers.staged_run import StagedRun, Write

T = TypeVar("T")


class StagedDocuments:
    """An ``AsyncDocumentStore`` over a staging one.

    Attributes:
        beneath: The store itself: what is inserted there is not staged.
    """

    def __init__(self, run: StagedRun, write: Write | None = None) -> None:
        self.beneath: AsyncDocumentStore = run.store
        self._run = run
        self._write = write

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return self.beneath.max_body_bytes

    def writing(self, again: Callable[[], Awaitable[None]]) -> "StagedDocuments":
        """Return the same for one write of the run; only that may insert.

        Args:
            again: Plans the write anew and carries it out on ``beneath``. Called where what it
                relies on was pruned before it was committed.
        """
        return StagedDocuments(self._run, self._run.write(again))

    async def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        await self.beneath.setup()

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """Stage a batch; a required document that is absent does not show.

        Each batch relies on the one before it: once one is lost, none that follows is written.

        Raises:
            PlannedTooEarlyError: See ``StagedRun.stage``; so for the other errors.
        """
        if self._write is None:
            return await self.beneath.insert(scope, batch)
        await self._run.stage(scope, batch, self._write)
        return Inserted()

    async def flush(self) -> None:
        """Wait until everything staged is durable.

        Raises:
            NotFoundError: A batch was not written, because its thread was deleted meanwhile; or
                the value of a ``DeltaChannel`` is made from a checkpoint that was pruned.
            LeaseLostError: A batch was not written, because its lease had passed to another.
            StorageError: The backend failed. Of several failures the first is raised, after all
                batches were waited for; it is raised again each time.
        """
        await self._run.flush()

    def check(self) -> None:
        """Refuse unless all that was staged is durable, or becomes so with this transaction.

        Never waits; to be called inside a unit of work handed over after it, see ``Staged``.

        Raises:
            NotFoundError: As ``flush``; so for LeaseLostError and StorageError.
            UnavailableError: It is too early to know, or something is to be written anew: flush.
        """
        self._run.check()

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        return await self._read(lambda: self.beneath.fetch(scope, thread_id, refs, nodes=nodes))

    async def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return await self._read(lambda: self.beneath.find(scope, find))

    async def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return await self._read(lambda: self.beneath.count(scope, find))

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        """See ``DocumentStore.remove``."""
        return await self.beneath.remove(scope, thread_id, documents)

    async def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        return await self.beneath.erase(scope, thread_id)

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        return await self.beneath.copy(scope, source, target)

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        return await self.beneath.prune(scope, thread_id, pruning)

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return await self.beneath.lease(scope, thread_id, seconds)

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        return await self.beneath.extend_lease(scope, thread_id, token, seconds)

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        await self.beneath.release_lease(scope, thread_id, token)

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return await self._read(lambda: self.beneath.measure(scope, thread_id))

    async def close(self) -> None:
        """Wait for what was staged; the store beneath belongs to whoever opened it."""
        await self.flush()

    async def _read(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Read, and once more where something staged before turns out to be written anew."""
        found = await ask()
        while await self._run.mended():
            found = await ask()
        return found
