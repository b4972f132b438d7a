"""What every store must do with runs: admitting, settling, cancelling, reading."""

import asyncio

import pytest

from threadkeep.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    ThreadBusyError,
    ThreadStatusError,
)
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import NewRun, Outcome, Run, RunStatus
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import (
    FAILURE,
    OWNER,
    SUCCESS,
    add_thread,
    enqueue,
    finish,
    new_run,
    start,
    state,
    status_of,
)
from threadkeep.testing.resources.suite import ResourceSuite


async def found(store: ResourceStore, query: RunQuery) -> list[str]:
    """Return the ids a search finds, in its order."""
    return [run.run_id for run in (await store.runs.search(query)).rows]


async def present(store: ResourceStore, run_id: str) -> Run:
    """Return a run that must be there."""
    run = await store.runs.get(run_id)
    assert run is not None
    return run


class RunSuite(ResourceSuite):
    """One case per promise of ``RunRepo`` but for those of its queue; see ``QueueSuite``."""

    # Admitting

    async def test_an_unclaimed_run_is_pending_and_reads_back(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        new = new_run(kwargs={"input": {"x": 1}}, metadata={"m": 1}, after_seconds=2)
        admission = await store.runs.admit(new, claim=None)
        run = admission.run
        assert (run.status, run.owner, run.fence, run.cancel) == ("pending", None, 0, None)
        assert (run.kwargs, run.metadata) == ({"input": {"x": 1}}, {"m": 1})
        assert run.created_at == run.updated_at == clock.now()
        assert (run.start_at - clock.now()).total_seconds() == 2
        assert (run.reason, run.error) == (None, None)
        assert await store.runs.get("r1") == run
        assert (await store.runs.search(RunQuery(thread_id="t1"))).rows == [run]
        assert (admission.head_checkpoint_id, list(admission.displaced)) == (None, [])

    async def test_a_claimed_run_starts_at_once(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        run = await start(store)
        assert (run.status, run.owner, run.fence) == ("running", "owner-1", 1)
        assert run.lease_expires_at is not None
        assert (run.lease_expires_at - clock.now()).total_seconds() == 30
        assert await store.runs.get("r1") == run

    async def test_a_claimed_run_waits_for_the_one_before_it(self, store: ResourceStore) -> None:
        await add_thread(store)
        await start(store, "r1")
        second = await start(store, "r2")
        assert (second.status, second.owner, second.fence) == ("pending", None, 0)

    async def test_a_claimed_run_waits_for_its_time(self, store: ResourceStore) -> None:
        await add_thread(store)
        admission = await store.runs.admit(new_run(after_seconds=1), claim=OWNER)
        assert admission.run.status == "pending"

    async def test_admitting_makes_the_thread_busy_and_stamps_it(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, metadata={"user": "u", "graph_id": "old"})
        later = clock.advance(1)
        stamped = NewRun(
            "r1",
            "t1",
            "a1",
            {},
            thread_metadata={"graph_id": "chat", "assistant_id": "a1"},
            thread_config={"configurable": {"x": 1}},
        )
        await store.runs.admit(stamped, claim=None)
        thread = await store.threads.get("t1")
        assert thread is not None
        assert thread.metadata == {"user": "u", "graph_id": "chat", "assistant_id": "a1"}
        assert (thread.config, thread.status) == ({"configurable": {"x": 1}}, "busy")
        assert thread.updated_at == later

    async def test_no_thread_config_leaves_the_threads_own(self, store: ResourceStore) -> None:
        await add_thread(store)
        await store.runs.admit(NewRun("r1", "t1", "a1", {}, thread_config={"a": 1}), claim=None)
        await enqueue(store, "r2")
        thread = await store.threads.get("t1")
        assert thread is not None
        assert thread.config == {"a": 1}

    async def test_admission_tells_the_head(self, store: ResourceStore) -> None:
        await add_thread(store)
        await store.threads.record_state("t1", state(head="c7"))
        assert (await enqueue(store)).head_checkpoint_id == "c7"

    async def test_an_unknown_thread_is_refused(self, store: ResourceStore) -> None:
        with pytest.raises(NotFoundError):
            await enqueue(store, "r1", "nobody")
        assert await store.runs.get("r1") is None

    async def test_a_taken_run_id_is_refused_and_nothing_changes(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await add_thread(store, "t2", metadata={"mine": 1})
        first = (await enqueue(store, "r1", "t1")).run
        with pytest.raises(AlreadyExistsError):
            await store.runs.admit(
                NewRun("r1", "t2", "a1", {}, thread_metadata={"theirs": 1}), claim=OWNER
            )
        assert await store.runs.get("r1") == first
        thread = await store.threads.get("t2")
        assert thread is not None
        assert (thread.status, thread.metadata) == ("idle", {"mine": 1})

    async def test_a_refused_interrupt_stops_nobody(self, store: ResourceStore) -> None:
        await add_thread(store)
        running = await start(store, "r1")
        with pytest.raises(AlreadyExistsError):
            await start(store, "r1", strategy="interrupt")
        assert await store.runs.get("r1") == running

    async def test_a_run_cannot_start_before_it_was_asked_for(self, store: ResourceStore) -> None:
        await add_thread(store)
        for odd in (-1, float("nan"), float("inf"), 1e300):
            with pytest.raises(InvalidRequestError):
                await enqueue(store, after_seconds=odd)
        assert await status_of(store) == "idle"

    # Multitask strategies and guards

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

    # Settling

    async def test_settling_writes_run_and_thread_together(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        run = await start(store)
        later = clock.advance(1)
        left = state("interrupted", values={"a": 1}, head="c2", interrupts={"t": [{"v": 1}]})
        settled = await finish(store, run, left=left)
        assert settled is not None
        assert (settled.status, settled.owner, settled.lease_expires_at) == ("success", None, None)
        assert (settled.updated_at, settled.fence) == (later, 1)
        assert await store.runs.get("r1") == settled
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.values) == ("interrupted", {"a": 1})
        assert (thread.head_checkpoint_id, thread.interrupts) == ("c2", {"t": [{"v": 1}]})
        assert thread.state_updated_at == later

    async def test_a_failure_is_kept_on_run_and_thread(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        left = state("error", error=FAILURE.error)
        settled = await finish(store, run, outcome=FAILURE, left=left)
        assert settled is not None
        assert (settled.status, settled.error) == ("error", FAILURE.error)
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.error) == ("error", FAILURE.error)

    async def test_the_next_success_clears_the_threads_error(self, store: ResourceStore) -> None:
        await add_thread(store)
        await finish(store, await start(store), outcome=FAILURE, left=state("error", error={}))
        await finish(store, await start(store, "r2"))
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.error) == ("idle", None)

    async def test_a_thread_stays_busy_while_another_run_waits(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store, "r1")
        await enqueue(store, "r2")
        await finish(store, run, left=state("interrupted", values={"a": 1}))
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.values) == ("busy", {"a": 1})
        (second,) = await store.runs.claim(OWNER, limit=5)
        await finish(store, second)
        assert await status_of(store) == "idle"

    @pytest.mark.parametrize(
        ("outcome", "status"),
        [
            (Outcome("interrupted", reason="cancelled"), "idle"),
            (Outcome("success"), "idle"),
            (Outcome("error", error={"error": "E"}), "error"),
            (Outcome("timeout", reason="timeout", error={"error": "T"}), "error"),
        ],
    )
    async def test_without_a_state_the_thread_keeps_its_values(
        self, store: ResourceStore, outcome: Outcome, status: str
    ) -> None:
        await add_thread(store)
        kept = state("interrupted", values={"a": 1}, head="c1", interrupts={"t": [1]}, error={})
        before = await store.threads.record_state("t1", kept)
        run = await start(store)
        settled = await store.runs.settle("r1", fence=run.fence, outcome=outcome, state=None)
        assert settled is not None
        assert (settled.status, settled.reason) == (outcome.status, outcome.reason)
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.error) == (status, outcome.error)
        assert (thread.values, thread.head_checkpoint_id) == ({"a": 1}, "c1")
        assert thread.interrupts == {"t": [1]}
        assert thread.state_updated_at == before.state_updated_at

    async def test_a_stale_fence_settles_nothing(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        for stale in (run.fence - 1, run.fence + 1):
            refused = await store.runs.settle(
                "r1", fence=stale, outcome=SUCCESS, state=state(values={"bad": 1})
            )
            assert refused is None
        assert await store.runs.get("r1") == run
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.values) == ("busy", None)

    async def test_only_a_running_run_is_settled(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store, "r1")
        pending = (await enqueue(store, "r2")).run
        assert await finish(store, pending, left=state(values={"bad": 1})) is None
        assert await finish(store, run) is not None
        again = await finish(store, run, outcome=FAILURE, left=state("error"))
        assert again is None
        assert (await present(store, "r1")).status == "success"
        gone = await store.runs.settle("nobody", fence=1, outcome=SUCCESS, state=None)
        assert gone is None

    async def test_a_run_ends_once_however_many_settle_it(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        results = await asyncio.gather(*(finish(store, run) for _ in range(8)))
        assert sum(result is not None for result in results) == 1

    async def test_an_outcome_that_is_no_end_is_refused(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        early: list[RunStatus] = ["pending", "running"]
        for status in early:
            with pytest.raises(InvalidRequestError):
                await finish(store, run, outcome=Outcome(status))
        assert await store.runs.get("r1") == run

    # Cancelling and deleting

    async def test_cancelling_a_pending_run_ends_it_and_frees_its_thread(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await store.threads.record_state("t1", state("interrupted", values={"a": 1}))
        await enqueue(store)
        run = await store.runs.request_cancel("r1", "interrupt")
        assert run is not None
        assert (run.status, run.reason, run.cancel) == ("interrupted", "cancelled", "interrupt")
        assert await store.runs.get("r1") == run
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.values) == ("interrupted", {"a": 1})

    async def test_rolling_back_a_pending_run_deletes_it(self, store: ResourceStore) -> None:
        await add_thread(store)
        await enqueue(store)
        run = await store.runs.request_cancel("r1", "rollback")
        assert run is not None
        assert run.run_id == "r1"
        assert await store.runs.get("r1") is None
        assert await status_of(store) == "idle"

    async def test_cancelling_one_of_several_keeps_the_thread_busy(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await enqueue(store, "r1")
        await enqueue(store, "r2")
        await store.runs.request_cancel("r1", "interrupt")
        assert await status_of(store) == "busy"

    async def test_cancelling_a_running_run_asks_its_owner(self, store: ResourceStore) -> None:
        await add_thread(store)
        await start(store)
        run = await store.runs.request_cancel("r1", "interrupt")
        assert run is not None
        assert (run.status, run.cancel, run.owner) == ("running", "interrupt", "owner-1")
        assert await store.runs.get("r1") == run
        assert await status_of(store) == "busy"

    async def test_a_rollback_once_asked_for_stays_one(self, store: ResourceStore) -> None:
        await add_thread(store)
        await start(store)
        await store.runs.request_cancel("r1", "interrupt")
        await store.runs.request_cancel("r1", "rollback")
        run = await store.runs.request_cancel("r1", "interrupt")
        assert run is not None
        assert run.cancel == "rollback"

    async def test_cancelling_a_final_run_changes_nothing(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        settled = await finish(store, await start(store))
        clock.advance(1)
        assert await store.runs.request_cancel("r1", "rollback") == settled
        assert await store.runs.get("r1") == settled

    async def test_cancelling_an_unknown_run_is_none(self, store: ResourceStore) -> None:
        assert await store.runs.request_cancel("nobody", "interrupt") is None

    async def test_delete_frees_the_thread(self, store: ResourceStore) -> None:
        await add_thread(store)
        await store.threads.record_state("t1", state("interrupted"))
        await start(store, "r1")
        await enqueue(store, "r2")
        assert await store.runs.delete("r1")
        assert not await store.runs.delete("r1")
        assert await store.runs.get("r1") is None
        assert await status_of(store) == "busy"
        assert await store.runs.delete("r2")
        assert await status_of(store) == "interrupted"
        assert not await store.runs.delete("nobody")

    async def test_a_deleted_run_is_not_settled(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        await store.runs.delete("r1")
        assert await finish(store, run, left=state("error", values={"bad": 1})) is None
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.values) == ("idle", None)

    # Reading

    async def test_get_is_scoped_to_the_thread(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = (await enqueue(store)).run
        assert await store.runs.get("r1", thread_id="t1") == run
        assert await store.runs.get("r1", thread_id="t2") is None
        assert await store.runs.get("nobody") is None

    async def test_search_is_newest_first_and_breaks_ties_by_id(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        for run_id in ("b", "c", "a"):
            await enqueue(store, run_id)
        clock.advance(0.000_001)
        await enqueue(store, "0")
        for _ in range(2):
            assert await found(store, RunQuery(thread_id="t1")) == ["0", "c", "b", "a"]
        assert await found(store, RunQuery(thread_id="t1", limit=1)) == ["0"]

    async def test_newest_is_by_creation_also_when_the_clock_went_back(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await enqueue(store, "first")
        clock.advance(-60)
        await enqueue(store, "second")
        assert await found(store, RunQuery(thread_id="t1")) == ["first", "second"]

    async def test_a_thread_never_run_has_none(self, store: ResourceStore) -> None:
        await add_thread(store)
        await add_thread(store, "t2")
        await enqueue(store, "r1", "t2")
        assert await found(store, RunQuery(thread_id="t1", limit=1)) == []

    async def test_search_over_all_threads(self, store: ResourceStore) -> None:
        for number in (1, 2, 3):
            await add_thread(store, f"t{number}")
            await enqueue(store, f"r{number}", f"t{number}", metadata={"n": [number, 0]})
        await store.runs.request_cancel("r2", "interrupt")
        assert await found(store, RunQuery()) == ["r3", "r2", "r1"]
        active = RunQuery(statuses=["pending", "running"])
        assert await found(store, active) == ["r3", "r1"]
        assert await found(store, RunQuery(statuses=[])) == []
        assert await found(store, RunQuery(metadata={"n": [2]})) == ["r2"]

    async def test_search_by_assistant_and_status_before_paging(self, store: ResourceStore) -> None:
        await add_thread(store)
        for number in range(6):
            new = new_run(f"r{number}", assistant_id="odd" if number % 2 else "even")
            await store.runs.admit(new, claim=None)
        await store.runs.request_cancel("r5", "interrupt")
        assert await found(store, RunQuery(assistant_id="odd")) == ["r5", "r3", "r1"]
        query = RunQuery(thread_id="t1", statuses=["pending"], limit=2, offset=1)
        page = await store.runs.search(query)
        assert [run.run_id for run in page.rows] == ["r3", "r2"]
        assert (page.total, page.next_offset) == (5, 3)
