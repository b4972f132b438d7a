"""What every store must do with a new run where others are active."""

import asyncio

import pytest

from threadkeep.errors import (
    ThreadBusyError,
    ThreadStatusError,
)
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import Run
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.builders import (
    OWNER,
    add_thread,
    enqueue,
    finish,
    new_run,
    start,
    state,
)
from threadkeep.testing.resources.suite import ResourceSuite


async def present(store: ResourceStore, run_id: str) -> Run:
    """Return a run that must be there."""
    run = await store.runs.get(run_id)
    assert run is not None
    return run


class MultitaskSuite(ResourceSuite):
    """One case per strategy and guard."""

    async def test_reject_is_refused_while_a_run_is_active(self, store: ResourceStore) -> None:
        await add_thread(store)
        first = await start(store, "r1", strategy="reject")
        with pytest.raises(ThreadBusyError):
            await start(store, "r2", strategy="reject")
        await finish(store, first)
        assert (await start(store, "r3", strategy="reject")).status == "running"

    async def test_reject_counts_pending_runs_and_not_final_ones(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await enqueue(store, "r1", after_seconds=60)
        with pytest.raises(ThreadBusyError):
            await enqueue(store, "r2", strategy="reject")
        await store.runs.request_cancel("r1", "interrupt")
        assert (await enqueue(store, "r3", strategy="reject")).run.status == "pending"

    async def test_exactly_one_of_many_rejecting_runs_is_admitted(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        attempts = (start(store, f"r{number}", strategy="reject") for number in range(16))
        results = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(isinstance(result, Run) for result in results) == 1
        assert sum(isinstance(result, ThreadBusyError) for result in results) == 15
        assert (await store.runs.search(RunQuery(thread_id="t1"))).total == 1

    async def test_exactly_one_of_many_claimed_runs_starts(self, store: ResourceStore) -> None:
        await add_thread(store)
        runs = await asyncio.gather(*(start(store, f"r{number}") for number in range(16)))
        assert sorted(run.status for run in runs) == ["pending"] * 15 + ["running"]

    async def test_interrupt_asks_the_running_and_ends_the_pending(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await start(store, "running")
        await enqueue(store, "pending")
        new = new_run("new", strategy="interrupt")
        admission = await store.runs.admit(new, claim=OWNER)
        assert admission.run.status == "pending"
        by_id = {run.run_id: run for run in admission.displaced}
        assert set(by_id) == {"running", "pending"}
        assert (by_id["running"].status, by_id["running"].cancel) == ("running", "interrupt")
        assert by_id["running"].owner == "owner-1"
        ended = by_id["pending"]
        assert (ended.status, ended.reason, ended.cancel) == (
            "interrupted",
            "cancelled",
            "interrupt",
        )
        for run_id, run in by_id.items():
            assert await store.runs.get(run_id) == run

    async def test_rollback_deletes_the_pending(self, store: ResourceStore) -> None:
        await add_thread(store)
        await start(store, "running")
        await enqueue(store, "pending")
        admission = await store.runs.admit(new_run("new", strategy="rollback"), claim=None)
        assert {run.run_id for run in admission.displaced} == {"running", "pending"}
        assert (await present(store, "running")).cancel == "rollback"
        assert await store.runs.get("pending") is None

    async def test_interrupting_only_pending_runs_starts_at_once(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await enqueue(store, "pending")
        run = await start(store, "new", strategy="interrupt")
        assert (run.status, run.fence) == ("running", 1)

    async def test_other_threads_are_not_displaced(self, store: ResourceStore) -> None:
        await add_thread(store, "t1")
        await add_thread(store, "t2")
        other = await start(store, "r1", "t1")
        run = await start(store, "r2", "t2", strategy="rollback")
        assert run.status == "running"
        assert await store.runs.get("r1") == other

    async def test_a_status_guard_admits_what_it_names(self, store: ResourceStore) -> None:
        await add_thread(store)
        await store.threads.record_state("t1", state("interrupted"))
        admission = await store.runs.admit(
            new_run(), claim=None, thread_status_in=["interrupted", "idle"]
        )
        assert admission.run.status == "pending"

    async def test_a_status_guard_reports_what_it_met(self, store: ResourceStore) -> None:
        await add_thread(store)
        await store.threads.record_state("t1", state("interrupted"))
        with pytest.raises(ThreadStatusError) as refused:
            await store.runs.admit(new_run(), claim=None, thread_status_in=["idle"])
        assert (refused.value.status, refused.value.wanted) == ("interrupted", ("idle",))
        assert await store.runs.get("r1") is None

    async def test_a_status_guard_is_heard_before_the_busy_guard(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await enqueue(store)
        new = new_run("r2", strategy="reject")
        with pytest.raises(ThreadStatusError):
            await store.runs.admit(new, claim=None, thread_status_in=["idle"])
        with pytest.raises(ThreadBusyError):
            await store.runs.admit(new, claim=None, thread_status_in=["busy"])

    async def test_a_guard_of_no_status_admits_nothing(self, store: ResourceStore) -> None:
        await add_thread(store)
        with pytest.raises(ThreadStatusError):
            await store.runs.admit(new_run(), claim=None, thread_status_in=[])

    async def test_exactly_one_of_many_guarded_runs_is_admitted(self, store: ResourceStore) -> None:
        await add_thread(store)
        attempts = (
            store.runs.admit(new_run(f"r{number}"), claim=None, thread_status_in=["idle"])
            for number in range(16)
        )
        results = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(isinstance(result, ThreadStatusError) for result in results) == 15
