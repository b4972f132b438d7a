"""Runs that are stopped: by a caller, a lost connection, a limit or a younger run."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, body, deployed, heard
from tests.integration.engine_backends import Backend, backend
from tests.integration.engine_waiting import begun, gate, on, others, until
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.errors import NotFoundError, NotSupportedError
from threadkeep.model.requests import RunRequest
from threadkeep.savers.store import ItemStore

__all__ = ["backend", "gate"]
pytestmark = pytest.mark.anyio


class ErasingSaver(InMemorySaver):
    """A saver that can remove the checkpoints of one run, as LangGraph's interface has it."""

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        for thread_id in list(self.storage):
            for namespace, checkpoints in self.storage[thread_id].items():
                found = [
                    item.config["configurable"]["checkpoint_id"]
                    for item in self.list(
                        {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}
                    )
                    if item.metadata.get("run_id") in run_ids
                ]
                for checkpoint_id in found:
                    del checkpoints[checkpoint_id]


@asynccontextmanager
async def erasing(
    graphs: Mapping[str, Any], resources: MemoryResourceStore | None = None
) -> AsyncIterator[Deployment]:
    resources = resources or MemoryResourceStore()
    async with deployed(graphs, resources, ErasingSaver(), ItemStore(resources)) as site:
        yield site


async def test_cancelling_ends_an_async_node_at_once(backend: Backend, gate: made.Gate) -> None:
    async with on(backend, gate) as site:
        run = await begun(site, gate, "waiting")
        ended = await site.runs.cancel("thread", run.run_id, action="interrupt", wait=True)
        thread = await site.thread("thread")
        assert (ended.status, ended.reason) == ("interrupted", "cancelled")
        assert gate.cancelled == ["node"]
        assert (thread.status, thread.values) == ("idle", {"log": ["before"]})


