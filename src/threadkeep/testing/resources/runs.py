"""What every store must do with runs: admitting and reading them."""

import pytest

from threadkeep.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
)
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import NewRun
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import (
    OWNER,
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


class RunSuite(ResourceSuite):
    """One case per promise of ``RunRepo`` but for those of the next three suites."""

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

    async def test_the_latest_of_a_thread_is_by_creation_then_id(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await add_thread(store, "t2")
        assert await store.runs.latest_of("t1") is None
        for run_id in ("b", "c", "a"):
            await enqueue(store, run_id)
        clock.advance(1)
        await enqueue(store, "elsewhere", "t2")
        for _ in range(2):
            latest = await store.runs.latest_of("t1")
            assert latest == await store.runs.get("c")
        clock.advance(-5)
        await enqueue(store, "z")
        latest = await store.runs.latest_of("t1")
        assert latest is not None
        assert latest.run_id == "c"
        assert await store.runs.latest_of("nobody") is None

    async def test_what_a_run_was_made_with_stays_through_its_life(
        self, store: ResourceStore
    ) -> None:
        kwargs = {
            "base": None,
            "plan": {"back_to": {"checkpoint_id": None}, "displaced": ["r0"]},
            "input": {"é": [1, {"x": False}]},
        }
        await add_thread(store)
        await store.runs.admit(new_run(kwargs=kwargs), claim=None)
        (run,) = await store.runs.claim(OWNER, limit=1)
        assert run.kwargs == kwargs
        assert "base" in run.kwargs
        await store.runs.extend(OWNER, ["r1"])
        await store.runs.request_cancel("r1", "rollback")
        settled = await finish(store, run)
        assert settled is not None
        assert settled.kwargs == kwargs
        held = await store.runs.get("r1")
        assert held is not None
        assert held.kwargs == kwargs
        assert list(held.kwargs) == list(kwargs)

    async def test_a_run_made_with_nothing_has_nothing(self, store: ResourceStore) -> None:
        await add_thread(store)
        await enqueue(store)
        run = await store.runs.get("r1")
        assert run is not None
        assert run.kwargs == {}

    async def test_count_ignores_the_page(self, store: ResourceStore) -> None:
        await add_thread(store)
        for number in range(5):
            await enqueue(store, f"r{number}", metadata={"even": number % 2 == 0})
        assert await store.runs.count(RunQuery(limit=1, offset=3)) == 5
        assert await store.runs.count(RunQuery(metadata={"even": True})) == 3
        assert await store.runs.count(RunQuery(statuses=[])) == 0

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
