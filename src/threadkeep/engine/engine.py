"""The engine: graphs, their saver and store, and what can be done with a run on them.

It holds nothing of a run; ``executor`` decides when one runs, is stopped and is settled.
"""

import importlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from threadkeep.engine.cancel import Stop, outcome_of
from threadkeep.engine.graphs import Graphs
from threadkeep.engine.json import encode, error_of
from threadkeep.errors import NotFoundError, NotSupportedError, SecretsLostError
from threadkeep.model.runs import ERROR, INTERRUPT, Outcome, Run
from threadkeep.model.threads import Thread, ThreadState
from threadkeep.ports.bus import EventBus
from threadkeep.rules.run_states import NO_NODE_RAN, SECRETS_LOST

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.store.base import BaseStore

    from threadkeep.engine.drive import Work


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run's graph ended.

    Attributes:
        outcome: What the run's row is to say.
        state: What the thread is to be left with; ``None`` keeps what it has.
        answer: The JSON body for whoever waits; see ``RunResult.values``.
    """

    outcome: Outcome
    state: ThreadState | None
    answer: bytes | None


class Engine:
    """Executes runs on graphs, one call at a time.

    Args:
        graphs: The graphs.
        bus: Where runs publish.
        saver: Where their checkpoints are.
        store: The long-term memory graphs reach through ``get_store()``.
    """

    def __init__(
        self,
        graphs: Graphs,
        bus: EventBus,
        *,
        saver: "BaseCheckpointSaver[Any]",
        store: "BaseStore",
    ) -> None:
        self._graphs = graphs
        self._bus = bus
        self._saver = saver
        self._store = store

    async def begin(self, run: Run) -> "Work":
        """Prepare a run; waits until its graph is loaded.

        Raises:
            NotFoundError: No such graph.
        """
        await self._graphs.settled(run.kwargs["graph_id"])
        drive = importlib.import_module("threadkeep.engine.drive")
        work: Work = drive.Work(run, self._graphs, self._bus, saver=self._saver, store=self._store)
        return work

    def ended(self, work: "Work") -> Ending:
        """Return how a run ended whose graph came to its end."""
        if work.is_interrupted:
            return Ending(Outcome("interrupted"), work.state("interrupted"), work.answer())
        reason = None
        if work.has_run_nothing:
            reason = NO_NODE_RAN
            logger.warning(
                "run %s on thread %s ended without running any node: nothing was waiting there",
                work.run.run_id,
                work.run.thread_id,
            )
        return Ending(Outcome("success", reason=reason), work.state("idle"), work.answer())

    def failed(self, work: "Work | None", failure: BaseException) -> Ending:
        """Return how a run ended that raised; tells whoever listens."""
        reason = SECRETS_LOST if isinstance(failure, SecretsLostError) else None
        return self._failure(work, Outcome("error", reason=reason, error=error_of(failure)))

    def stopped(self, work: "Work | None", stop: Stop, *, timeout_seconds: float | None) -> Ending:
        """Return how a run ended that was stopped; tells whoever listens of a timeout."""
        outcome = outcome_of(stop, timeout_seconds=timeout_seconds)
        if outcome.error is not None:
            return self._failure(work, outcome)
        if work is None:
            return Ending(outcome, None, None)
        return Ending(outcome, work.state("idle"), work.answer())

    def check_roll_back(self) -> None:
        """Refuse where checkpoints of one run cannot be removed.

        Raises:
            NotSupportedError: The saver has no way to.
        """
        saving = importlib.import_module("threadkeep.engine.saving")
        if not saving.can_roll_back(self._saver):
            raise NotSupportedError(saving.cannot_roll_back(self._saver))

    async def check_checkpoint(self, thread_id: str, place: Mapping[str, Any]) -> None:
        """Refuse a checkpoint to start from that is not there: a run would start from nothing.

        Raises:
            NotFoundError: The thread has no such checkpoint.
        """
        at = {"checkpoint_ns": "", **place, "thread_id": thread_id}
        if await self._saver.aget_tuple({"configurable": at}) is None:
            raise NotFoundError("checkpoint", place["checkpoint_id"])

    async def roll_back(self, run: Run) -> None:
        """Remove every checkpoint a run wrote."""
        self.check_roll_back()
        await self._saver.adelete_for_runs([run.run_id])

    async def erase(self, thread_id: str) -> None:
        """Remove every checkpoint of a thread."""
        await self._saver.adelete_thread(thread_id)

    async def answer_of(self, run: Run, thread: Thread | None) -> bytes | None:
        """Return the JSON body for a run that ended some time ago.

        The values are those its thread stands at; its own failure is its own.
        """
        if run.error is not None:
            return encode({ERROR: run.error})
        if thread is None:
            return None
        values: Any = thread.values
        if values is None and thread.head_checkpoint_id is not None:
            values = await self._stored_values(run, thread)
        waiting = [found for held in thread.interrupts.values() for found in held]
        if waiting:
            return encode({**(values or {}), INTERRUPT: waiting})
        return None if values is None else encode(values)

    async def _stored_values(self, run: Run, thread: Thread) -> Any:
        graph_id = run.kwargs["graph_id"]
        await self._graphs.settled(graph_id)
        drive = importlib.import_module("threadkeep.engine.drive")
        return await drive.stored_values(
            self._graphs,
            graph_id,
            thread_id=thread.thread_id,
            checkpoint_id=thread.head_checkpoint_id,
            saver=self._saver,
            store=self._store,
        )

    def _failure(self, work: "Work | None", outcome: Outcome) -> Ending:
        state = None
        if work is not None:
            work.publisher.finish("failed")
            work.publisher.publish("error", outcome.error)
            state = work.state("error", error=outcome.error)
        return Ending(outcome, state, encode({ERROR: outcome.error}))
