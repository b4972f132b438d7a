"""What every store must do with deliveries."""

from datetime import timedelta
from typing import Any

import anyio
import pytest

from threadkeep.errors import AlreadyExistsError, InvalidRequestError, ValueNotStorableError
from threadkeep.model.deliveries import Attempt, Delivery, NewDelivery
from threadkeep.model.queries import DeliveryQuery
from threadkeep.model.runs import Run, RunStatus
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import FAILURE, SUCCESS, add_thread, enqueue, start
from threadkeep.testing.resources.suite import PAGE_SIZE, ResourceSuite

URL = "https://example.test/hook"


def new_delivery(
    delivery_id: str = "d1",
    run_id: str = "r1",
    thread_id: str = "t1",
    *,
    status: RunStatus = "success",
    lease_seconds: float = 10,
    **given: Any,
) -> NewDelivery:
    """Build a delivery."""
    payload = {"run_id": run_id, "values": {"é": [1]}}
    return NewDelivery(delivery_id, run_id, thread_id, URL, payload, status, lease_seconds, **given)


def telling(delivery_id: str = "d1") -> Any:
    """Return what makes the delivery of a settled run."""

    def deliver(run: Run) -> NewDelivery:
        return new_delivery(delivery_id, run.run_id, run.thread_id, status=run.status)

    return deliver


async def due(store: ResourceStore, limit: int | None = None) -> list[str]:
    """Return the ids of what is due."""
    return [row.delivery_id for row in await store.deliveries.list_due(limit=limit)]


async def found(store: ResourceStore, query: DeliveryQuery) -> list[str]:
    """Return the ids a search finds, in its order."""
    return [row.delivery_id for row in (await store.deliveries.search(query)).rows]


