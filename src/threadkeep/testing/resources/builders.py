"""Rows with their uninteresting fields filled in, and the steps that most cases start with."""

from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.model.assistants import NewAssistant
from threadkeep.model.runs import Admission, Claim, MultitaskStrategy, NewRun, Outcome, Run
from threadkeep.model.threads import NewThread, Thread, ThreadState, ThreadStatus
from threadkeep.ports.resources import ResourceStore

OWNER = Claim("owner-1", 30)
OTHER = Claim("owner-2", 30)
SUCCESS = Outcome("success")
FAILURE = Outcome("error", error={"error": "ValueError", "message": "no"})


def new_assistant(
    assistant_id: str = "a1",
    *,
    graph_id: str = "chat",
    name: str | None = None,
    description: str | None = None,
    config: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> NewAssistant:
    """Build an assistant."""
    return NewAssistant(
        assistant_id,
        graph_id,
        name or graph_id,
        description,
        config or {},
        context or {},
        metadata or {},
    )


def state(
    status: ThreadStatus = "idle",
    *,
    values: Mapping[str, Any] | None = None,
    head: str | None = None,
    interrupts: Mapping[str, Sequence[Any]] | None = None,
    error: Any = None,
) -> ThreadState:
    """Build what a run leaves."""
    return ThreadState(status, values, head, interrupts or {}, error)


async def add_thread(
    store: ResourceStore,
    thread_id: str = "t1",
    *,
    metadata: Mapping[str, Any] | None = None,
    ttl_minutes: float | None = None,
) -> Thread:
    """Create a thread."""
    return await store.threads.create(NewThread(thread_id, metadata or {}, ttl_minutes))


def new_run(
    run_id: str = "r1",
    thread_id: str = "t1",
    *,
    strategy: MultitaskStrategy = "enqueue",
    assistant_id: str = "a1",
    kwargs: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    after_seconds: float = 0,
) -> NewRun:
    """Build a run."""
    return NewRun(
        run_id,
        thread_id,
        assistant_id,
        kwargs or {},
        metadata=metadata or {},
        multitask_strategy=strategy,
        after_seconds=after_seconds,
    )


async def enqueue(
    store: ResourceStore,
    run_id: str = "r1",
    thread_id: str = "t1",
    *,
    strategy: MultitaskStrategy = "enqueue",
    after_seconds: float = 0,
    metadata: Mapping[str, Any] | None = None,
) -> Admission:
    """Admit a run that nobody claims yet."""
    run = new_run(
        run_id, thread_id, strategy=strategy, after_seconds=after_seconds, metadata=metadata
    )
    return await store.runs.admit(run, claim=None)


async def start(
    store: ResourceStore,
    run_id: str = "r1",
    thread_id: str = "t1",
    *,
    strategy: MultitaskStrategy = "enqueue",
    claim: Claim = OWNER,
) -> Run:
    """Admit a run and claim it at once where its thread lets it."""
    run = new_run(run_id, thread_id, strategy=strategy)
    return (await store.runs.admit(run, claim=claim)).run


async def finish(
    store: ResourceStore,
    run: Run,
    *,
    outcome: Outcome = SUCCESS,
    left: ThreadState | None = None,
) -> Run | None:
    """Settle a run as its owner."""
    return await store.runs.settle(
        run.run_id, fence=run.fence, outcome=outcome, state=left or state()
    )


async def status_of(store: ResourceStore, thread_id: str = "t1") -> ThreadStatus:
    """Return the status a thread shows."""
    thread = await store.threads.get(thread_id)
    assert thread is not None
    return thread.status
