"""Runs that wait at a gate, for tests that stop them or take them over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, deployed
from tests.integration.engine_backends import Backend, store_on
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import Run


@pytest.fixture
def gate() -> Any:
    gate = made.Gate()
    yield gate
    gate.opened.set()


@asynccontextmanager
async def on(backend: Backend, gate: made.Gate, **options: Any) -> AsyncIterator[Deployment]:
    graphs = {
        "chat": made.chat(),
        "steps": made.steps(3),
        "waiting": made.waiting(gate),
        "blocking": made.blocking(gate),
        "stubborn": made.stubborn(gate),
    }
    async with deployed(
        graphs, backend.resources, backend.saver, store_on(backend), **options
    ) as site:
        yield site


async def begun(site: Deployment, gate: made.Gate, graph_id: str) -> Run:
    """Begin a run on a new thread and wait until its node waits."""
    thread_id = await site.new_thread("thread")
    run = await site.runs.create(RunRequest(graph_id, thread_id, input={"log": []}))
    await gate.has_begun()
    return run


async def until(condition: Any) -> None:
    """Wait until something is so."""
    for _ in range(5_000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not come to be so")


async def others() -> None:
    """Let everything else on the loop go on for a while."""
    for _ in range(200):
        await asyncio.sleep(0)