class DeliverySuite(ResourceSuite):
    """One case per promise of ``DeliveryRepo``; see ``OutboxSuite``, too."""

    async def test_a_delivery_is_born_with_its_first_attempt_under_way(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        row = await store.deliveries.add(new_delivery(is_truncated=True))
        assert (row.status, row.attempt, row.last_error) == ("delivering", 1, None)
        assert row.next_attempt_at == clock.now() + timedelta(seconds=10)
        assert (row.expires_at, row.is_truncated, row.url) == (None, True, URL)
        assert row.created_at == row.updated_at == clock.now()
        assert await store.deliveries.get("d1") == row
        assert await store.deliveries.get("nobody") is None

    async def test_a_taken_id_is_refused(self, store: ResourceStore) -> None:
        row = await store.deliveries.add(new_delivery())
        with pytest.raises(AlreadyExistsError):
            await store.deliveries.add(new_delivery(run_id="r2"))
        assert await store.deliveries.get("d1") == row

    async def test_a_run_that_is_gone_can_still_be_told_of(self, store: ResourceStore) -> None:
        assert (await store.deliveries.add(new_delivery(status="timeout"))).run_status == "timeout"

    async def test_the_status_that_was_committed_counts(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        row = await store.deliveries.add(new_delivery("early", status="success"))
        assert row.run_status == "success"
        await store.runs.settle("r1", fence=run.fence, outcome=FAILURE, state=None)
        row = await store.deliveries.add(new_delivery("late", status="success"))
        assert row.run_status == "error"

    async def test_it_is_held_back_until_its_lease_is_over(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.deliveries.add(new_delivery())
        clock.advance(9.999_999)
        assert await store.deliveries.claim(lease_seconds=10, limit=5) == []
        clock.advance(0.000_001)
        (taken,) = await store.deliveries.claim(lease_seconds=20, limit=5)
        assert (taken.status, taken.attempt) == ("delivering", 2)
        assert taken.next_attempt_at == clock.now() + timedelta(seconds=20)
        assert await store.deliveries.get("d1") == taken
        assert await store.deliveries.claim(lease_seconds=20, limit=5) == []

    async def test_exactly_one_of_many_claimers_takes_it(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(4):
            await store.deliveries.add(new_delivery(f"d{number}"))
        clock.advance(10)
        taken: list[str] = []

        async def claim() -> None:
            rows = await store.deliveries.claim(lease_seconds=10, limit=3)
            taken.extend(row.delivery_id for row in rows)

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(claim)
        assert sorted(taken) == ["d0", "d1", "d2", "d3"]

    async def test_the_soonest_go_first_then_by_id(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for delivery_id, seconds in (("late", 9), ("b", 5), ("a", 5), ("first", 1)):
            await store.deliveries.add(new_delivery(delivery_id, lease_seconds=seconds))
        clock.advance(9)
        assert await due(store) == ["first", "a", "b", "late"]
        taken = await store.deliveries.claim(lease_seconds=10, limit=3)
        assert [row.delivery_id for row in taken] == ["first", "a", "b"]

    async def test_claims_and_lists_of_due_are_bounded(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(PAGE_SIZE + 3):
            await store.deliveries.add(new_delivery(f"d{number:03}"))
        clock.advance(10)
        assert len(await due(store)) == PAGE_SIZE
        assert await due(store, 2) == ["d000", "d001"]
        assert await due(store, 0) == []
        assert len(await store.deliveries.claim(lease_seconds=9, limit=9999)) == PAGE_SIZE
        assert await store.deliveries.claim(lease_seconds=9, limit=0) == []
        for call in (due(store, -1), store.deliveries.claim(lease_seconds=9, limit=-1)):
            with pytest.raises(InvalidRequestError):
                await call
        for seconds in (0, -1, float("nan")):
            with pytest.raises(InvalidRequestError):
                await store.deliveries.claim(lease_seconds=seconds, limit=1)

    async def test_listing_what_is_due_changes_nothing(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        row = await store.deliveries.add(new_delivery())
        clock.advance(10)
        assert [each async for each in _each(store)] == [row]
        assert await store.deliveries.get("d1") == row

    async def test_what_arrived_loses_its_payload(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.deliveries.add(new_delivery())
        later = clock.advance(1)
        done = await store.deliveries.record_attempt("d1", Attempt("delivered", keep_seconds=60))
        assert done is not None
        assert (done.status, done.payload, done.last_error) == ("delivered", None, None)
        assert (done.updated_at, done.expires_at) == (later, later + timedelta(seconds=60))
        assert await store.deliveries.get("d1") == done
        clock.advance(1e6)
        assert await due(store) == []

    async def test_what_is_tried_again_keeps_payload_and_reason(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        row = await store.deliveries.add(new_delivery())
        at = clock.now() + timedelta(seconds=4)
        again = await store.deliveries.record_attempt(
            "d1", Attempt("retry", error="502 \0", retry_at=at)
        )
        assert again is not None
        assert (again.status, again.payload, again.last_error) == ("pending", row.payload, "502 \0")
        assert (again.next_attempt_at, again.attempt, again.expires_at) == (at, 1, None)
        clock.advance(3.999_999)
        assert await due(store) == []
        clock.advance(0.000_001)
        assert await due(store) == ["d1"]

    async def test_what_was_given_up_keeps_its_payload(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        row = await store.deliveries.add(new_delivery())
        dead = await store.deliveries.record_attempt("d1", Attempt("dead", error="410"))
        assert dead is not None
        assert (dead.status, dead.payload, dead.last_error) == ("dead", row.payload, "410")
        assert dead.expires_at is not None
        clock.advance(1e5)
        assert await due(store) == []

    async def test_the_number_of_an_attempt_may_be_told(self, store: ResourceStore) -> None:
        await store.deliveries.add(new_delivery())
        told = await store.deliveries.record_attempt("d1", Attempt("dead", attempt=7))
        kept = await store.deliveries.record_attempt("d1", Attempt("dead"))
        assert told is not None
        assert kept is not None
        assert (told.attempt, kept.attempt) == (7, 7)

    async def test_an_attempt_that_is_none_is_refused(self, store: ResourceStore) -> None:
        row = await store.deliveries.add(new_delivery())
        for odd in (Attempt("retry"), Attempt("lost"), Attempt("dead", keep_seconds=0)):  # type: ignore[arg-type]
            with pytest.raises(InvalidRequestError):
                await store.deliveries.record_attempt("d1", odd)
        assert await store.deliveries.get("d1") == row
        assert await store.deliveries.record_attempt("nobody", Attempt("dead")) is None

    async def test_a_dead_one_is_replayed_at_once(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.deliveries.add(new_delivery())
        await store.deliveries.record_attempt("d1", Attempt("dead", error="410"))
        clock.advance(1)
        again = await store.deliveries.replay("d1")
        assert again is not None
        assert (again.status, again.attempt, again.expires_at) == ("pending", 1, None)
        assert again.next_attempt_at == clock.now()
        (taken,) = await store.deliveries.claim(lease_seconds=10, limit=1)
        assert (taken.delivery_id, taken.attempt) == ("d1", 2)

    async def test_what_arrived_or_is_unknown_is_not_replayed(self, store: ResourceStore) -> None:
        await store.deliveries.add(new_delivery())
        done = await store.deliveries.record_attempt("d1", Attempt("delivered"))
        assert await store.deliveries.replay("d1") is None
        assert await store.deliveries.replay("nobody") is None
        assert await store.deliveries.get("d1") == done

    async def test_search_is_newest_first_and_breaks_ties_by_id(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for delivery_id in ("b", "a", "c"):
            await store.deliveries.add(new_delivery(delivery_id))
        clock.advance(1)
        await store.deliveries.add(new_delivery("0"))
        assert await found(store, DeliveryQuery()) == ["0", "c", "b", "a"]

    async def test_search_by_run_thread_and_status_before_paging(
        self, store: ResourceStore
    ) -> None:
        for number in range(4):
            await store.deliveries.add(new_delivery(f"d{number}"))
        await store.deliveries.add(new_delivery("other", "r2", "t2"))
        for number in (0, 2):
            await store.deliveries.record_attempt(f"d{number}", Attempt("dead"))
        assert await found(store, DeliveryQuery(run_id="r2")) == ["other"]
        assert await found(store, DeliveryQuery(thread_id="t1", limit=2)) == ["d3", "d2"]
        dead = DeliveryQuery(run_id="r1", status="dead", limit=1, offset=1)
        assert await found(store, dead) == ["d0"]
        assert (await store.deliveries.search(dead)).total == 2

    async def test_a_sweep_removes_only_final_ones_whose_time_is_over(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(1, 5):
            await store.deliveries.add(new_delivery(f"d{number}"))
            outcome: Any = "dead" if number % 2 else "delivered"
            await store.deliveries.record_attempt(
                f"d{number}", Attempt(outcome, keep_seconds=10 - number)
            )
        await store.deliveries.add(new_delivery("waiting"))
        clock.advance(8)
        assert await store.deliveries.sweep(limit=0) == 0
        assert await store.deliveries.sweep(limit=-1) == 0
        assert await store.deliveries.sweep(limit=1) == 1
        assert await store.deliveries.get("d4") is None
        assert await store.deliveries.sweep(limit=10) == 2
        assert await store.deliveries.sweep(limit=10) == 0
        assert await found(store, DeliveryQuery()) == ["waiting", "d1"]
        clock.advance(1e7)
        assert await store.deliveries.sweep(limit=10) == 1
        assert await found(store, DeliveryQuery()) == ["waiting"]

    async def test_a_replayed_one_is_not_swept(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.deliveries.add(new_delivery())
        await store.deliveries.record_attempt("d1", Attempt("dead", keep_seconds=1))
        await store.deliveries.replay("d1")
        clock.advance(1e5)
        assert await store.deliveries.sweep(limit=10) == 0


async def _each(store: ResourceStore) -> Any:
    for row in await store.deliveries.list_due():
        yield row


class OutboxSuite(ResourceSuite):
    """One case per promise about deliveries that are written with what they tell of."""

    async def test_status_and_delivery_are_written_together(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        run = await start(store)
        settled = await store.runs.settle(
            "r1", fence=run.fence, outcome=SUCCESS, state=None, deliver=telling()
        )
        assert settled is not None
        row = await store.deliveries.get("d1")
        assert row is not None
        assert (row.run_id, row.thread_id, row.run_status) == ("r1", "t1", "success")
        assert (row.status, row.attempt) == ("delivering", 1)
        assert row.next_attempt_at == clock.now() + timedelta(seconds=10)

    async def test_an_error_is_stored_with_the_status_that_is_told(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        run = await start(store)
        heard: list[Run] = []

        def deliver(ended: Run) -> NewDelivery:
            heard.append(ended)
            return new_delivery(status=ended.status)

        settled = await store.runs.settle(
            "r1", fence=run.fence, outcome=FAILURE, state=None, deliver=deliver
        )
        assert heard[-1] == settled == await store.runs.get("r1")
        row = await store.deliveries.get("d1")
        assert row is not None
        assert row.run_status == "error"

    async def test_a_stale_settle_tells_nothing(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        stale = await store.runs.settle(
            "r1", fence=run.fence - 1, outcome=SUCCESS, state=None, deliver=telling()
        )
        assert stale is None
        assert await found(store, DeliveryQuery()) == []

    async def test_a_settle_may_tell_nothing(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        await store.runs.settle(
            "r1", fence=run.fence, outcome=SUCCESS, state=None, deliver=lambda _: None
        )
        assert await found(store, DeliveryQuery()) == []

    async def test_a_delivery_that_is_refused_refuses_the_settle(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        run = await start(store)
        await store.deliveries.add(new_delivery("taken"))
        with pytest.raises(AlreadyExistsError):
            await store.runs.settle(
                "r1", fence=run.fence, outcome=SUCCESS, state=None, deliver=telling("taken")
            )

        def odd(_: Run) -> NewDelivery:
            return NewDelivery("d1", "r1", "t1", URL, {"a": {1}}, "success", 10)

        with pytest.raises(ValueNotStorableError):
            await store.runs.settle("r1", fence=run.fence, outcome=SUCCESS, state=None, deliver=odd)
        assert await store.runs.get("r1") == run

    async def test_released_runs_are_told_of(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in (1, 2):
            await add_thread(store, f"t{number}")
            await start(store, f"r{number}", f"t{number}")
        await store.deliveries.add(new_delivery("d2"))
        clock.advance(31)
        released = await store.runs.release_expired(
            deliver=lambda run: telling(f"d{run.run_id[1:]}")(run)
        )
        assert [run.status for run in released] == ["error", "error"]
        row = await store.deliveries.get("d1")
        assert row is not None
        assert (row.run_id, row.run_status) == ("r1", "error")
        kept = await store.deliveries.get("d2")
        assert kept is not None
        assert kept.run_id == "r1"

    async def test_deleting_a_run_or_thread_erases_its_deliveries(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await add_thread(store, "t2")
        await enqueue(store, "r1")
        await enqueue(store, "r2")
        await enqueue(store, "r3", "t2")
        for number, thread_id in ((1, "t1"), (2, "t1"), (3, "t2")):
            await store.deliveries.add(new_delivery(f"d{number}", f"r{number}", thread_id))
        await store.runs.delete("r1")
        assert await found(store, DeliveryQuery()) == ["d3", "d2"]
        await store.threads.delete("t1")
        assert await found(store, DeliveryQuery()) == ["d3"]

    async def test_a_deletion_may_leave_what_is_still_to_be_sent(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        for delivery_id in ("sent", "dead", "waiting"):
            await store.deliveries.add(new_delivery(delivery_id))
        await store.deliveries.record_attempt("sent", Attempt("delivered"))
        await store.deliveries.record_attempt("dead", Attempt("dead"))
        await store.threads.delete("t1", keep_undelivered=True)
        assert await found(store, DeliveryQuery()) == ["waiting"]
        done: Delivery | None = await store.deliveries.record_attempt(
            "waiting", Attempt("delivered")
        )
        assert done is not None
        assert done.payload is None