async def test_a_cancelled_conversation_goes_on_from_where_it_was(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        run = await begun(site, gate, "waiting")
        await site.runs.cancel("thread", run.run_id, action="interrupt", wait=True)
        gate.opened.set()
        result = await site.runs.wait(RunRequest("waiting", "thread"))
        assert body(result) == {"log": ["before", "waited"]}


async def test_who_waits_for_a_cancelled_run_gets_what_it_had(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        run = await begun(site, gate, "waiting")
        joining = asyncio.create_task(site.runs.join("thread", run.run_id))
        stream = await site.runs.join_stream(
            "thread", run.run_id, after=None, modes=(), cancel_on_disconnect=False
        )
        await site.runs.cancel("thread", run.run_id, action="interrupt", wait=False)
        result = await joining
        assert (result.run.status, body(result)) == ("interrupted", {"log": ["before"]})
        assert await heard(stream) == []


async def test_cancelling_an_ended_run_leaves_it_as_it_is(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        thread_id = await site.new_thread("thread")
        run = (await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))).run
        after = await site.runs.cancel(thread_id, run.run_id, action="interrupt", wait=True)
        assert after.status == "success"


async def test_cancelling_an_unknown_run_is_refused(backend: Backend, gate: made.Gate) -> None:
    async with on(backend, gate) as site:
        with pytest.raises(NotFoundError, match="run 'unknown'"):
            await site.runs.cancel(None, "unknown", action="interrupt", wait=True)


async def test_a_pending_run_is_cancelled_before_it_begins(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        first = await begun(site, gate, "waiting")
        second = await site.runs.create(RunRequest("waiting", "thread", input={"log": []}))
        assert second.status == "pending"
        joining = asyncio.create_task(site.runs.join("thread", second.run_id))
        await asyncio.sleep(0)
        ended = await site.runs.cancel("thread", second.run_id, action="interrupt", wait=True)
        assert (ended.status, ended.reason) == ("interrupted", "cancelled")
        assert (await joining).run.status == "interrupted"
        assert (await site.thread("thread")).status == "busy"
        gate.opened.set()
        assert (await site.runs.join("thread", first.run_id)).run.status == "success"


async def test_a_sync_node_keeps_slot_and_thread_until_it_ends(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        run = await begun(site, gate, "blocking")
        await site.runs.cancel("thread", run.run_id, action="interrupt", wait=False)
        stopping = asyncio.create_task(
            site.runs.cancel("thread", run.run_id, action="interrupt", wait=True)
        )
        await others()
        assert not stopping.done()
        assert (await site.thread("thread")).status == "busy"
        gate.opened.set()
        assert (await stopping).status == "interrupted"
        assert (await site.thread("thread")).status == "idle"
        await until(lambda: site.executor.free == 4)


async def test_a_sync_node_that_never_ends_gives_the_thread_back_after_a_grace(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate, grace_seconds=0.1) as site:
        run = await begun(site, gate, "blocking")
        ended = await site.runs.cancel("thread", run.run_id, action="interrupt", wait=True)
        assert ended.status == "interrupted"
        assert (await site.thread("thread")).status == "idle"
        assert site.executor.free == 3
        result = await site.runs.wait(RunRequest("steps", "thread", input={"log": []}))
        assert result.run.status == "success"
        gate.opened.set()
        await until(lambda: site.executor.free == 4)


async def test_blocking_nodes_do_not_keep_others_waiting(backend: Backend, gate: made.Gate) -> None:
    async with on(backend, gate) as site:
        await begun(site, gate, "blocking")
        result = await site.runs.wait(RunRequest("steps", input={"log": []}))
        assert result.run.status == "success"


async def test_a_node_that_ignores_its_cancellation_can_write_no_more(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate, grace_seconds=0.1) as site:
        run = await begun(site, gate, "stubborn")
        ended = await site.runs.cancel("thread", run.run_id, action="interrupt", wait=True)
        before = await site.state("stubborn", "thread")
        gate.opened.set()
        await until(lambda: len(asyncio.all_tasks()) < 8)
        after = await site.state("stubborn", "thread")
        assert ended.status == "interrupted"
        assert after.config == before.config
        assert after.values == {"log": []}


async def test_a_run_that_takes_too_long_times_out(backend: Backend, gate: made.Gate) -> None:
    async with on(backend, gate, timeout_seconds=0.1) as site:
        thread_id = await site.new_thread("thread")
        result = await site.runs.wait(RunRequest("waiting", thread_id, input={"log": []}))
        thread = await site.thread(thread_id)
        assert (result.run.status, result.run.reason) == ("timeout", "timeout")
        assert body(result)["__error__"]["error"] == "RunTimeoutError"
        assert (thread.status, thread.values) == ("error", {"log": ["before"]})


async def test_rollback_removes_the_run_and_what_it_wrote(gate: made.Gate) -> None:
    async with erasing({"waiting": made.waiting(gate), "steps": made.steps(2)}) as site:
        thread_id = await site.new_thread("thread")
        await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
        before = await site.thread(thread_id)
        run = await site.runs.create(RunRequest("waiting", thread_id, input={"log": []}))
        await gate.has_begun()
        await site.runs.cancel(thread_id, run.run_id, action="rollback", wait=True)
        thread = await site.thread(thread_id)
        snapshot = await site.state("steps", thread_id)
        assert await site.resources.runs.get(run.run_id) is None
        assert (thread.status, thread.values) == ("idle", before.values)
        assert snapshot.config["configurable"]["checkpoint_id"] == before.head_checkpoint_id


async def test_rollback_is_refused_where_the_saver_cannot(gate: made.Gate) -> None:
    resources = MemoryResourceStore()
    graphs = {"waiting": made.waiting(gate)}
    async with deployed(graphs, resources, InMemorySaver(), ItemStore(resources)) as site:
        run = await begun(site, gate, "waiting")
        with pytest.raises(NotSupportedError, match="InMemorySaver"):
            await site.runs.cancel("thread", run.run_id, action="rollback", wait=True)
        request = RunRequest("waiting", "thread", input={"log": []}, multitask_strategy="rollback")
        with pytest.raises(NotSupportedError):
            await site.runs.create(request)
        assert (await site.runs.get("thread", run.run_id)).status == "running"


async def test_interrupt_strategy_stops_the_present_run_and_takes_over(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        first = await begun(site, gate, "waiting")
        result = await site.runs.wait(
            RunRequest("steps", "thread", input={"log": []}, multitask_strategy="interrupt")
        )
        stopped = await site.runs.get("thread", first.run_id)
        assert (stopped.status, stopped.reason) == ("interrupted", "cancelled")
        assert result.run.status == "success"
        assert body(result) == {"log": ["before", 0, 1, 2]}


async def test_rollback_strategy_removes_the_present_run_and_takes_over(gate: made.Gate) -> None:
    async with erasing({"waiting": made.waiting(gate), "steps": made.steps(2)}) as site:
        first = await begun(site, gate, "waiting")
        result = await site.runs.wait(
            RunRequest("steps", "thread", input={"log": []}, multitask_strategy="rollback")
        )
        assert await site.resources.runs.get(first.run_id) is None
        assert body(result) == {"log": [0, 1]}


async def test_a_waiter_that_goes_away_leaves_the_run_or_takes_it_along(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        thread_id = await site.new_thread("thread")
        for policy, status in (("cancel", "interrupted"), ("continue", "running")):
            request = RunRequest(
                "waiting",
                thread_id,
                input={"log": []},
                on_disconnect=policy,  # type: ignore[arg-type]
            )
            waiting = asyncio.create_task(site.runs.wait(request))
            await gate.has_begun()
            [run] = await site.runs._active(thread_id, None, ("running",))
            waiting.cancel()
            if policy == "cancel":
                result = await site.runs.join(thread_id, run.run_id)
                assert result.run.status == status
            else:
                await others()
                assert (await site.runs.get(thread_id, run.run_id)).status == status


async def test_a_stream_that_is_lost_leaves_the_run_or_takes_it_along(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        thread_id = await site.new_thread("thread")
        request = RunRequest("waiting", thread_id, input={"log": []}, on_disconnect="cancel")
        stream = await site.runs.open_stream(request)
        await gate.has_begun()
        await stream.aclose(disconnected=True)
        result = await site.runs.join(thread_id, stream.run.run_id)
        assert result.run.status == "interrupted"

        stream = await site.runs.open_stream(RunRequest("waiting", thread_id, input={"log": []}))
        await gate.has_begun()
        await stream.aclose(disconnected=True)
        gate.opened.set()
        result = await site.runs.join(thread_id, stream.run.run_id)
        assert result.run.status == "success"


async def test_a_lost_join_takes_the_run_along_only_where_it_says_so(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        run = await begun(site, gate, "waiting")
        for cancels, status in ((False, "running"), (True, "interrupted")):
            stream = await site.runs.join_stream(
                "thread", run.run_id, after=None, modes=(), cancel_on_disconnect=cancels
            )
            await stream.aclose(disconnected=True)
            if cancels:
                await site.runs.join("thread", run.run_id)
            assert (await site.runs.get("thread", run.run_id)).status == status


async def test_stopping_a_thread_ends_everything_on_it(backend: Backend, gate: made.Gate) -> None:
    async with on(backend, gate) as site:
        await begun(site, gate, "waiting")
        for _ in range(2):
            await site.runs.create(RunRequest("waiting", "thread", input={"log": []}))
        await site.runs.stop_thread("thread")
        assert (await site.thread("thread")).status == "idle"
        assert await site.runs._active("thread", None, ("pending", "running")) == []
        await site.runs.stop_thread("unknown")


async def test_many_runs_are_cancelled_at_once(backend: Backend, gate: made.Gate) -> None:
    async with on(backend, gate) as site:
        for thread_id in ("one", "two"):
            await site.new_thread(thread_id)
            await site.runs.create(RunRequest("waiting", thread_id, input={"log": []}))
            await gate.has_begun()
        assert await site.runs.cancel_many(action="interrupt", thread_id="one") == 1
        assert await site.runs.cancel_many(action="interrupt", status="pending") == 0
        await site.runs.stop_thread("one")
        assert await site.runs.cancel_many(action="interrupt") == 1
