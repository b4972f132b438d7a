"""Runs that are stopped: by a caller, a lost connection, a limit, a lost lease, a server's end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, body, deployed, heard
from tests.integration.engine_backends import Backend, backend, store_on
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.engine import settling
from threadkeep.errors import NotFoundError, NotSupportedError, StorageError, UnavailableError
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import Run
from threadkeep.savers.store import ItemStore

__all__ = ["backend"]
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


class SteppedClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def pass_time(self, seconds: float) -> None:
        self.offset += timedelta(seconds=seconds)


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


@asynccontextmanager
async def erasing(
    graphs: Mapping[str, Any], resources: MemoryResourceStore | None = None
) -> AsyncIterator[Deployment]:
    resources = resources or MemoryResourceStore()
    async with deployed(graphs, resources, ErasingSaver(), ItemStore(resources)) as site:
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


async def test_the_end_of_a_server_leaves_nothing_running(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        run = await begun(site, gate, "waiting")
        await site.executor.drain(grace_seconds=0.05)
        ended = await site.runs.get("thread", run.run_id)
        assert (ended.status, ended.reason) == ("interrupted", "server_restarted")
        assert (await site.thread("thread")).status == "idle"
        assert site.executor.reserve() is None


async def test_a_server_that_ends_lets_short_runs_end_by_themselves(
    backend: Backend, gate: made.Gate
) -> None:
    async with on(backend, gate) as site:
        run = await begun(site, gate, "waiting")
        gate.opened.set()
        await site.executor.drain(grace_seconds=5)
        assert (await site.runs.get("thread", run.run_id)).status == "success"


async def test_a_lost_lease_stops_the_run_without_a_word_from_it(gate: made.Gate) -> None:
    clock = SteppedClock()
    resources = MemoryResourceStore(clock=clock)
    graphs = {"waiting": made.waiting(gate), "steps": made.steps(2)}
    saver, store = InMemorySaver(), ItemStore(resources)
    async with (
        deployed(graphs, resources, saver, store, owner="first", has_background=False) as first,
        deployed(graphs, resources, saver, store, owner="second", has_background=False) as second,
    ):
        run = await begun(first, gate, "waiting")
        await second.leases.beat()
        assert (await first.runs.get("thread", run.run_id)).status == "running"
        clock.pass_time(60)
        await second.leases.beat()
        settled = await second.runs.get("thread", run.run_id)
        assert (settled.status, settled.reason) == ("error", "server_restarted")
        assert (await second.thread("thread")).status == "error"
        after = await second.runs.wait(RunRequest("steps", "thread", input={"log": []}))
        assert after.run.status == "success"

        joining = asyncio.create_task(first.runs.join("thread", run.run_id))
        await first.leases.beat()
        assert (await joining).run.status == "error"
        await until(lambda: not first.executor.run_ids)
        assert gate.cancelled == ["node"]
        assert await second.runs.get("thread", run.run_id) == settled
        assert (await second.thread("thread")).values == body(after)


async def test_a_live_lease_is_renewed_and_never_touched_by_others(gate: made.Gate) -> None:
    clock = SteppedClock()
    resources = MemoryResourceStore(clock=clock)
    graphs = {"waiting": made.waiting(gate)}
    saver, store = InMemorySaver(), ItemStore(resources)
    async with (
        deployed(graphs, resources, saver, store, owner="first", has_background=False) as first,
        deployed(graphs, resources, saver, store, owner="second", has_background=False) as second,
    ):
        run = await begun(first, gate, "waiting")
        for _ in range(5):
            clock.pass_time(20)
            await first.leases.beat()
            await second.leases.beat()
        assert (await first.runs.get("thread", run.run_id)).status == "running"
        gate.opened.set()
        assert (await second.runs.join("thread", run.run_id)).run.status == "success"


async def test_a_cancel_asked_of_another_process_reaches_the_owner(gate: made.Gate) -> None:
    resources = MemoryResourceStore()
    graphs = {"waiting": made.waiting(gate)}
    saver, store = InMemorySaver(), ItemStore(resources)
    async with (
        deployed(graphs, resources, saver, store, owner="first", has_background=False) as first,
        deployed(graphs, resources, saver, store, owner="second", has_background=False) as second,
    ):
        run = await begun(first, gate, "waiting")
        cancelling = asyncio.create_task(
            second.runs.cancel("thread", run.run_id, action="interrupt", wait=True)
        )
        await others()
        await first.leases.beat()
        ended = await cancelling
        assert (ended.status, ended.reason) == ("interrupted", "cancelled")


async def test_two_processes_on_one_store_claim_each_run_once(backend: Backend) -> None:
    counted: list[str] = []
    lock = threading.Lock()

    def count(state: made.Log, config: RunnableConfig) -> made.Log:
        with lock:
            counted.append(config["configurable"]["run_id"])
        return {"log": [1]}

    graphs = {"count": made.one_node(count)}
    store = store_on(backend)
    async with (
        deployed(graphs, backend.resources, backend.saver, store, owner="first", jobs=2) as first,
        deployed(graphs, backend.resources, backend.saver, store, owner="second", jobs=2) as second,
    ):
        await first.new_thread("thread")
        runs = [
            await site.runs.create(
                RunRequest("count", thread_id, input={"log": []}, on_completion="keep")
            )
            for thread_id in (None, "thread")
            for site in (first, second)
            for _ in range(5)
        ]
        results = [await second.runs.join(run.thread_id, run.run_id) for run in runs]
        assert {result.run.status for result in results} == {"success"}
        assert sorted(counted) == sorted(run.run_id for run in runs)
        assert len((await first.state("count", "thread")).values["log"]) == 10


class ForgetfulSaver(InMemorySaver):
    """A saver that holds writes back and then loses them."""

    def staged(self) -> "ForgetfulSaver":
        return self

    async def flush(self) -> None:
        raise StorageError("the disk is full")

    def check_stored(self) -> None:
        raise UnavailableError("too early to know")


async def test_checkpoints_that_are_lost_are_an_error_where_people_look() -> None:
    resources = MemoryResourceStore()
    graphs = {"steps": made.steps(2)}
    async with deployed(graphs, resources, ForgetfulSaver(), ItemStore(resources)) as site:
        thread_id = await site.new_thread("thread")
        result = await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
        error = {"error": "StorageError", "message": "the disk is full"}
        thread = await site.thread(thread_id)
        assert (result.run.status, body(result)) == ("error", {"__error__": error})
        assert (thread.status, thread.error) == ("error", error)
        row = await site.runs.get(thread_id, result.run.run_id)
        assert (row.status, row.error) == ("error", error)


class BrokenStore:
    """Hands a store's runs on, and fails to settle as often as told."""

    def __init__(self, resources: MemoryResourceStore, failures: int) -> None:
        self._resources = resources
        self.failures = failures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._resources, name)

    @property
    def runs(self) -> Any:
        return BrokenRuns(self, self._resources.runs)


