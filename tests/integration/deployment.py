"""A deployment in process: engine, executor, services and background, on a driver of choice."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import orjson
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from threadkeep.background.leases import Leases
from threadkeep.background.worker import Worker
from threadkeep.drivers.memory.bus import MemoryEventBus
from threadkeep.engine.engine import Engine
from threadkeep.engine.executor import Executor
from threadkeep.engine.exits import RunTasks
from threadkeep.engine.graphs import Graphs
from threadkeep.engine.secrets import SecretCipher
from threadkeep.engine.threads import NodeThreads
from threadkeep.model.assistants import NewAssistant
from threadkeep.model.events import Event
from threadkeep.model.runs import RunResult
from threadkeep.model.threads import NewThread, Thread
from threadkeep.ports.clock import Clock, SystemClock
from threadkeep.ports.resources import ResourceStore
from threadkeep.services.runs import RunService
from threadkeep.services.streams import RunStream
from threadkeep.services.webhooks import WebhookPolicy, Webhooks

DEADLINE_SECONDS = 20.0


@dataclass(frozen=True)
class Deployment:
    """One process's worth of services."""

    resources: ResourceStore
    saver: BaseCheckpointSaver[Any]
    store: BaseStore
    bus: MemoryEventBus
    graphs: Graphs
    executor: Executor
    worker: Worker
    leases: Leases
    runs: RunService

    async def new_thread(self, thread_id: str) -> str:
        await self.resources.threads.create(NewThread(thread_id, {}))
        return thread_id

    async def thread(self, thread_id: str) -> Thread:
        found = await self.resources.threads.get(thread_id)
        assert found is not None
        return found

    async def state(self, graph_id: str, thread_id: str) -> Any:
        at: Any = {"configurable": {"thread_id": thread_id}}
        async with self.graphs.open(graph_id, at, saver=self.saver, store=self.store) as graph:
            return await graph.aget_state(at)


@asynccontextmanager
async def deployed(
    given: Mapping[str, Any] | Graphs,
    resources: ResourceStore,
    saver: BaseCheckpointSaver[Any],
    store: BaseStore,
    *,
    owner: str = "this-process",
    clock: Clock | None = None,
    has_background: bool = True,
    jobs: int = 4,
    lease_seconds: float = 30.0,
    timeout_seconds: float | None = None,
    grace_seconds: float = 5.0,
    events_per_run: int = 10_000,
    poll_seconds: float = 0.05,
    cipher: SecretCipher | None = None,
    policy: WebhookPolicy | None = None,
) -> AsyncIterator[Deployment]:
    """Start one, and stop it in the end as a server does."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(NodeThreads(jobs))
    loop.set_task_factory(RunTasks(None))
    graphs = given if isinstance(given, Graphs) else Graphs.of(given)
    bus = MemoryEventBus(events_per_run=events_per_run)
    executor = Executor(
        Engine(graphs, bus, saver=saver, store=store),
        resources,
        bus,
        clock or SystemClock(),
        owner=owner,
        jobs=jobs,
        lease_seconds=lease_seconds,
        timeout_seconds=timeout_seconds,
        grace_seconds=grace_seconds,
        cipher=cipher,
    )
    worker = Worker(executor, resources, poll_seconds=poll_seconds)
    leases = Leases(executor, resources)
    webhooks = Webhooks(policy or WebhookPolicy())
    runs = RunService(
        *(resources, executor, graphs, bus), webhooks=webhooks, poll_seconds=poll_seconds
    )
    await resources.setup()
    await graphs.load()
    await resources.assistants.ensure(
        [
            NewAssistant(graphs.assistant_id_of(name), name, name, None, {}, {}, {})
            for name in graphs.graph_ids
        ]
    )
    tasks = [asyncio.create_task(work()) for work in (worker.run, leases.run) if has_background]
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            yield Deployment(resources, saver, store, bus, graphs, executor, worker, leases, runs)
    finally:
        await executor.drain(grace_seconds=0.1)
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def body(result: RunResult) -> Any:
    """Return the answer of a run, decoded."""
    return None if result.values is None else orjson.loads(result.values)


async def heard(stream: RunStream, *, disconnected: bool = False) -> list[Event]:
    """Return every event of a stream up to its end."""
    found = [event async for events in stream.events for event in events]
    await stream.aclose(disconnected=disconnected)
    return found


def names(events: list[Event]) -> list[str]:
    """Return the names of events, in order."""
    return [event.name for event in events]


def payloads(events: list[Event], name: str) -> list[Any]:
    """Return the payloads of the events of one name, decoded."""
    return [orjson.loads(event.data) for event in events if event.name == name]
