"""What every store must do with lifetimes of threads."""

from datetime import timedelta

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.model.queries import ThreadQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import add_thread, state
from threadkeep.testing.resources.suite import PAGE_SIZE, ResourceSuite


async def expired(store: ResourceStore, limit: int | None = None) -> list[str]:
    """Return the ids of what is expired."""
    return list(await store.threads.list_expired(limit=limit))


class ThreadLifetimeSuite(ResourceSuite):
    """One case per promise about lifetimes of threads."""

    async def test_a_thread_without_a_lifetime_never_expires(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        thread = await add_thread(store)
        assert (thread.ttl_minutes, thread.expires_at) == (None, None)
        clock.advance(1e9)
        assert await expired(store) == []

    async def test_a_thread_is_expired_at_its_very_microsecond(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        thread = await add_thread(store, ttl_minutes=1)
        assert thread.expires_at == clock.now() + timedelta(minutes=1)
        clock.advance(59.999_999)
        assert await expired(store) == []
        clock.advance(0.000_001)
        assert await expired(store) == ["t1"]

    @pytest.mark.parametrize(("minutes", "seconds"), [(0.4, 24), (0.001, 0.06), (0.05, 3)])
    async def test_a_lifetime_may_be_below_a_minute_or_a_second(
        self, store: ResourceStore, clock: ManualClock, minutes: float, seconds: float
    ) -> None:
        await add_thread(store, ttl_minutes=minutes)
        clock.advance(seconds - 0.000_001)
        assert await expired(store) == []
        clock.advance(0.000_001)
        assert await expired(store) == ["t1"]

    async def test_an_expired_thread_still_reads(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        thread = await add_thread(store, ttl_minutes=1)
        clock.advance(1e6)
        assert await store.threads.get("t1") == thread
        assert list((await store.threads.search(ThreadQuery())).rows) == [thread]
        assert await store.threads.count(ThreadQuery()) == 1
        assert (await store.threads.record_state("t1", state())).expires_at == thread.expires_at

    async def test_a_deleted_thread_is_not_reported(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, ttl_minutes=1)
        clock.advance(60)
        await store.threads.delete("t1")
        assert await expired(store) == []

    async def test_null_pins_and_a_new_value_restarts_the_clock(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, ttl_minutes=1)
        clock.advance(59)
        pinned = await store.threads.update("t1", ttl_minutes=None)
        assert (pinned.ttl_minutes, pinned.expires_at) == (None, None)
        clock.advance(1e6)
        assert await expired(store) == []
        restarted = await store.threads.update("t1", ttl_minutes=2)
        assert restarted.expires_at == clock.now() + timedelta(minutes=2)
        clock.advance(119)
        kept = await store.threads.update("t1", metadata={"a": 1})
        assert kept.expires_at == restarted.expires_at
        clock.advance(1)
        assert await expired(store) == ["t1"]
        await store.threads.update("t1", ttl_minutes=1)
        assert await expired(store) == []

    async def test_the_longest_expired_go_first_then_by_id_a_page_at_a_time(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(PAGE_SIZE):
            await add_thread(store, f"t{number:03}", ttl_minutes=2)
        await add_thread(store, "z", ttl_minutes=1)
        await add_thread(store, "kept", ttl_minutes=3)
        clock.advance(120)
        assert await expired(store, 3) == ["z", "t000", "t001"]
        assert len(await expired(store)) == PAGE_SIZE
        assert len(await expired(store, 10 * PAGE_SIZE)) == PAGE_SIZE
        assert await expired(store, 0) == []
        with pytest.raises(InvalidRequestError):
            await expired(store, -1)

    async def test_a_clock_that_goes_back_expires_nothing(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, ttl_minutes=1)
        clock.advance(60)
        assert await expired(store) == ["t1"]
        clock.advance(-30)
        assert await expired(store) == []
