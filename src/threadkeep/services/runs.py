"""Runs: made, waited for, streamed, joined, cancelled, listed.

A run is admitted by the process that was asked and executed there at once when a slot is free;
otherwise it is pending until some process claims it. No run executes in the task of the request
that asked for it, so a lost connection ends a run only where the caller said so.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from threadkeep.engine.executor import Executor
from threadkeep.engine.graphs import Graphs
from threadkeep.engine.identifiers import new_id
from threadkeep.errors import NotFoundError, ThreadkeepError
from threadkeep.model.queries import Listing, RunQuery
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import ACTIVE, CancelAction, Run, RunResult, RunStatus
from threadkeep.ports.bus import EventBus, Subscription
from threadkeep.ports.resources import ResourceStore
from threadkeep.services.admitting import Admitting
from threadkeep.services.streams import RunStream, told
from threadkeep.services.webhooks import Webhooks

T = TypeVar("T")

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # how often a run that executes in another process is looked up


class RunService:
    """Everything that is asked of runs, over HTTP or not.

    Attributes:
        admitting: Makes them.
        updates: The threads on which no run executes, because their state is being changed.
    """

    def __init__(
        self,
        resources: ResourceStore,
        executor: Executor,
        graphs: Graphs,
        bus: EventBus,
        *,
        webhooks: Webhooks,
        default_ttl_minutes: float | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self.updates = executor.updates
        self._resources = resources
        self._executor = executor
        self.admitting = Admitting(
            resources, executor, graphs, webhooks, bus, default_ttl_minutes=default_ttl_minutes
        )
        self._bus = bus
        self._poll_seconds = poll_seconds
        self._tasks: set[asyncio.Task[Any]] = set()

    async def create(self, request: RunRequest) -> Run:
        """Make a run and return at once; it is ``running`` already when a slot was free.

        Raises:
            NotFoundError: No such assistant (or graph), or no such thread.
            ThreadBusyError: ``multitask_strategy`` is ``reject`` and the thread has an active run.
            ThreadStatusError: The thread's status is not in ``thread_status_in``.
            NotSupportedError: ``multitask_strategy`` is ``rollback`` and the checkpointer cannot
                remove a run's checkpoints.
            InvalidRequestError: The webhook may not be called.
        """
        return await self._detached(self.admitting.begin(new_id(), request))

    async def wait(
        self, request: RunRequest, *, begun: Callable[[Run], None] | None = None
    ) -> RunResult:
        """Make a run and wait for its end.

        When the caller's task is cancelled meanwhile, the run goes on, or is cancelled too where
        ``on_disconnect`` is ``cancel``.

        Args:
            request: What to run.
            begun: Told the run once it is made, long before it has ended.

        Raises:
            NotFoundError: As ``create``; also ThreadBusyError and ThreadStatusError.
        """
        run_id = new_id()
        with self._executor.endings.watch(run_id) as ended:
            beginning = self._spawn(self.admitting.begin(run_id, request))
            try:
                run = await asyncio.shield(beginning)
                if begun is not None:
                    begun(run)
                return await self._end_of(run, ended)
            except asyncio.CancelledError:
                if request.on_disconnect == "cancel":
                    self._spawn(self._abandon(beginning))
                raise

    async def open_stream(self, request: RunRequest) -> RunStream:
        """Make a run and listen to it from its first event.

        Raises:
            NotFoundError: As ``create``; also ThreadBusyError and ThreadStatusError.
        """
        run_id = new_id()
        self._bus.open(run_id, keep=request.stream_resumable)
        heard = self._bus.subscribe(run_id, after=0)
        beginning = self._spawn(self.admitting.begin(run_id, request))
        try:
            run = await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await heard.aclose()
            if request.on_disconnect == "cancel":
                self._spawn(self._abandon(beginning))
            raise
        except BaseException:
            self._bus.forget(run_id)
            raise
        return self._stream(
            run, heard, modes=(), cancel_on_disconnect=request.on_disconnect == "cancel"
        )

    async def join(self, thread_id: str | None, run_id: str) -> RunResult:
        """Wait for the end of a run, or answer at once for one that has ended.

        For an ended run the values are those its thread stands at now.

        Raises:
            NotFoundError: No such run on this thread, or it was deleted while it was waited for.
        """
        with self._executor.endings.watch(run_id) as ended:
            run = await self.get(thread_id, run_id)
            if run.status not in ACTIVE:
                return await self._executor.result_of(run)
            return await self._end_of(run, ended)

    async def join_stream(
        self,
        thread_id: str | None,
        run_id: str,
        *,
        after: int | None,
        modes: Collection[str],
        cancel_on_disconnect: bool,
    ) -> RunStream:
        """Listen to a run somebody made.

        Args:
            thread_id: Its thread, or ``None`` to find it by its own id alone.
            run_id: The run.
            after: Replay what is kept behind this ``seq``, 0 for everything kept; ``None`` for
                new events only.
            modes: Only events of these stream modes; empty for all. ``metadata`` and ``error``
                always come.
            cancel_on_disconnect: Whether losing this reader cancels the run.

        The events of a run that has ended and of which nothing is kept end at once; of one whose
        process died an ``error`` tells that, whatever is kept.

        Raises:
            NotFoundError: No such run on this thread.
        """
        run = await self.get(thread_id, run_id)
        heard = self._bus.subscribe(run_id, after=after)
        if run.status in ACTIVE:
            run = await self.get(thread_id, run_id)  # it may have ended before the subscription
        if run.status not in ACTIVE:
            self._bus.close(run_id)
        return self._stream(run, heard, modes=modes, cancel_on_disconnect=cancel_on_disconnect)

    async def cancel(
        self, thread_id: str | None, run_id: str, *, action: CancelAction, wait: bool
    ) -> Run:
        """Stop a run; one that has ended stays as it is.

        Args:
            thread_id: Its thread, or ``None`` to find it by its own id alone.
            run_id: The run.
            action: ``interrupt`` ends it as ``interrupted`` with what it had done; ``rollback``
                removes what it did, checkpoints and run.
            wait: Whether to return only once it no longer executes.

        Returns:
            The run as it is on return (as it was, when it was rolled back).

        Raises:
            NotFoundError: No such run on this thread.
            NotSupportedError: ``rollback``, and the checkpointer cannot remove a run's checkpoints.
        """
        with self._executor.endings.watch(run_id) as ended:
            run = await self.get(thread_id, run_id)
            if run.status not in ACTIVE:
                return run
            if action == "rollback":
                self._executor.check_roll_back()
            asked = await self.admitting.stop(run, action)
            if not wait or asked.status not in ACTIVE:
                return asked
            try:
                return (await self._end_of(asked, ended)).run
            except NotFoundError:  # rolled back by another process
                return asked

    async def cancel_many(
        self,
        *,
        action: CancelAction,
        thread_id: str | None = None,
        run_ids: Sequence[str] | None = None,
        status: Literal["pending", "running", "all"] = "all",
    ) -> int:
        """Ask every active run that is meant to stop, without waiting; unknown ones are no error.

        Args:
            action: See ``cancel``.
            thread_id: Only runs of this thread.
            run_ids: Only these; ``None`` for all.
            status: Only runs with this status.

        Returns:
            How many were asked.
        """
        statuses: tuple[RunStatus, ...] = ACTIVE if status == "all" else (status,)
        if action == "rollback":
            self._executor.check_roll_back()
        found = await self._active(thread_id, run_ids, statuses)
        for run in found:
            await self.admitting.stop(run, action)
        return len(found)

    async def stop_thread(self, thread_id: str) -> None:
        """Stop every active run of a thread and return once none of them can write any more.

        What is then deleted of the thread stays deleted. An unknown thread is no error.
        """
        while found := await self._active(thread_id, None, ACTIVE):
            for run in sorted(found, key=lambda run: run.status):  # pending ones first
                with contextlib.suppress(NotFoundError):
                    await self.cancel(thread_id, run.run_id, action="interrupt", wait=True)

    async def stop_deleted(self, runs: Sequence[Run]) -> None:
        """Stop runs whose rows were deleted, and return once none of them writes here any more.

        Those that another process executes stop with its next beat.
        """
        for run in runs:
            if self._executor.holds(run.run_id):
                with self._executor.endings.watch(run.run_id) as ended:
                    self._executor.lose(run.run_id)
                    await ended

    async def run_ids_of(self, thread_id: str) -> Sequence[str]:
        """Return the ids of all runs of a thread."""
        pages = self._pages(RunQuery(thread_id=thread_id))
        return [run.run_id async for page in pages for run in page]

    def forget_events(self, run_ids: Sequence[str]) -> None:
        """Drop what is kept of the events of runs that are gone."""
        for run_id in run_ids:
            self._bus.forget(run_id)

    async def get(self, thread_id: str | None, run_id: str) -> Run:
        """Read one; with a thread id, only if it is that thread's.

        Raises:
            NotFoundError: No such run there.
        """
        run = await self._resources.runs.get(run_id, thread_id=thread_id)
        if run is None:
            raise NotFoundError("run", run_id)
        return run

    async def list(self, query: RunQuery) -> Listing[Run]:
        """Read a page of runs, newest first; none for an unknown thread."""
        return await self._resources.runs.search(query)

    async def delete(self, thread_id: str | None, run_id: str) -> None:
        """Delete a run; an active one is stopped first, and its checkpoints stay.

        Raises:
            NotFoundError: No such run on this thread.
        """
        await self.cancel(thread_id, run_id, action="interrupt", wait=True)
        await self._resources.runs.delete(run_id)
        self._bus.forget(run_id)

    async def _abandon(self, beginning: asyncio.Task[Run]) -> None:
        """Cancel a run whose only reader went away, if it was made."""
        with contextlib.suppress(ThreadkeepError):
            await self.admitting.stop(await beginning, "interrupt")

    async def _end_of(self, run: Run, ended: asyncio.Future[RunResult]) -> RunResult:
        """Wait for the end of a run, wherever it executes.

        Raises:
            NotFoundError: Another process executed it and it was deleted.
        """
        while not ended.done():
            is_here = self._executor.holds(run.run_id)
            await asyncio.wait({ended}, timeout=None if is_here else self._poll_seconds)
            if ended.done() or self._executor.holds(run.run_id):
                continue
            row = await self.get(run.thread_id, run.run_id)
            if row.status not in ACTIVE and not ended.done():
                return await self._executor.result_of(row)
        return ended.result()

    def _stream(
        self,
        run: Run,
        heard: Subscription,
        *,
        modes: Collection[str],
        cancel_on_disconnect: bool,
    ) -> RunStream:
        watching = self._spawn(self._close_after_end(run)) if run.status in ACTIVE else None

        async def close(*, disconnected: bool) -> None:
            if watching is not None:
                watching.cancel()
            await heard.aclose()
            if disconnected and cancel_on_disconnect:
                await self._detached(self.admitting.stop(run, "interrupt"))

        read = partial(self._resources.runs.get, run.run_id)
        return RunStream(run, told(heard, modes, read), close, heard.missed)

    async def _close_after_end(self, run: Run) -> None:
        """End a run's channel here when another process executed it."""
        with self._executor.endings.watch(run.run_id) as ended, contextlib.suppress(NotFoundError):
            await self._end_of(run, ended)
        self._bus.close(run.run_id)

    async def _active(
        self,
        thread_id: str | None,
        run_ids: Collection[str] | None,
        statuses: Sequence[RunStatus],
    ) -> Sequence[Run]:
        pages = self._pages(RunQuery(thread_id=thread_id, statuses=statuses))
        found = [run async for page in pages for run in page]
        return [run for run in found if run_ids is None or run.run_id in run_ids]

    async def _pages(self, query: RunQuery) -> AsyncIterator[Sequence[Run]]:
        offset: int | None = 0
        while offset is not None:
            page = await self._resources.runs.search(replace(query, offset=offset))
            yield page.rows
            offset = page.next_offset

    async def _detached(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something to its end even if the caller is cancelled meanwhile."""
        return await asyncio.shield(self._spawn(work))

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        """Let a task go; whoever waits for it still gets its error, if it has one."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.debug("a request ended with %s", type(error).__name__, exc_info=error)
