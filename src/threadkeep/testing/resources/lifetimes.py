"""What a lifetime does to an item, on every store."""

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.model.items import (
    DeleteItem,
    GetItem,
    Item,
    ItemQuery,
    NamespaceQuery,
    PutItem,
)
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.suite import ResourceSuite


async def read(store: ResourceStore, key: str = "k") -> Item | None:
    """Read an item and leave its lifetime as it is."""
    return await store.items.get(("n",), key, refresh=False)


def left_seconds(item: Item | None, clock: ManualClock) -> float:
    """Return how long an item has to live."""
    assert item is not None
    assert item.expires_at is not None
    return (item.expires_at - clock.now()).total_seconds()


class LifetimeSuite(ResourceSuite):
    """One case per promise about lifetimes."""

    async def test_no_lifetime_never_ends(self, store: ResourceStore, clock: ManualClock) -> None:
        await store.items.put(("n",), "k", {})
        clock.advance(1e9)
        assert await read(store) is not None
        assert await store.items.sweep(limit=10) == 0

    async def test_an_expired_item_is_absent_everywhere(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "k", {"x": 1}, ttl_minutes=1)
        await store.items.put(("m",), "k", {"x": 1})
        clock.advance(60)
        assert await store.items.get(("n",), "k") is None
        page = await store.items.search(ItemQuery(filter={"x": 1}))
        assert ([item.namespace for item in page.rows], page.total) == ([("m",)], 1)
        assert list((await store.items.list_namespaces(NamespaceQuery())).rows) == [("m",)]
        answers = await store.items.apply([GetItem(("n",), "k"), ItemQuery(("n",))])
        assert list(answers) == [None, []]

    async def test_a_lifetime_ends_at_its_very_microsecond(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "k", {}, ttl_minutes=1)
        clock.advance(59.999_999)
        assert await read(store) is not None
        clock.advance(0.000_001)
        assert await read(store) is None

    @pytest.mark.parametrize(
        ("minutes", "seconds"), [(0.4, 24), (1.5, 90), (0.001, 0.06), (2, 120)]
    )
    async def test_minutes_may_be_fractions(
        self, store: ResourceStore, clock: ManualClock, minutes: float, seconds: float
    ) -> None:
        item = await store.items.put(("n",), "k", {}, ttl_minutes=minutes)
        assert (item.ttl_minutes, left_seconds(item, clock)) == (minutes, seconds)
        assert type(item.ttl_minutes) is float
        assert await read(store) == item

    async def test_reading_restarts_a_lifetime(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "k", {}, ttl_minutes=0.5)
        clock.advance(20)
        item = await store.items.get(("n",), "k")
        assert left_seconds(item, clock) == 30
        clock.advance(20)
        (item,) = (await store.items.search(ItemQuery())).rows
        assert left_seconds(item, clock) == 30
        clock.advance(20)
        _, found = await store.items.apply([GetItem(("n",), "k"), ItemQuery()])
        assert left_seconds(found[0], clock) == 30
        clock.advance(29)
        assert await read(store) is not None

    async def test_reading_without_refresh_leaves_a_lifetime(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "k", {}, ttl_minutes=1)
        clock.advance(40)
        assert left_seconds(await read(store), clock) == 20
        (item,) = (await store.items.search(ItemQuery(refresh=False))).rows
        assert left_seconds(item, clock) == 20
        await store.items.apply([GetItem(("n",), "k", refresh=False), ItemQuery(refresh=False)])
        clock.advance(20)
        assert await read(store) is None

    async def test_reading_does_not_give_a_lifetime(self, store: ResourceStore) -> None:
        await store.items.put(("n",), "k", {})
        item = await store.items.get(("n",), "k")
        assert item is not None
        assert item.expires_at is None

    async def test_reading_changes_no_times_but_the_end(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        put = await store.items.put(("n",), "k", {}, ttl_minutes=1)
        clock.advance(10)
        item = await store.items.get(("n",), "k")
        assert item is not None
        assert (item.created_at, item.updated_at) == (put.created_at, put.updated_at)

    async def test_a_search_restarts_what_is_on_its_page_only(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "a", {}, ttl_minutes=1)
        await store.items.put(("n",), "b", {}, ttl_minutes=1)
        clock.advance(30)
        await store.items.search(ItemQuery(limit=1))
        clock.advance(30)
        assert await read(store, "a") is not None
        assert await read(store, "b") is None

    async def test_what_is_expired_is_not_revived_by_reading(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "k", {}, ttl_minutes=1)
        clock.advance(60)
        await store.items.get(("n",), "k")
        await store.items.search(ItemQuery())
        clock.advance(-60)
        assert left_seconds(await read(store), clock) == 60

    async def test_every_put_replaces_the_lifetime(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "k", {}, ttl_minutes=1)
        clock.advance(50)
        item = await store.items.put(("n",), "k", {}, ttl_minutes=2)
        assert left_seconds(item, clock) == 120
        pinned = await store.items.put(("n",), "k", {})
        assert (pinned.ttl_minutes, pinned.expires_at) == (None, None)
        clock.advance(1e6)
        assert await read(store) == pinned

    async def test_a_put_over_an_expired_item_is_a_new_one(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("n",), "k", {}, ttl_minutes=1)
        later = clock.advance(60)
        assert (await store.items.put(("n",), "k", {})).created_at == later

    async def test_a_batch_refreshes_and_writes(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for key in ("read", "put", "deleted"):
            await store.items.put(("n",), key, {}, ttl_minutes=1)
        clock.advance(30)
        await store.items.apply(
            [
                GetItem(("n",), "read"),
                PutItem(("n",), "put", {"v": 2}, 3),
                GetItem(("n",), "put"),
                DeleteItem(("n",), "deleted"),
                GetItem(("n",), "deleted"),
            ]
        )
        assert left_seconds(await read(store, "read"), clock) == 60
        assert left_seconds(await read(store, "put"), clock) == 180
        assert await read(store, "deleted") is None
        await store.items.put(("n",), "deleted", {})
        clock.advance(1e6)
        assert await read(store, "deleted") is not None

    async def test_a_sweep_deletes_the_expired_only_longest_first(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(1, 6):
            await store.items.put(("n",), f"k{number}", {}, ttl_minutes=6 - number)
        await store.items.put(("n",), "kept", {})
        clock.advance(180)
        assert await store.items.sweep(limit=2) == 2
        clock.advance(-180)
        page = await store.items.search(ItemQuery(refresh=False))
        assert [item.key for item in page.rows] == ["k1", "k2", "k3", "kept"]
        clock.advance(180)
        assert await store.items.sweep(limit=10) == 1
        assert await store.items.sweep(limit=10) == 0
        assert await store.items.sweep(limit=0) == 0

    async def test_a_lifetime_that_is_none_is_refused(self, store: ResourceStore) -> None:
        for odd in (0, -1, float("nan"), float("inf"), 1e300, 10**400):
            with pytest.raises(InvalidRequestError):
                await store.items.put(("n",), "k", {}, ttl_minutes=odd)
            with pytest.raises(InvalidRequestError):
                await store.items.apply([PutItem(("n",), "k", {}, odd)])
        assert await read(store) is None
