"""Executes the runs this process owns: slots, one task each, stop, settle.

A run holds a slot from its claim until nothing of it works any more, also its threads. It executes
in a task of its own with an empty context, so nothing of the request that asked for it (identity,
spans) reaches the graph, and a lost request takes no run with it.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextvars import Context
from typing import Any

from threadkeep.engine.cancel import Stop, stop_for
from threadkeep.engine.endings import Endings
from threadkeep.engine.engine import Ending, Engine
from threadkeep.engine.execution import Execution, Slot, StartGate
from threadkeep.engine.json import encode, error_of
from threadkeep.engine.kwargs import is_temporary, user_of
from threadkeep.engine.outbox import Outbox
from threadkeep.engine.secrets import SecretCipher, SecretKeeper
from threadkeep.engine.settling import Settler
from threadkeep.engine.threads import current_run
from threadkeep.engine.updates import Updates
from threadkeep.model.identity import current_user
from threadkeep.model.runs import ERROR, CancelAction, Claim, Run, RunResult
from threadkeep.ports.bus import EventBus
from threadkeep.ports.clock import Clock
from threadkeep.ports.resources import ResourceStore
from threadkeep.rules.run_states import SERVER_RESTARTED

logger = logging.getLogger(__name__)

LAST_GRACE_SECONDS = 1.0  # the same, when the process is to end
GRACE_SECONDS = 30.0  # how long a stopped run's thread waits for a node that cannot be stopped


class Executor:
    """See the module. All methods are called on one event loop.

    Args:
        engine: What executes.
        resources: Where runs are settled.
        bus: Whose channels it opens and closes.
        clock: When a run ended that leaves no row, and when an update is over.
        owner: This process's name among those that share the store.
        jobs: How many runs execute at once.
        lease_seconds: How long this process counts as alive without a word.
        timeout_seconds: How long a run may take, or ``None``.
        grace_seconds: After a run is stopped, how long its thread waits for nodes that do not
            stop; then it is settled and may be used again, and only the slot stays taken.
        cipher: Encrypts the secrets of runs that wait; without one this process holds them.
    """

    def __init__(
        self,
        engine: Engine,
        resources: ResourceStore,
        bus: EventBus,
        clock: Clock,
        *,
        owner: str,
        jobs: int,
        lease_seconds: float,
        timeout_seconds: float | None = None,
        grace_seconds: float = GRACE_SECONDS,
        cipher: SecretCipher | None = None,
    ) -> None:
        self.endings = Endings()
        self.updates = Updates(resources.idempotency, clock)
        self.work = asyncio.Event()
        self.claim = Claim(owner, lease_seconds)
        self._engine = engine
        self._secrets = SecretKeeper(cipher)
        self.outbox = Outbox()
        self._settler = Settler(engine, resources, clock, self.outbox)
        self._bus = bus
        self._jobs = jobs
        self._timeout_seconds = timeout_seconds
        self._grace_seconds = grace_seconds
        self._gate = StartGate()
        self._taken = 0
        self._lack_slots = False
        self._pending: set[str] = set()
        self._is_draining = False
        self._executions: dict[str, Execution] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def free(self) -> int:
        """How many more runs may start now."""
        return 0 if self._is_draining else self._jobs - self._taken

    @property
    def run_ids(self) -> Sequence[str]:
        """The runs this process must keep its lease on."""
        return tuple(self._executions)

    def holds(self, run_id: str) -> bool:
        """Say whether a run executes here, so that its end will be told here."""
        return run_id in self._executions

    def reserve(self) -> Slot | None:
        """Take a slot for a run about to be made; ``None`` when all are taken or others wait."""
        return None if self._lack_slots else self.take_slot()

    def take_slot(self) -> Slot | None:
        """Take a slot, or ``None`` when all are taken."""
        if self.free <= 0:
            return None
        self._taken += 1
        return Slot(self._give_back)

    def start(self, run: Run, slot: Slot) -> None:
        """Execute a run that this process has claimed; returns at once."""
        execution = Execution(run, slot)
        self._pending.discard(run.run_id)
        self._executions[run.run_id] = execution
        self._bus.open(run.run_id, keep=bool(run.kwargs["stream_resumable"]))
        task = asyncio.create_task(self._execute(execution), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self, run_id: str, action: CancelAction) -> None:
        """Stop a run that executes here; another is left alone."""
        if (execution := self._executions.get(run_id)) is not None:
            execution.stop_for(stop_for(action))

    def lose(self, run_id: str) -> None:
        """Stop a run that is this process's no longer; it writes and settles nothing."""
        if (execution := self._executions.get(run_id)) is not None:
            execution.stop_for(Stop.LOST)

    def note_pending(self, run: Run, *, lacks_slot: bool) -> None:
        """Note a run that waits to be claimed, and have it looked for now and when runs end.

        Args:
            run: The run.
            lacks_slot: Whether it waits for a slot; then new runs queue up behind it.
        """
        self._pending.add(run.run_id)
        self._lack_slots = self._lack_slots or lacks_slot
        self.work.set()

    def note_looked(self, *, lacks_slots: bool, nothing_is_pending: bool) -> None:
        """Note what a look for pending runs left: runs without a slot, or no pending run at all."""
        self._lack_slots = lacks_slots
        if nothing_is_pending:
            self._pending.clear()

    def wake(self) -> None:
        """Have pending runs looked for."""
        self.work.set()

    def hide_secrets(self, run_id: str, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is kept of a run in its row; see ``SecretKeeper.hide``."""
        return self._secrets.hide(run_id, kwargs)

    def forget_secrets(self, run_id: str) -> None:
        """Let go of the secrets of a run that was not admitted."""
        self._secrets.forget(run_id)

    def announce(self, result: RunResult) -> None:
        """Tell everybody in this process that a run has ended."""
        self._secrets.forget(result.run.run_id)
        self._pending.discard(result.run.run_id)
        self.endings.tell(result.run.run_id, result)
        self._bus.close(result.run.run_id)

    def announce_delivery(self, run: Run) -> None:
        """Have the webhook of a settled run sent; see ``Settler.announce_delivery``."""
        self._settler.announce_delivery(run)

    def check_roll_back(self) -> None:
        """Refuse where runs cannot be rolled back; see ``Engine.check_roll_back``."""
        self._engine.check_roll_back()

    async def check_checkpoint(self, thread_id: str, place: Mapping[str, Any]) -> None:
        """Refuse a checkpoint that is not there; see ``Engine.check_checkpoint``."""
        await self._engine.check_checkpoint(thread_id, place)

    async def result_of(self, run: Run) -> RunResult:
        """Return the result of a run that ended some time ago."""
        return await self._settler.result_of(run)

    async def erase(self, thread_id: str) -> None:
        """Delete a thread; see ``Settler.erase``."""
        await self._settler.erase(thread_id)

    async def drain(self, *, grace_seconds: float) -> None:
        """Start nothing more, let what executes end, then stop what is left; again is no error.

        Nodes that do not stop are waited for ``LAST_GRACE_SECONDS``: they end with the process.

        Args:
            grace_seconds: How long runs may go on.
        """
        self._is_draining = True
        await self._settled(grace_seconds)
        for execution in self._executions.values():
            execution.stop_for(Stop.SHUTDOWN)
        await self._settled(LAST_GRACE_SECONDS)
        for execution in self._executions.values():
            execution.hurry()
        await self._settled(None)

    async def _settled(self, seconds: float | None) -> None:
        """Wait until no run executes here, at most so long."""
        if unsettled := {execution.settled for execution in self._executions.values()}:
            await asyncio.wait(unsettled, timeout=seconds)

    def _give_back(self) -> None:
        self._taken -= 1
        if self._lack_slots:
            self.work.set()

    async def _execute(self, execution: Execution) -> None:
        current_run.set(execution.threads)
        try:
            await self._run(execution)
            await execution.threads.ended(within_seconds=None)
        finally:
            execution.slot.release()

    async def _run(self, execution: Execution) -> None:
        """Take a run to its end and tell everybody, whatever happens on the way."""
        try:
            ending = await self._perform(execution)
            await self._wait_for_threads(execution)
            if execution.stopped_for is Stop.LOST:
                result = await self._settler.lost(execution.run)
            else:
                result = await self._settler.settle(execution.run, execution.work, ending)
        except Exception as error:
            logger.exception("run %s could not be settled", execution.run.run_id)
            body = encode({ERROR: error_of(error)})
            result = RunResult(self._settler.as_ended(execution.run, SERVER_RESTARTED), body)
        finally:
            del self._executions[execution.run.run_id]
            execution.settled.set_result(None)
        self.announce(result)
        if self._pending:  # perhaps on the same thread, free now
            self.work.set()

    async def _perform(self, execution: Execution) -> Ending:
        """Run the graph until it ends, fails or is stopped."""
        release = await self._gate.enter()
        timer = self._start_timer(execution)
        inner = asyncio.create_task(self._drive(execution))
        execution.drives(inner)
        try:
            await asyncio.wait({inner, execution.stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not inner.done():
                await asyncio.wait(
                    {inner, execution.hurried},
                    timeout=self._grace_seconds,
                    return_when=asyncio.FIRST_COMPLETED,
                )
        finally:
            release()
            if timer is not None:
                timer.cancel()
        return self._ending(execution, inner)

    async def _drive(self, execution: Execution) -> None:
        run = self._secrets.reveal(execution.run)
        current_user.set(user_of(run.kwargs))
        if not is_temporary(run):  # nobody else knows its thread
            await self.updates.ended(run.thread_id)
        work = execution.work = await self._engine.begin(run)
        await work.perform()

    def _start_timer(self, execution: Execution) -> asyncio.TimerHandle | None:
        if self._timeout_seconds is None:
            return None
        loop = asyncio.get_running_loop()
        return loop.call_later(self._timeout_seconds, execution.stop_for, Stop.TIMEOUT)

    def _ending(self, execution: Execution, inner: "asyncio.Task[None]") -> Ending:
        work, stop = execution.work, execution.stopped_for
        if not inner.done():
            logger.error(
                "a node of run %s does not end when it is cancelled; it is left behind and can "
                "write no more checkpoints",
                execution.run.run_id,
            )
        failure = _failure(inner)
        if stop is Stop.ROLLBACK or (stop is not None and failure is not None):
            return self._engine.stopped(work, stop, timeout_seconds=self._timeout_seconds)
        if failure is not None:
            return self._engine.failed(work, failure)
        assert work is not None
        return self._engine.ended(work)

    async def _wait_for_threads(self, execution: Execution) -> None:
        """Wait for threads that a stopped run left working, at most the grace."""
        if execution.stopped_for is None or not execution.threads.are_working:
            return
        ended = asyncio.create_task(execution.threads.ended(within_seconds=self._grace_seconds))
        either: set[asyncio.Future[Any]] = {ended, execution.hurried}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done() or not ended.result():
            ended.cancel()
            logger.error(
                "a sync node of run %s goes on long after the run was stopped; its thread is left "
                "behind and keeps a slot",
                execution.run.run_id,
            )


def _failure(inner: "asyncio.Task[None]") -> BaseException | None:
    """Return why a graph did not come to its end, or ``None`` when it did."""
    if not inner.done() or inner.cancelled():
        return asyncio.CancelledError("the graph was cancelled from within")
    return inner.exception()
