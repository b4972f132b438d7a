"""Threads: made, found, relabelled, deleted with everything that was theirs."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver

from threadkeep.engine.identifiers import new_id
from threadkeep.errors import (
    AlreadyExistsError,
    NotFoundError,
    NotSupportedError,
    ThreadkeepError,
)
from threadkeep.model.queries import Listing, ThreadQuery
from threadkeep.model.requests import StateUpdate
from threadkeep.model.threads import NewThread, Thread
from threadkeep.model.unset import UNSET, Unset
from threadkeep.ports.resources import ThreadRepo
from threadkeep.services.runs import RunService
from threadkeep.services.state import StateService

log = logging.getLogger(__name__)

IfExists = Literal["raise", "do_nothing"]
Pruning = Literal["delete", "keep_latest"]


class ThreadService:
    """Threads, their runs and their checkpoints as one thing."""

    def __init__(
        self,
        threads: ThreadRepo,
        *,
        runs: RunService,
        state: StateService,
        saver: BaseCheckpointSaver[Any],
        default_ttl_minutes: float | None = None,
    ) -> None:
        self._default_ttl_minutes = default_ttl_minutes
        self._threads = threads
        self._runs = runs
        self._state = state
        self._saver = saver

    async def create(
        self,
        *,
        thread_id: str | None = None,
        metadata: Mapping[str, Any],
        ttl_minutes: float | None = None,
        if_exists: IfExists = "raise",
        supersteps: Sequence[Sequence[StateUpdate]] = (),
    ) -> Thread:
        """Make an idle thread.

        Args:
            thread_id: Its id; a new one without.
            ttl_minutes: Its lifetime; the deployment's without.
            if_exists: Whether a thread that has the id already is an error or the answer.
            supersteps: What its state is made by; its metadata names the graph then. A thread
                whose supersteps are refused is not made.

        Raises:
            AlreadyExistsError: The id is taken, and ``if_exists`` is ``raise``.
            InvalidRequestError: The graph refuses a superstep, or none is named.
        """
        if ttl_minutes is None:
            ttl_minutes = self._default_ttl_minutes
        new = NewThread(thread_id or new_id(), metadata, ttl_minutes)
        try:
            made = await self._threads.create(new)
        except AlreadyExistsError:
            if if_exists == "raise":
                raise
            return await self.get(new.thread_id)
        if not supersteps:
            return made
        return await asyncio.shield(self._replayed(new.thread_id, supersteps))

    async def get(self, thread_id: str) -> Thread:
        """Read a thread with its values, also those its row is too small for.

        Raises:
            NotFoundError: No such thread.
        """
        thread = await self._threads.get(thread_id)
        if thread is None:
            raise NotFoundError("thread", thread_id)
        return await self._state.with_values(thread)

    async def search(self, query: ThreadQuery) -> Listing[Thread]:
        """Read a page of threads; their values are complete where they are selected."""
        if query.select is not None and "values" in query.select:
            # Where a row has no room for them, its graph reads them, which these two name.
            query = replace(query, select={*query.select, "metadata", "config"})
        listing = await self._threads.search(query)
        if query.select is not None and "values" not in query.select:
            return listing
        rows = [await self._state.with_values(thread) for thread in listing.rows]
        return replace(listing, rows=rows)

    async def count(self, query: ThreadQuery) -> int:
        """Count the threads that match, whatever the query's page."""
        return await self._threads.count(query)

    async def update(
        self,
        thread_id: str,
        *,
        metadata: Mapping[str, Any] | None,
        ttl_minutes: float | None | Unset = UNSET,
    ) -> Thread:
        """Merge metadata, and set or clear the lifetime.

        Raises:
            NotFoundError: No such thread.
        """
        thread = await self._threads.update(thread_id, metadata=metadata, ttl_minutes=ttl_minutes)
        return await self._state.with_values(thread)

    async def delete(self, thread_id: str) -> None:
        """Delete a thread with all that is its own; runs in flight are stopped first.

        Its own are runs, crons, idempotency records, deliveries, checkpoints and kept events.

        Once the rows are gone no run can be admitted, so the checkpoints go last, when the last run
        that was admitted writes no more. What an interrupted delete left of them goes with the
        next one, whatever it answers. A lost connection does not stop it half way.

        Raises:
            NotFoundError: No such thread.
        """
        await asyncio.shield(self._delete(thread_id))

    async def copy(self, thread_id: str) -> Thread:
        """Make a thread with the state and the history of another, and with none of its runs.

        The checkpoints are copied first, so that a copy that shows is whole. Of a busy thread, it
        has what its run had written when the copy was made.

        Raises:
            NotFoundError: No such thread.
            NotSupportedError: The checkpointer cannot copy a thread.
        """
        return await asyncio.shield(self._copy(thread_id, new_id()))

    async def prune(self, thread_ids: Sequence[str], strategy: Pruning) -> int:
        """Delete threads, or all of their checkpoints but the latest; unknown ones are no error.

        Each thread is a matter of its own: those before one that fails stay pruned.

        Returns:
            How many of the threads there were.

        Raises:
            NotSupportedError: The checkpointer cannot prune.
        """
        pruned = 0
        for thread_id in dict.fromkeys(thread_ids):
            if strategy == "delete":
                with contextlib.suppress(NotFoundError):
                    await self.delete(thread_id)
                    pruned += 1
            elif await self._threads.get(thread_id) is not None:
                with _able(self._saver, "prune"):
                    await self._saver.aprune([thread_id], strategy="keep_latest")
                pruned += 1
        return pruned

    async def collect(self, limit: int, *, strategy: Pruning = "delete") -> int:
        """Deal with up to ``limit`` threads whose lifetime is over, longest first.

        Runs in flight are stopped first. One whose lifetime was changed meanwhile stays, and one
        that fails is logged and left for the next time.

        Args:
            limit: At most so many.
            strategy: ``delete``, or ``keep_latest``: drop all checkpoints but the latest, and
                begin the lifetime anew.

        Returns:
            How many were dealt with.
        """
        done = 0
        for thread_id in await self._threads.list_expired(limit=limit):
            try:
                done += await self._collect(thread_id, strategy, limit)
            except ThreadkeepError as error:
                log.warning("expired thread %s stays for now: %s", thread_id, error)
        return done

    async def _collect(self, thread_id: str, strategy: Pruning, limit: int) -> bool:
        thread = await self._threads.get(thread_id)
        if thread is None or thread_id not in await self._threads.list_expired(limit=limit):
            return False  # dealing with those before it took its time
        if strategy == "delete":
            await self.delete(thread_id)
            return True
        await self._runs.stop_thread(thread_id)
        with _able(self._saver, "prune"):
            await self._saver.aprune([thread_id], strategy="keep_latest")
        await self._threads.update(thread_id, ttl_minutes=thread.ttl_minutes)
        return True

    async def _replayed(
        self, thread_id: str, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> Thread:
        try:
            return await self._state.with_values(await self._state.replay(thread_id, supersteps))
        except BaseException:
            await self._delete(thread_id)
            raise

    async def _copy(self, thread_id: str, copy_id: str) -> Thread:
        source = await self._threads.get(thread_id)
        if source is None:
            raise NotFoundError("thread", thread_id)
        try:
            with _able(self._saver, "copy a thread"):
                await self._saver.acopy_thread(thread_id, copy_id)
            made = await self._threads.copy(thread_id, copy_id=copy_id)
        except BaseException:
            await self._saver.adelete_thread(copy_id)
            raise
        if made.head_checkpoint_id != source.head_checkpoint_id:  # a run settled in between
            await self._saver.acopy_thread(thread_id, copy_id)
        return await self._state.with_values(made)

    async def _delete(self, thread_id: str) -> None:
        thread = await self._threads.get(thread_id)
        await self._runs.stop_thread(thread_id)
        run_ids = await self._runs.run_ids_of(thread_id)
        admitted_meanwhile = await self._threads.delete(thread_id)
        await self._runs.stop_deleted(admitted_meanwhile)
        await self._saver.adelete_thread(thread_id)
        self._runs.forget_events([*run_ids, *(run.run_id for run in admitted_meanwhile)])
        if thread is None:
            raise NotFoundError("thread", thread_id)


@contextlib.contextmanager
def _able(saver: BaseCheckpointSaver[Any], verb: str) -> Iterator[None]:
    """Say in this package's error what a saver has no way to do."""
    try:
        yield
    except NotImplementedError as error:
        raise NotSupportedError(f"the checkpointer {type(saver).__name__} cannot {verb}") from error
