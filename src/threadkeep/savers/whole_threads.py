"""The saver's methods that concern whole threads or runs: delete, copy, prune, lease."""

import time
from collections.abc import Sequence
from datetime import timedelta

from threadkeep.checkpoints.prune import Retention, delete_for_runs, prune
from threadkeep.checkpoints.strays import sweep
from threadkeep.checkpoints.threads import copy_thread, delete_thread
from threadkeep.errors import InvalidRequestError
from threadkeep.model.uuid_times import TICKS_PER_SECOND, ticks
from threadkeep.savers.addresses import thread_id_of
from threadkeep.savers.driving import Driving
from threadkeep.savers.leases import SECONDS, Lease

UNCLAIMED = timedelta(days=1)  # how long pending writes wait for their checkpoint
KEEP_LATEST = "keep_latest"
DELETE = "delete"


class WholeThreads(Driving):
    """A part of ``DocumentCheckpointSaver``."""

    def delete_thread(self, thread_id: str) -> None:
        """Delete all that is stored of a thread; an unknown thread is no error.

        A write of this process that belongs to what was deleted is refused afterwards.
        """
        thread_id = thread_id_of(thread_id)
        self._known.forget(thread_id, ticks(time.time_ns()))
        self._run(delete_thread(thread_id))
        self._known.forget(thread_id, ticks(time.time_ns()))

    async def adelete_thread(self, thread_id: str) -> None:
        """See ``delete_thread``."""
        thread_id = thread_id_of(thread_id)
        self._known.forget(thread_id, ticks(time.time_ns()))
        await self._arun(delete_thread(thread_id))
        self._known.forget(thread_id, ticks(time.time_ns()))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread, with their ids, parents and pending writes.

        Values are not rewritten where the store can copy them. What the target has under the same
        id stays as it is. An unknown source is no error.
        """
        source, target = thread_id_of(source_thread_id), thread_id_of(target_thread_id)
        self._run(copy_thread(source, target))
        self._known.begin_anew(target)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See ``copy_thread``."""
        source, target = thread_id_of(source_thread_id), thread_id_of(target_thread_id)
        await self._arun(copy_thread(source, target))
        self._known.begin_anew(target)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs with their writes, in all threads.

        A run's checkpoint stays as long as the value of another one's ``DeltaChannel`` is made
        from it. A checkpoint whose parent goes has none afterwards. Unknown ids are no error.

        Raises:
            UnavailableError: A thread was forked at what was to go, again and again.
        """
        self._run(delete_for_runs(_ids("run_ids", run_ids), self._codec()))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See ``delete_for_runs``."""
        await self._arun(delete_for_runs(_ids("run_ids", run_ids), self._codec()))

    def lease(self, thread_id: str, *, seconds: float = SECONDS) -> Lease:
        """Lease a thread to this context, for ``with`` and for ``async with``.

        What is put under an older lease is refused from then on; what is put under none is not.

        Args:
            thread_id: The thread; it may store nothing yet.
            seconds: When another may take it; see ``Lease.extend``.

        Raises:
            LeaseHeldError: On entering: another has it.
            InvalidRequestError: No time to lease it for.
        """
        if not seconds > 0:
            raise InvalidRequestError(f"a lease lasts more than 0 seconds, not {seconds!r}")
        return Lease(self, self._known, thread_id_of(thread_id), seconds)

    def sweep(self, *, older_than: timedelta = UNCLAIMED) -> int:
        """Delete pending writes whose checkpoint never came, in all threads.

        Writes may come before their checkpoint, and are not read before it is there; those of one
        that was made so long ago and is not stored are left from a run that ended in between. Only
        keys are read, a page at a time, and each thread is swept in a transaction of its own.

        Returns:
            How many batches of writes are gone.
        """
        return self._run(sweep(ticks(time.time_ns()) - _ticks(older_than)))

    async def asweep(self, *, older_than: timedelta = UNCLAIMED) -> int:
        """See ``sweep``."""
        return await self._arun(sweep(ticks(time.time_ns()) - _ticks(older_than)))

    def prune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = KEEP_LATEST,
        keep_last: int = 1,
        older_than: timedelta | None = None,
    ) -> None:
        """Delete old checkpoints of some threads, and all that only they hold.

        The newest ``keep_last`` checkpoints of each namespace stay, with their pending writes, and
        so does every ancestor that the value of a ``DeltaChannel`` of theirs is made from. The
        namespace of a subgraph's call goes with the root checkpoint it ran under. A checkpoint
        whose parent goes has none afterwards. Runs may go on meanwhile; each thread is pruned in
        a transaction of its own. A thread of which something goes is swept too; see ``sweep``.

        Args:
            thread_ids: The threads; unknown ones are no error.
            strategy: ``"keep_latest"`` for the above, ``"delete"`` to delete the threads.
            keep_last: How many checkpoints of each namespace stay.
            older_than: Only what was made so long ago goes; what tells no time stays.

        Raises:
            TypeError: ``thread_ids`` is one string.
            InvalidRequestError: An unknown strategy, or limits that it does not take.
            UnavailableError: A thread was forked at what was to go, again and again.
        """
        threads, retention = _ids("thread_ids", thread_ids), _retention(keep_last, older_than)
        if not _deletes(strategy, keep_last, older_than):
            for thread_id in threads:
                if self._run(prune(thread_id, retention, self._codec())).checkpoints:
                    self._run(sweep(ticks(time.time_ns()) - _ticks(UNCLAIMED), thread_id))
            return
        for thread_id in threads:
            self.delete_thread(thread_id)

    async def aprune(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = KEEP_LATEST,
        keep_last: int = 1,
        older_than: timedelta | None = None,
    ) -> None:
        """See ``prune``."""
        threads, retention = _ids("thread_ids", thread_ids), _retention(keep_last, older_than)
        if not _deletes(strategy, keep_last, older_than):
            for thread_id in threads:
                if (await self._arun(prune(thread_id, retention, self._codec()))).checkpoints:
                    await self._arun(sweep(ticks(time.time_ns()) - _ticks(UNCLAIMED), thread_id))
            return
        for thread_id in threads:
            await self.adelete_thread(thread_id)


def _ids(name: str, given: Sequence[str]) -> list[str]:
    if isinstance(given, str):
        raise TypeError(f"{name} is a sequence of ids, not one str")
    return [str(each) for each in given]


def _deletes(strategy: str, keep_last: int, older_than: timedelta | None) -> bool:
    if strategy not in (KEEP_LATEST, DELETE):
        raise InvalidRequestError(f"strategy is {KEEP_LATEST!r} or {DELETE!r}, not {strategy!r}")
    if strategy == DELETE and (keep_last != 1 or older_than is not None):
        raise InvalidRequestError(f"strategy {DELETE!r} keeps nothing: leave out the limits")
    return strategy == DELETE


def _retention(keep_last: int, older_than: timedelta | None) -> Retention:
    if type(keep_last) is not int or keep_last < 1:
        raise InvalidRequestError(f"keep_last is an integer from 1, not {keep_last!r}")
    if older_than is None:
        return Retention(keep_last)
    return Retention(keep_last, ticks(time.time_ns()) - _ticks(older_than))


def _ticks(age: timedelta) -> int:
    return int(age.total_seconds() * TICKS_PER_SECOND)
