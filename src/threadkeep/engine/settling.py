"""The end of a run, recorded: its row, its thread and its checkpoints together.

Every way a run can end comes through ``Settler.settle``; nothing else settles a run or deletes the
thread of a temporary one.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import orjson

from threadkeep.engine.cancel import LOST
from threadkeep.engine.engine import Ending, Engine
from threadkeep.engine.json import error_of
from threadkeep.engine.kwargs import is_temporary
from threadkeep.engine.outbox import Outbox
from threadkeep.errors import AlreadyExistsError, StorageError
from threadkeep.model.runs import Outcome, Run, RunResult
from threadkeep.ports.clock import Clock
from threadkeep.ports.resources import ResourceStore
from threadkeep.ports.resources.runs import Deliver
from threadkeep.rules.run_changes import ended
from threadkeep.rules.webhook_payloads import LEFT_OUT, MAX_PAYLOAD_BYTES, delivery_of

if TYPE_CHECKING:
    from threadkeep.engine.drive import Work

logger = logging.getLogger(__name__)

RETRY_SECONDS = (0.2, 1.0, 3.0)  # pauses; after the last the lease runs out instead


class Settler:
    """Records how runs ended.

    Args:
        engine: Has the checkpoints.
        resources: Has runs and threads.
        clock: When a run ended that leaves no row.
        outbox: Told of the webhooks that are written.
    """

    def __init__(
        self, engine: Engine, resources: ResourceStore, clock: Clock, outbox: Outbox
    ) -> None:
        self._outbox = outbox
        self._engine = engine
        self._resources = resources
        self._clock = clock

    async def settle(self, run: Run, work: "Work | None", ending: Ending) -> RunResult:
        """Record how a run ended; afterwards it writes no more.

        A backend that fails is tried again for a few seconds.

        Raises:
            StorageError: It still fails; the run's row says ``running`` until its lease is over.
        """
        if work is not None:
            work.revoke()
        for pause in RETRY_SECONDS:
            try:
                return await self._record(run, work, ending)
            except StorageError:
                logger.warning("settling run %s failed; trying again in %s s", run.run_id, pause)
                await asyncio.sleep(pause)
        return await self._record(run, work, ending)

    async def lost(self, run: Run) -> RunResult:
        """Return what others made of a run that is this process's no longer."""
        logger.warning("run %s is this process's no longer; nothing of it is settled", run.run_id)
        row = await self._resources.runs.get(run.run_id)
        if row is None:
            return RunResult(self.as_ended(run, LOST), None)
        return await self.result_of(row)

    async def result_of(self, run: Run) -> RunResult:
        """Return the result of a run that ended some time ago."""
        thread = None
        if run.error is None:
            thread = await self._resources.threads.get(run.thread_id)
        return RunResult(run, await self._engine.answer_of(run, thread))

    async def erase(self, thread_id: str) -> None:
        """Delete a thread with its runs and checkpoints, these first.

        What tells of its runs is still sent.

        Cut off in between, the thread is still there and is erased when its run's lease is over.
        """
        await self._engine.erase(thread_id)
        await self._resources.threads.delete(thread_id, keep_undelivered=True)

    def as_ended(self, run: Run, outcome: Outcome) -> Run:
        """Return a run that leaves no row as it would have stood there."""
        return ended(run, outcome, self._clock.now())

    async def _record(self, run: Run, work: "Work | None", ending: Ending) -> RunResult:
        if is_temporary(run):
            as_ended = self.as_ended(run, ending.outcome)
            await self._post(as_ended, ending.answer)
            await self.erase(run.thread_id)
            return RunResult(as_ended, ending.answer)
        if ending.outcome.reason == "rolled_back":
            return await self._roll_back(run, work, ending)
        return await self._write(run, work, ending)

    async def _write(self, run: Run, work: "Work | None", ending: Ending) -> RunResult:
        """Settle run and thread; what waits of the checkpoints shares the transaction.

        The checkpoints were handed over before, so they are written first, or with it. The settle
        itself looks whether they were: a run whose checkpoints are lost is no success.
        """
        if work is None:
            return await self._settled(run, ending)
        check = _Check(work)
        try:
            return await self._settled(run, ending, check=check)
        except Exception:
            if not check.has_refused:
                raise
            failure = await _failure_of(work)
            if failure is None:  # it was too early to know
                return await self._settled(run, ending)
        logger.error("the checkpoints of run %s are not all stored", run.run_id, exc_info=failure)
        outcome = Outcome("error", error=error_of(failure))
        result = await self._settled(run, Ending(outcome, None, None))
        if result.run.error == outcome.error:
            return RunResult(result.run, self._engine.failed(work, failure).answer)
        return result

    async def _settled(
        self, run: Run, ending: Ending, *, check: Callable[[], None] | None = None
    ) -> RunResult:
        settled = await self._resources.runs.settle(
            run.run_id,
            fence=run.fence,
            outcome=ending.outcome,
            state=ending.state,
            check=check,
            deliver=_deliver(run, ending.answer),
        )
        if settled is not None:
            self.announce_delivery(settled)
        return await self.lost(run) if settled is None else RunResult(settled, ending.answer)

    def announce_delivery(self, run: Run) -> None:
        """Have the webhook of a settled run sent, if it has one."""
        if (made := delivery_of(run, None)) is not None:
            self._outbox.post(made.delivery_id)

    async def _post(self, run: Run, answer: bytes | None) -> None:
        """Write the webhook of a run that leaves no row; once, however often this is tried."""
        deliver = _deliver(run, answer)
        new = None if deliver is None else deliver(run)
        if new is not None:
            with contextlib.suppress(AlreadyExistsError):
                await self._resources.deliveries.add(new)
            self._outbox.post(new.delivery_id)

    async def _roll_back(self, run: Run, work: "Work | None", ending: Ending) -> RunResult:
        """Remove what a run wrote, then its row, which frees its thread."""
        if work is not None:
            await _failure_of(work)  # what could not be stored need not be removed
        await self._engine.roll_back(run)
        await self._resources.runs.delete(run.run_id)
        return RunResult(self.as_ended(run, ending.outcome), None)


class _Check:
    """Looks whether a run's checkpoints are stored, and knows what it has said."""

    def __init__(self, work: "Work") -> None:
        self._work = work
        self.has_refused = False

    def __call__(self) -> None:
        self.has_refused = True
        self._work.check_stored()
        self.has_refused = False


def _deliver(run: Run, answer: bytes | None) -> Deliver | None:
    """Return what writes the webhook of a run; ``None`` where nobody asked for one."""
    if not run.kwargs.get("webhook"):
        return None
    is_small = answer is not None and len(answer) <= MAX_PAYLOAD_BYTES
    values = orjson.loads(answer) if answer is not None and is_small else None
    if answer is not None and not is_small:
        values = LEFT_OUT
    return partial(delivery_of, values=values)


async def _failure_of(work: "Work") -> Exception | None:
    """Wait for the checkpoints under way; return why they are not all stored, or ``None``."""
    try:
        await work.flush()
    except Exception as error:
        return error
    return None
