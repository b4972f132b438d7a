"""What one run has staged: in which order, what became of it, and what is to be written again.

A batch is planned when it is staged and committed a moment later. If what it relies on was pruned
in between, it is not written, and neither is anything the run staged after it. Then the writes that
these batches belong to are planned anew, in order, each waiting for its commit: they find what is
gone and write everything. Where the thread was deleted they are refused.

Source: decision 0018.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass

from threadkeep.errors import LeaseLostError, NotFoundError, UnavailableError
from threadkeep.ports.documents import Batch, Inserted, Scope
from threadkeep.ports.staging import Staged, StagingDocumentStore

LINGER_SECONDS = 0.010  # a run's steps share a transaction; a kill loses at most this much


class PlannedTooEarlyError(Exception):
    """What a write relies on is being written anew; it must be planned anew after that."""


class Write:
    """One put, or one put_writes, of a run.

    Attributes:
        again: Plans and writes it, and waits for its commit.
        planned: How often the run had to write anew when it was planned.
    """

    __slots__ = ("again", "planned")

    def __init__(self, again: Callable[[], Awaitable[None]], planned: int) -> None:
        self.again = again
        self.planned = planned


@dataclass(frozen=True, slots=True)
class _Pending:
    write: Write
    thread_id: str
    staged: Staged

    def is_pruned(self, inserted: Inserted) -> bool:
        """Tell whether a batch is not written because something it requires is gone.

        Raises:
            NotFoundError: Because its thread was deleted.
            LeaseLostError: Because of its lease.
        """
        if inserted.stale:
            raise LeaseLostError(self.thread_id)
        if inserted.erased:
            raise NotFoundError("thread", self.thread_id)
        return not inserted.written


class StagedRun:
    """The batches of one run, on one event loop.

    Args:
        store: Where they go.
        doubt: Called when something was not written that may have been taken for stored.
    """

    def __init__(self, store: StagingDocumentStore, doubt: Callable[[], None]) -> None:
        self.store = store
        self._doubt = doubt
        self._pending: deque[_Pending] = deque()
        self._last: Staged | None = None
        self._failure: Exception | None = None  # the first; nothing that follows it is whole
        self._mending: asyncio.Task[None] | None = None
        self._mended = 0

    def write(self, again: Callable[[], Awaitable[None]]) -> Write:
        """Begin a write that is about to be planned."""
        return Write(again, self._mended)

    async def stage(self, scope: Scope, batch: Batch, write: Write) -> None:
        """Hand a batch over, after all that the run staged before it.

        Raises:
            PlannedTooEarlyError: What came before it had to be written anew since it was planned.
            NotFoundError: A batch before it was lost, as ``flush`` says; so for StorageError.
        """
        while await self.mended():
            pass
        if self._failure is not None:
            raise self._failure
        if write.planned != self._mended:
            raise PlannedTooEarlyError
        staged = self.store.stage(scope, batch, within_seconds=LINGER_SECONDS, after=self._last)
        self._last = staged
        self._pending.append(_Pending(write, _thread_of(batch), staged))
        staged.when_known(self._look)

    async def mended(self) -> bool:
        """Wait until nothing has to be written anew, as far as is known; tell whether it had to."""
        self._look()
        if self._mending is None:
            return False
        await asyncio.shield(self._mending)
        return True

    async def flush(self) -> None:
        """Wait until everything staged is durable; see ``StagedDocuments.flush``."""
        while self._pending or self._mending is not None:
            if not await self.mended() and self._pending:
                with suppress(Exception):  # it is taken in with the rest of what became of it
                    await self._pending[0].staged.committed()
        if self._failure is not None:
            raise self._failure

    def check(self) -> None:
        """Refuse unless everything staged is stored; see ``StagedDocuments.check``.

        May run on another thread than the loop's, which moves on meanwhile: what left
        ``_pending`` before it is read shows in what is read after it.
        """
        pending = tuple(self._pending)
        if self._mending is not None:
            raise UnavailableError("what a run wrote is being written anew")
        if self._failure is not None:
            raise self._failure
        for each in pending:
            inserted = each.staged.so_far()
            if inserted is None or each.is_pruned(inserted):
                raise UnavailableError("what a run wrote is not committed yet")

    def _look(self) -> None:
        """Take in what became of the first batches; what a prune undid is written anew."""
        while self._pending and self._mending is None:
            first = self._pending[0]
            try:
                inserted = first.staged.so_far()
                if inserted is None:
                    return
                if first.is_pruned(inserted) and self._failure is None:
                    self._mend()
                    return
            except Exception as error:
                self._failure = self._failure or error
            self._pending.popleft()

    def _mend(self) -> None:
        writes = list(dict.fromkeys(pending.write for pending in self._pending))
        # A context of its own: the run's must not be kept, nor taken for the caller's.
        self._mending = asyncio.get_running_loop().create_task(
            self._write_anew(writes), context=Context()
        )
        self._mended += 1
        self._last = None
        self._pending.clear()
        self._doubt()

    async def _write_anew(self, writes: list[Write]) -> None:
        try:
            for write in writes:
                await write.again()
        except asyncio.CancelledError:
            self._failure = UnavailableError(
                "what a run wrote was not written anew: it was cut off"
            )
            raise
        except Exception as error:
            self._failure = error
        finally:
            self._mending = None


def _thread_of(batch: Batch) -> str:
    return next((document.thread_id for document in (*batch.documents, *batch.replacing)), "")
