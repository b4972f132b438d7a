"""Many callers at once who make, join, cancel and delete; in the end everything is at rest."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, deployed, heard
from tests.integration.engine_backends import Backend, backend, store_on
from threadkeep.errors import NotFoundError, ThreadBusyError
from threadkeep.model.queries import RunQuery
from threadkeep.model.requests import RunRequest

__all__ = ["backend"]
pytestmark = pytest.mark.anyio

THREADS = ("one", "two", "three")
CALLERS = 8
CALLS = 12  # of each caller
STRATEGIES: Any = ("enqueue", "enqueue", "reject", "interrupt")


def slow_steps() -> Any:
    """Does three steps, one of them in a thread, each giving way to others."""

    async def first(state: made.Log) -> made.Log:
        await asyncio.sleep(0.001)
        return {"log": [1]}

    def second(state: made.Log) -> made.Log:
        return {"log": [2]}

    async def third(state: made.Log) -> made.Log:
        await asyncio.sleep(0.001)
        return {"log": [3]}

    builder = StateGraph(made.Log).add_sequence([first, second, third])
    return builder.add_edge(START, "first").compile()


class Caller:
    """Does what a seeded chance says."""

    def __init__(self, site: Deployment, seed: int) -> None:
        self._site = site
        self._chance = random.Random(seed)
        self._calls: list[Callable[[], Awaitable[Any]]] = [
            self.wait,
            self.wait,
            self.background,
            self.stream,
            self.leave,
            self.cancel,
            self.delete,
            self.stateless,
        ]

    async def go_on(self) -> None:
        for _ in range(CALLS):
            with suppress(ThreadBusyError, NotFoundError):
                await self._chance.choice(self._calls)()

    def request(self, **more: Any) -> RunRequest:
        return RunRequest(
            self._chance.choice(("slow_steps", "chat", "failing")),
            self._chance.choice(THREADS),
            input={"log": [], "messages": []},
            multitask_strategy=self._chance.choice(STRATEGIES),
            **more,
        )

    async def wait(self) -> None:
        await self._site.runs.wait(self.request())

    async def background(self) -> None:
        run = await self._site.runs.create(self.request(after_seconds=0.01))
        await self._site.runs.join(run.thread_id, run.run_id)

    async def stream(self) -> None:
        await heard(await self._site.runs.open_stream(self.request(stream_resumable=True)))

    async def leave(self) -> None:
        request = self.request(on_disconnect="cancel")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._chance.random() * 0.02):
                await self._site.runs.wait(request)

    async def cancel(self) -> None:
        run = await self._site.runs.create(self.request())
        wait = self._chance.random() < 0.5
        await self._site.runs.cancel(run.thread_id, run.run_id, action="interrupt", wait=wait)

    async def delete(self) -> None:
        run = await self._site.runs.create(self.request())
        await self._site.runs.delete(run.thread_id, run.run_id)

    async def stateless(self) -> None:
        await self._site.runs.wait(RunRequest("slow_steps", input={"log": []}))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_after_a_storm_everything_is_at_rest(backend: Backend, seed: int) -> None:
    graphs = {
        "slow_steps": slow_steps(),
        "chat": made.chat(),
        "failing": made.failing(ValueError("no good")),
    }
    async with deployed(
        graphs, backend.resources, backend.saver, store_on(backend), jobs=3, poll_seconds=0.5
    ) as site:
        for thread_id in THREADS:
            await site.new_thread(thread_id)
        callers = [Caller(site, seed * 100 + number) for number in range(CALLERS)]
        await asyncio.gather(*(caller.go_on() for caller in callers))
        for thread_id in THREADS:
            await site.runs.stop_thread(thread_id)
        await at_rest(site)


async def at_rest(site: Deployment) -> None:
    """Wait until nothing executes, then look at everything that is left."""
    for _ in range(2_000):
        page = await site.runs.list(RunQuery(statuses=("pending", "running")))
        if not page.total and not site.executor.run_ids and site.executor.free == 3:
            break
        await asyncio.sleep(0.002)
    assert page.total == 0
    assert site.executor.free == 3
    assert site.executor.endings._waiting == {}
    assert site.bus._live == {}
    for thread_id in THREADS:
        thread = await site.thread(thread_id)
        head = await site.saver.aget_tuple({"configurable": {"thread_id": thread_id}})
        assert thread.status in ("idle", "error")
        assert head is not None
        assert thread.head_checkpoint_id == head.config["configurable"]["checkpoint_id"]
