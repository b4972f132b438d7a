"""Runs made: planned from what was asked, admitted, started here when a slot is free."""

import contextlib
from collections.abc import Mapping
from typing import Any

from threadkeep.engine.execution import Slot
from threadkeep.engine.executor import Executor
from threadkeep.engine.graphs import Graphs
from threadkeep.engine.identifiers import new_id
from threadkeep.engine.kwargs import is_temporary, run_kwargs, thread_config
from threadkeep.errors import AlreadyExistsError, NotFoundError
from threadkeep.model.assistants import Assistant
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import Admission, CancelAction, NewRun, Run, RunResult
from threadkeep.model.threads import NewThread
from threadkeep.ports.bus import EventBus
from threadkeep.ports.resources import ResourceStore
from threadkeep.services.streams import BEGUN, COMING, REFUSED, topic_of
from threadkeep.services.webhooks import Webhooks

ADMISSIONS = 10  # tries, each with a thread made anew, while others go on deleting it


class Admitting:
    """The one way in which runs are made, whoever asks.

    Args:
        resources: Where they are admitted.
        executor: Starts them.
        graphs: What they run on.
        webhooks: Says what they may call.
        bus: Where they are announced to whoever listens to their threads.
        default_ttl_minutes: The lifetime of threads that are made for them, ``None`` for ever.
    """

    def __init__(
        self,
        resources: ResourceStore,
        executor: Executor,
        graphs: Graphs,
        webhooks: Webhooks,
        bus: EventBus,
        *,
        default_ttl_minutes: float | None = None,
    ) -> None:
        self._ttl_minutes = default_ttl_minutes
        self._resources = resources
        self._executor = executor
        self._graphs = graphs
        self._webhooks = webhooks
        self._bus = bus

    async def begin(self, run_id: str, request: RunRequest) -> Run:
        """Admit a run and start it if a slot is free; tell the runs it displaces.

        Raises:
            NotFoundError: See ``RunService.create``; so for the others.
        """
        new = await self.plan(run_id, request)
        slot: Slot | None = None
        self._announce(new.thread_id, COMING, run_id)
        try:
            if request.thread_id is None:
                await self._resources.threads.create(self.thread_for(new, request.metadata))
            slot = None if request.after_seconds > 0 else self._executor.reserve()
            admission = await self._admit(request, new, slot)
        except BaseException:
            self._announce(new.thread_id, REFUSED, run_id)
            self.forget(run_id)
            if slot is not None:
                slot.release()
            raise
        self._announce(new.thread_id, BEGUN, run_id)
        self._start(admission, slot)
        await self._tell_displaced(admission)
        return admission.run

    async def plan(self, run_id: str, request: RunRequest) -> NewRun:
        """Return a run to admit; its secrets are held until it is, or ``forget`` is called.

        Raises:
            NotFoundError: No such assistant or graph, or no such checkpoint to start from.
            NotSupportedError: A rollback is asked for that the checkpointer cannot do.
            InvalidRequestError: The webhook may not be called.
        """
        if request.multitask_strategy == "rollback":
            self._executor.check_roll_back()
        webhook = self._webhooks.checked(request.webhook)
        assistant = await self._assistant(request.assistant_id)
        thread_id = request.thread_id or new_id()
        if request.checkpoint and request.checkpoint.get("checkpoint_id") is not None:
            await self._executor.check_checkpoint(thread_id, request.checkpoint)
        kwargs = {**run_kwargs(request, assistant), "webhook": webhook}
        return NewRun(
            run_id=run_id,
            thread_id=thread_id,
            assistant_id=assistant.assistant_id,
            kwargs=self._executor.hide_secrets(run_id, kwargs),
            metadata=request.metadata,
            multitask_strategy=request.multitask_strategy,
            after_seconds=request.after_seconds,
            thread_metadata={
                "graph_id": assistant.graph_id,
                "assistant_id": assistant.assistant_id,
            },
            thread_config=thread_config(request),
        )

    def thread_for(self, new: NewRun, metadata: Mapping[str, Any]) -> NewThread:
        """Return a thread to make for a run; one that goes with the run needs no lifetime."""
        lasts = not new.kwargs["temporary"]
        return NewThread(new.thread_id, dict(metadata), self._ttl_minutes if lasts else None)

    def forget(self, run_id: str) -> None:
        """Let go of what is held for a run that was planned and not admitted."""
        self._executor.forget_secrets(run_id)

    async def admitted(self, admission: Admission) -> None:
        """Have a run executed that was admitted unclaimed; tell the runs it displaced."""
        self._announce(admission.run.thread_id, BEGUN, admission.run.run_id)
        self._start(admission, None)
        await self._tell_displaced(admission)

    async def stop(self, run: Run, action: CancelAction) -> Run:
        """Record that a run is to stop, and stop it at once if it executes here."""
        asked = await self._resources.runs.request_cancel(run.run_id, action)
        if asked is None:
            return run
        await self._told(asked, action)
        return asked

    def _announce(self, thread_id: str, word: str, run_id: str) -> None:
        if self._bus.wanted(topic := topic_of(thread_id)):
            self._bus.publish(topic, word, run_id.encode())

    async def _tell_displaced(self, admission: Admission) -> None:
        for displaced in admission.displaced:
            await self._told(displaced, admission.run.multitask_strategy)

    async def _admit(self, request: RunRequest, new: NewRun, slot: Slot | None) -> Admission:
        claim = None if slot is None else self._executor.claim
        asked = request.thread_status_in
        runs = self._resources.runs
        for _ in range(ADMISSIONS):
            try:
                return await runs.admit(new, claim=claim, thread_status_in=asked)
            except NotFoundError:
                if request.if_not_exists != "create":
                    raise
            with contextlib.suppress(AlreadyExistsError):
                await self._resources.threads.create(self.thread_for(new, {}))
        return await runs.admit(new, claim=claim, thread_status_in=asked)

    def _start(self, admission: Admission, slot: Slot | None) -> None:
        if slot is not None and admission.run.status == "running":
            self._executor.start(admission.run, slot)
            return
        if slot is not None:
            slot.release()
        may_start = admission.run.start_at <= admission.run.created_at
        self._executor.note_pending(admission.run, lacks_slot=slot is None and may_start)

    async def _assistant(self, ident: str) -> Assistant:
        """Find an assistant by its id or, meaning the default one, by its graph's id."""
        found = await self._resources.assistants.get(self._graphs.assistant_id_of(ident))
        found = found or await self._resources.assistants.get(ident)
        if found is None:
            raise NotFoundError("assistant", ident)
        if found.graph_id not in self._graphs.graph_ids:
            raise NotFoundError("graph", found.graph_id)
        return found

    async def _told(self, run: Run, strategy: Any) -> None:
        """Pass on that a run was asked to stop, or ended because it had not begun."""
        action: CancelAction = "rollback" if strategy == "rollback" else "interrupt"
        if run.status == "running":
            self._executor.stop(run.run_id, action)
            return
        self._executor.announce(RunResult(run, None))
        if is_temporary(run):
            await self._executor.erase(run.thread_id)
        self._executor.wake()
