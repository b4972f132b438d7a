"""What every store must do as the queue of runs: claims, leases, fences."""

import asyncio

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import Claim
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import (
    OTHER,
    OWNER,
    SUCCESS,
    add_thread,
    enqueue,
    finish,
    start,
    state,
    status_of,
)
from threadkeep.testing.resources.suite import PAGE_SIZE, ResourceSuite


async def claimed(store: ResourceStore, claim: Claim = OWNER, *, limit: int = 10) -> list[str]:
    """Return the ids of what one claim takes, in its order."""
    return [run.run_id for run in await store.runs.claim(claim, limit=limit)]


class QueueSuite(ResourceSuite):
    """One case per promise of ``RunRepo`` as a queue."""

    async def test_a_claim_owns_and_leases(self, store: ResourceStore, clock: ManualClock) -> None:
        await add_thread(store)
        await enqueue(store)
        later = clock.advance(1)
        (run,) = await store.runs.claim(OWNER, limit=1)
        assert (run.status, run.owner, run.fence) == ("running", "owner-1", 1)
        assert run.lease_expires_at is not None
        assert (run.lease_expires_at - later).total_seconds() == 30
        assert run.updated_at == later
        assert await store.runs.get("r1") == run
        assert await status_of(store) == "busy"

    async def test_an_empty_queue_gives_nothing(self, store: ResourceStore) -> None:
        assert await claimed(store) == []
        assert await store.runs.next_start() is None

    async def test_a_claimed_run_is_not_claimed_again(self, store: ResourceStore) -> None:
        await add_thread(store)
        await enqueue(store)
        assert await claimed(store) == ["r1"]
        assert await claimed(store, OTHER) == []

    async def test_the_oldest_go_first_up_to_the_limit(self, store: ResourceStore) -> None:
        for number in (3, 1, 2):
            await add_thread(store, f"t{number}")
            await enqueue(store, f"r{number}", f"t{number}")
        assert await claimed(store, limit=0) == []
        assert await claimed(store, limit=-1) == []
        assert await claimed(store, limit=2) == ["r3", "r1"]
        assert await claimed(store, limit=2) == ["r2"]

    async def test_a_claim_may_be_larger_than_a_page(self, store: ResourceStore) -> None:
        for number in range(PAGE_SIZE + 5):
            await add_thread(store, f"t{number}")
            await enqueue(store, f"r{number}", f"t{number}")
        assert len(await claimed(store, limit=1000)) == PAGE_SIZE + 5

    async def test_a_thread_runs_one_at_a_time_in_the_order_admitted(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        for run_id in ("c", "a", "b"):
            await enqueue(store, run_id)
        order = []
        while taken := await store.runs.claim(OWNER, limit=10):
            (run,) = taken
            assert await claimed(store, OTHER) == []
            order.append(run.run_id)
            await finish(store, run)
        assert order == ["c", "a", "b"]
        assert await status_of(store) == "idle"

    async def test_the_order_is_that_of_admission_whatever_the_clocks_said(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await enqueue(store, "first")
        clock.advance(-3600)
        await enqueue(store, "second")
        clock.advance(3600)
        assert await claimed(store) == ["first"]

    async def test_a_run_waits_for_its_start(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await enqueue(store, after_seconds=1.5)
        assert await claimed(store) == []
        assert await store.runs.next_start() == 1.5
        clock.advance(1.499_999)
        assert await claimed(store) == []
        clock.advance(0.000_001)
        assert await store.runs.next_start() == 0
        assert await claimed(store) == ["r1"]
        assert await store.runs.next_start() is None

    async def test_a_delayed_run_holds_back_the_younger_of_its_thread_only(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, "t1")
        await add_thread(store, "t2")
        await enqueue(store, "delayed", "t1", after_seconds=10)
        await enqueue(store, "younger", "t1")
        await enqueue(store, "elsewhere", "t2")
        assert await claimed(store) == ["elsewhere"]
        assert await store.runs.next_start() == 10
        clock.advance(10)
        assert await claimed(store) == ["delayed"]
        assert await store.runs.next_start() is None

    async def test_next_start_is_zero_for_what_may_start(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await enqueue(store)
        clock.advance(5)
        assert await store.runs.next_start() == 0

    async def test_many_claimers_take_each_run_once(self, store: ResourceStore) -> None:
        for number in range(20):
            await add_thread(store, f"t{number}")
            await enqueue(store, f"a{number}", f"t{number}")
            await enqueue(store, f"b{number}", f"t{number}")
        takes = await asyncio.gather(
            *(store.runs.claim(Claim(f"owner-{n}", 30), limit=3) for n in range(16))
        )
        taken = [run.run_id for take in takes for run in take]
        assert sorted(taken) == sorted(f"a{number}" for number in range(20))
        for number, take in enumerate(takes):
            assert {run.owner for run in take} <= {f"owner-{number}"}

    async def test_admitting_and_claiming_at_once_loses_nothing(self, store: ResourceStore) -> None:
        await asyncio.gather(*(add_thread(store, f"t{number}") for number in range(10)))
        admits = (
            start(store, f"r{number}", f"t{number % 10}", claim=OWNER) for number in range(40)
        )
        claims = (store.runs.claim(OTHER, limit=2) for _ in range(20))
        await asyncio.gather(*admits, *claims)
        while (await store.runs.search(RunQuery(statuses=["pending"]))).total:
            running = await store.runs.search(RunQuery(statuses=["running"]))
            threads = [run.thread_id for run in running.rows]
            assert len(threads) == len(set(threads))
            for run in running.rows:
                assert await finish(store, run) is not None
            await store.runs.claim(OWNER, limit=20)
        assert (await store.runs.search(RunQuery())).total == 40

    # Leases

    async def test_extending_renews_the_lease(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        run = await start(store)
        clock.advance(29)
        assert await store.runs.extend(OWNER, ["r1"]) == {"r1": None}
        clock.advance(29)
        assert list(await store.runs.release_expired()) == []
        renewed = await store.runs.get("r1")
        assert renewed is not None
        assert renewed.fence == run.fence
        assert renewed.lease_expires_at is not None
        assert (renewed.lease_expires_at - clock.now()).total_seconds() == 1

    async def test_extending_tells_what_was_asked(self, store: ResourceStore) -> None:
        for number in (1, 2, 3):
            await add_thread(store, f"t{number}")
            await start(store, f"r{number}", f"t{number}")
        await store.runs.request_cancel("r1", "interrupt")
        await store.runs.request_cancel("r2", "rollback")
        asked = await store.runs.extend(OWNER, ["r1", "r2", "r3"])
        assert asked == {"r1": "interrupt", "r2": "rollback", "r3": None}

    async def test_extending_leaves_out_what_is_not_the_owners(self, store: ResourceStore) -> None:
        for number in range(1, 6):
            await add_thread(store, f"t{number}")
        await start(store, "mine", "t1")
        await start(store, "theirs", "t2", claim=OTHER)
        await enqueue(store, "pending", "t3")
        await finish(store, await start(store, "final", "t4"))
        await start(store, "deleted", "t5")
        await store.runs.delete("deleted")
        everything = ["mine", "theirs", "pending", "final", "deleted", "nobody"]
        assert await store.runs.extend(OWNER, everything) == {"mine": None}
        assert await store.runs.extend(OWNER, []) == {}

    async def test_extending_renews_nobody_elses_lease(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        theirs = await start(store, claim=OTHER)
        clock.advance(20)
        await store.runs.extend(OWNER, ["r1"])
        assert await store.runs.get("r1") == theirs

    async def test_a_late_owner_keeps_a_run_that_nobody_released(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await start(store)
        clock.advance(31)
        assert await store.runs.extend(OWNER, ["r1"]) == {"r1": None}
        assert list(await store.runs.release_expired()) == []

    async def test_a_run_whose_lease_ran_out_is_settled_and_its_thread_freed(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await store.threads.record_state("t1", state(values={"kept": 1}, head="c1"))
        run = await start(store)
        later = clock.advance(30)
        (released,) = await store.runs.release_expired()
        assert (released.run_id, released.status) == ("r1", "error")
        assert (released.reason, released.owner) == ("server_restarted", None)
        assert (released.lease_expires_at, released.updated_at) == (None, later)
        assert released.error["message"]
        assert await store.runs.get("r1") == released
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.error) == ("error", released.error)
        assert (thread.values, thread.head_checkpoint_id) == ({"kept": 1}, "c1")
        assert await finish(store, run, left=state(values={"late": 1})) is None
        assert await store.runs.extend(OWNER, ["r1"]) == {}

    async def test_live_leases_and_waiting_runs_are_never_released(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in (1, 2, 3):
            await add_thread(store, f"t{number}")
        dead = Claim("dead", 5)
        await start(store, "dead", "t1", claim=dead)
        await start(store, "alive", "t2")
        await enqueue(store, "pending", "t3")
        clock.advance(29.999_999)
        assert [run.run_id for run in await store.runs.release_expired()] == ["dead"]
        assert list(await store.runs.release_expired()) == []
        assert [await status_of(store, f"t{n}") for n in (1, 2, 3)] == ["error", "busy", "busy"]

    async def test_a_released_thread_goes_on_with_its_next_run(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await start(store, "r1")
        await enqueue(store, "r2")
        clock.advance(31)
        await store.runs.release_expired()
        assert await status_of(store) == "busy"
        assert await claimed(store, OTHER) == ["r2"]

    async def test_a_run_is_released_once_however_many_sweep(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(5):
            await add_thread(store, f"t{number}")
            await start(store, f"r{number}", f"t{number}")
        clock.advance(31)
        sweeps = await asyncio.gather(*(store.runs.release_expired() for _ in range(6)))
        released = [run.run_id for sweep in sweeps for run in sweep]
        assert sorted(released) == [f"r{number}" for number in range(5)]

    async def test_settling_is_refused_once_released_also_at_once(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        run = await start(store)
        clock.advance(31)
        settled, released = await asyncio.gather(
            store.runs.settle("r1", fence=run.fence, outcome=SUCCESS, state=state()),
            store.runs.release_expired(),
        )
        assert (settled is None) == (len(released) == 1)

    async def test_a_claim_that_nobody_makes_is_refused(self, store: ResourceStore) -> None:
        await add_thread(store)
        await enqueue(store)
        for odd in (Claim("", 30), Claim("o", 0), Claim("o", -1), Claim("o", float("nan"))):
            with pytest.raises(InvalidRequestError):
                await store.runs.claim(odd, limit=1)
            with pytest.raises(InvalidRequestError):
                await store.runs.extend(odd, ["r1"])
        assert await claimed(store) == ["r1"]
