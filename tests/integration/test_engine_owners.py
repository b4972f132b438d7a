"""Runs and who owns them: leases, several processes, a server's end, a database that fails."""

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from tests.integration import engine_graphs as made
from tests.integration.deployment import body, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from tests.integration.engine_waiting import begun, gate, on, others, until
from threadkeep.background import leases
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.engine import executor, settling
from threadkeep.errors import StorageError, UnavailableError
from threadkeep.model.requests import RunRequest
from threadkeep.savers.store import ItemStore
from threadkeep.testing.clock import ManualClock

__all__ = ["backend", "gate"]
pytestmark = pytest.mark.anyio


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


@pytest.mark.parametrize("graph_id", ["blocking", "stubborn"])
@pytest.mark.parametrize("is_cancelled_before", [False, True])
async def test_a_server_that_ends_waits_for_no_node_that_does_not_stop(
    backend: Backend,
    gate: made.Gate,
    monkeypatch: pytest.MonkeyPatch,
    graph_id: str,
    is_cancelled_before: bool,
) -> None:
    monkeypatch.setattr(executor, "LAST_GRACE_SECONDS", 0.01)
    async with on(backend, gate, grace_seconds=3600.0) as site:
        run = await begun(site, gate, graph_id)
        if is_cancelled_before:
            await site.runs.cancel("thread", run.run_id, action="interrupt", wait=False)
        async with asyncio.timeout(5):
            await site.executor.drain(grace_seconds=0.01)
        ended = await site.runs.get("thread", run.run_id)
        reason = "cancelled" if is_cancelled_before else "server_restarted"
        assert (ended.status, ended.reason) == ("interrupted", reason)
        await site.executor.drain(grace_seconds=3600)  # nothing is left to wait for
        gate.opened.set()


async def test_a_clock_that_leaps_ahead_gives_every_process_a_lease_to_renew_its_own(
    gate: made.Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = passed = 0.0
    monkeypatch.setattr(leases, "_seconds_ahead", lambda: slept)
    monkeypatch.setattr(leases, "_passed", lambda: passed)
    clock = ManualClock()
    resources = MemoryResourceStore(clock=clock)
    graphs = {"waiting": made.waiting(gate)}
    saver, store = InMemorySaver(), ItemStore(resources)
    async with (
        deployed(graphs, resources, saver, store, owner="first", has_background=False) as first,
        deployed(graphs, resources, saver, store, owner="second", has_background=False) as second,
    ):
        run = await begun(first, gate, "waiting")
        slept = 3600.0
        clock.advance(3600)
        await second.leases.beat()  # it wakes first
        assert (await first.runs.get("thread", run.run_id)).status == "running"
        await first.leases.beat()
        passed = 31.0
        await second.leases.beat()
        assert (await first.runs.get("thread", run.run_id)).status == "running"
        clock.advance(60)  # the first says nothing more
        await second.leases.beat()
        assert (await second.runs.get("thread", run.run_id)).reason == "server_restarted"


async def test_a_lost_lease_stops_the_run_without_a_word_from_it(gate: made.Gate) -> None:
    clock = ManualClock()
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
        clock.advance(60)
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
    clock = ManualClock()
    resources = MemoryResourceStore(clock=clock)
    graphs = {"waiting": made.waiting(gate)}
    saver, store = InMemorySaver(), ItemStore(resources)
    async with (
        deployed(graphs, resources, saver, store, owner="first", has_background=False) as first,
        deployed(graphs, resources, saver, store, owner="second", has_background=False) as second,
    ):
        run = await begun(first, gate, "waiting")
        for _ in range(5):
            clock.advance(20)
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
    clock = ManualClock()
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
        clock.advance(60)
        await site.leases.beat()
        settled = await site.runs.get(thread_id, result.run.run_id)
        assert (settled.status, settled.reason) == ("error", "server_restarted")


async def test_a_temporary_thread_is_erased_with_the_lease_of_its_run(gate: made.Gate) -> None:
    clock = ManualClock()
    resources = MemoryResourceStore(clock=clock)
    graphs = {"waiting": made.waiting(gate)}
    saver, store = InMemorySaver(), ItemStore(resources)
    async with (
        deployed(graphs, resources, saver, store, owner="first", has_background=False) as first,
        deployed(graphs, resources, saver, store, owner="second", has_background=False) as second,
    ):
        run = await first.runs.create(RunRequest("waiting", input={"log": []}))
        await gate.has_begun()
        clock.advance(60)
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