class BrokenRuns:
    def __init__(self, store: BrokenStore, runs: Any) -> None:
        self._store = store
        self._runs = runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def settle(self, *args: Any, **kwargs: Any) -> Any:
        if self._store.failures:
            self._store.failures -= 1
            raise UnavailableError("the database is away")
        return await self._runs.settle(*args, **kwargs)


async def test_a_backend_that_fails_to_settle_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settling, "RETRY_SECONDS", (0.0, 0.0, 0.0))
    resources = MemoryResourceStore()
    broken: Any = BrokenStore(resources, failures=2)
    graphs = {"steps": made.steps(2)}
    async with deployed(graphs, broken, InMemorySaver(), ItemStore(resources)) as site:
        thread_id = await site.new_thread("thread")
        result = await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
        assert result.run.status == "success"
        assert (await site.thread(thread_id)).status == "idle"


async def test_a_backend_that_stays_away_leaves_the_run_to_its_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settling, "RETRY_SECONDS", (0.0,))
    clock = SteppedClock()
    resources = MemoryResourceStore(clock=clock)
    broken: Any = BrokenStore(resources, failures=2)
    graphs = {"steps": made.steps(2)}
    async with deployed(
        graphs, broken, InMemorySaver(), ItemStore(resources), has_background=False
    ) as site:
        thread_id = await site.new_thread("thread")
        result = await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
        assert body(result)["__error__"]["error"] == "UnavailableError"
        assert (await site.runs.get(thread_id, result.run.run_id)).status == "running"
        assert not site.executor.holds(result.run.run_id)
        clock.pass_time(60)
        await site.leases.beat()
        settled = await site.runs.get(thread_id, result.run.run_id)
        assert (settled.status, settled.reason) == ("error", "server_restarted")


async def test_a_temporary_thread_is_erased_with_the_lease_of_its_run(gate: made.Gate) -> None:
    clock = SteppedClock()
    resources = MemoryResourceStore(clock=clock)
    graphs = {"waiting": made.waiting(gate)}
    saver, store = InMemorySaver(), ItemStore(resources)
    async with (
        deployed(graphs, resources, saver, store, owner="first", has_background=False) as first,
        deployed(graphs, resources, saver, store, owner="second", has_background=False) as second,
    ):
        run = await first.runs.create(RunRequest("waiting", input={"log": []}))
        await gate.has_begun()
        clock.pass_time(60)
        await second.leases.beat()
        assert await resources.threads.get(run.thread_id) is None
        assert await resources.runs.get(run.run_id) is None
        assert not saver.storage.get(run.thread_id)
        await first.leases.beat()
        await until(lambda: not first.executor.run_ids)
        assert not saver.storage.get(run.thread_id)


async def test_an_async_node_that_never_yields_is_failed_and_the_loop_is_free_again() -> None:
    async def compute(state: made.Log) -> made.Log:
        while True:
            pass

    resources = MemoryResourceStore()
    graphs = {"compute": made.one_node(compute), "steps": made.steps(2)}
    async with deployed(
        graphs, resources, InMemorySaver(), ItemStore(resources), lease_seconds=0.5
    ) as site:
        thread_id = await site.new_thread("thread")
        result = await site.runs.wait(RunRequest("compute", thread_id, input={"log": []}))
        assert body(result)["__error__"]["error"] in ("NodeHeldLoopError", "ServerRestarted")
        after = await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
        assert after.run.status == "success"
