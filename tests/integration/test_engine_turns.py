"""What a turn does where another graph, another process or nothing at all waits on its thread."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, body, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from threadkeep.engine.updates import SCOPE
from threadkeep.errors import ThreadBusyError
from threadkeep.model.idempotency import IdempotencyClaim
from threadkeep.model.requests import RunRequest
from threadkeep.ports.drivers import open_driver
from threadkeep.services.state import StateService

__all__ = ["backend"]
pytestmark = pytest.mark.anyio


def asking(name: str) -> Any:
    """Asks in a node ``ask``, and says in ``after`` what came of it."""

    def ask(state: made.Log) -> Any:
        return {"log": [f"{name}:{interrupt(name)}"]}

    def after(state: made.Log) -> Any:
        return {"log": [f"{name}:after"]}

    return StateGraph(made.Log).add_sequence([ask, after]).add_edge(START, "ask").compile()


GRAPHS = {"one": asking("one"), "other": asking("other"), "steps": made.steps(2)}


@pytest.fixture
async def site(backend: Backend) -> AsyncIterator[Deployment]:
    async with deployed(GRAPHS, backend.resources, backend.saver, store_on(backend)) as running:
        yield running


def states(site: Deployment) -> StateService:
    return StateService(
        site.resources.threads,
        site.graphs,
        saver=site.saver,
        store=site.store,
        updates=site.runs.updates,
    )


async def asked(site: Deployment) -> str:
    """Return a thread on which graph ``one`` waits for its answer."""
    thread_id = await site.new_thread("t")
    result = await site.runs.wait(RunRequest("one", thread_id, input={"log": ["hello"]}))
    assert result.run.status == "interrupted"
    return thread_id


async def test_another_graphs_turn_begins_at_its_start(site: Deployment) -> None:
    thread_id = await asked(site)
    result = await site.runs.wait(RunRequest("other", thread_id, input={"log": ["again"]}))
    assert body(result)["__interrupt__"][0]["value"] == "other"
    request = RunRequest("other", thread_id, command={"resume": "yes"})
    assert body(await site.runs.wait(request))["log"] == [
        *("hello", "again"),
        *("other:yes", "other:after"),
    ]


@pytest.mark.parametrize("asks", [{"command": {"resume": "yes"}}, {}])
async def test_another_graph_does_not_go_on_where_the_first_waits(
    site: Deployment, asks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    thread_id = await asked(site)
    with caplog.at_level(logging.WARNING):
        result = await site.runs.wait(RunRequest("other", thread_id, **asks))
    assert (result.run.status, result.run.reason) == ("success", "no_node_ran")
    assert body(result)["log"] == ["hello"]
    assert "without running any node" in caplog.text
    assert "leaves the tasks that graph 'one'" in caplog.text
    metadata = (await site.state("other", thread_id)).metadata
    assert (metadata["run_id"], metadata["graph_id"]) == (result.run.run_id, "other")


async def test_another_graph_goes_where_its_command_says_and_nowhere_else(
    site: Deployment,
) -> None:
    thread_id = await asked(site)
    request = RunRequest("other", thread_id, command={"goto": "after"})
    assert body(await site.runs.wait(request))["log"] == ["hello", "other:after"]


async def test_a_turn_that_finds_nothing_to_do_says_so(
    site: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    thread_id = await site.new_thread("t")
    first = await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
    assert first.run.reason is None
    with caplog.at_level(logging.WARNING):
        result = await site.runs.wait(RunRequest("steps", thread_id))
    assert (result.run.status, result.run.reason) == ("success", "no_node_ran")
    assert result.run.run_id in caplog.text
    assert body(result) == body(first)


async def test_a_strict_resume_of_an_unknown_interrupt_fails(site: Deployment) -> None:
    thread_id = await asked(site)
    command = {"resume": {"0" * 32: "yes"}}
    strict = RunRequest("one", thread_id, command=command, strict_resume=True)
    result = await site.runs.wait(strict)
    assert result.run.status == "error"
    assert result.run.error["error"] == "UnknownInterruptError"


async def test_a_run_waits_for_the_update_of_another_process(site: Deployment) -> None:
    thread_id = await site.new_thread("t")
    records = site.resources.idempotency
    claim = IdempotencyClaim(SCOPE, thread_id, SCOPE, "another-process")
    assert await records.claim(claim) is None
    run = await site.runs.create(RunRequest("steps", thread_id, input={"log": []}))
    joined = asyncio.create_task(site.runs.join(thread_id, run.run_id))
    done, _ = await asyncio.wait({joined}, timeout=0.3)
    assert not done
    await records.release(SCOPE, thread_id, claim_id="another-process")
    assert (await joined).run.status == "success"


async def test_updates_and_runs_of_two_processes_follow_each_other(backend: Backend) -> None:
    async with AsyncExitStack() as stack:
        if backend.url == "memory://":
            resources, saver = backend.resources, backend.saver
        else:
            driver = open_driver(backend.url)
            stack.push_async_callback(asyncio.to_thread, driver.close)
            resources = driver.resources()
            documents = driver.documents()
            saver = type(backend.saver)(documents, async_documents=driver.async_documents())
        here = await stack.enter_async_context(
            deployed(GRAPHS, backend.resources, backend.saver, store_on(backend), owner="here")
        )
        there = await stack.enter_async_context(
            deployed(GRAPHS, resources, saver, store_on(backend), owner="there")
        )
        thread_id = await here.new_thread("t")
        await here.runs.wait(RunRequest("steps", thread_id, input={"log": ["first"]}))

        async def update(number: int) -> bool:
            try:
                await states(there).update(thread_id, {"log": [f"updated{number}"]})
            except ThreadBusyError:
                return False
            return True

        for number in range(10):
            request = RunRequest("steps", thread_id, input={"log": [f"run{number}"]})
            turn = asyncio.create_task(here.runs.wait(request))
            await asyncio.sleep(0.002 * number)
            was_updated = await update(number)
            await turn
            log = (await here.state("steps", thread_id)).values["log"]
            assert f"run{number}" in log
            assert (f"updated{number}" in log) == was_updated
