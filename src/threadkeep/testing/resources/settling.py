"""What every store must do when a run ends, is cancelled or deleted."""

import asyncio
from typing import Any

import pytest

from threadkeep.errors import InvalidRequestError, StorageError
from threadkeep.model.runs import Outcome, Run, RunStatus
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import (
    FAILURE,
    OWNER,
    SUCCESS,
    add_thread,
    enqueue,
    finish,
    start,
    state,
    status_of,
)
from threadkeep.testing.resources.suite import ResourceSuite


async def present(store: ResourceStore, run_id: str) -> Run:
    """Return a run that must be there."""
    run = await store.runs.get(run_id)
    assert run is not None
    return run


class SettlingSuite(ResourceSuite):
    """One case per promise of ``settle``, ``request_cancel`` and ``delete``."""

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

    async def test_a_settle_whose_check_refuses_writes_nothing(self, store: ResourceStore) -> None:
        def refuse() -> None:
            raise StorageError("what the run wrote is lost")

        await add_thread(store)
        run = await start(store)
        asked: dict[str, Any] = {"fence": run.fence, "outcome": SUCCESS, "state": state()}
        with pytest.raises(StorageError, match="is lost"):
            await store.runs.settle("r1", **asked, check=refuse)
        assert (await present(store, "r1")).status == "running"
        assert await status_of(store) == "busy"
        stale = await store.runs.settle("r1", **{**asked, "fence": 9}, check=refuse)
        assert stale is None  # there is nothing to check for a run that is another's
        looked: list[bool] = []
        settled = await store.runs.settle("r1", **asked, check=lambda: looked.append(True))
        assert settled is not None
        assert looked

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
