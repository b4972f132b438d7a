"""What every store must do with crons, but for firing them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest

from threadkeep.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from threadkeep.model.crons import Cron, CronPatch, NewCron
from threadkeep.model.queries import CronQuery, CronSort
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import add_thread
from threadkeep.testing.resources.suite import ResourceSuite

SOON = datetime(2030, 1, 2, 4, 0, 0, 123_456, tzinfo=UTC)


async def add_cron(store: ResourceStore, cron_id: str = "c1", **given: Any) -> Cron:
    """Create a cron."""
    fields = {"assistant_id": "a1", "schedule": "* * * * *", **given}
    return await store.crons.create(NewCron(cron_id, **fields))


async def found(store: ResourceStore, query: CronQuery) -> list[str]:
    """Return the ids a search finds, in its order."""
    return [row.cron_id for row in (await store.crons.search(query)).rows]


class CronSuite(ResourceSuite):
    """One case per promise of ``CronRepo``; see ``FiringSuite``, too."""

    async def test_a_new_cron_has_defaults_and_reads_back(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        cron = await add_cron(store)
        assert (cron.token, cron.enabled, cron.thread_id, cron.timezone) == (0, True, None, None)
        assert (cron.end_time, cron.next_run_date, cron.on_run_completed) == (None, None, None)
        assert (cron.payload, cron.metadata, cron.user_id) == ({}, {}, None)
        assert cron.created_at == cron.updated_at == clock.now()
        assert await store.crons.get("c1") == cron

    async def test_every_field_comes_back(self, store: ResourceStore) -> None:
        await add_thread(store)
        cron = await add_cron(
            store,
            schedule="not checked here",
            thread_id="t1",
            timezone="Europe/Berlin",
            end_time=SOON + timedelta(days=1),
            next_run_date=SOON,
            enabled=False,
            on_run_completed="keep",
            payload={"input": {"é": [1, None]}},
            metadata={"owner": "u"},
            user_id="u",
        )
        assert (cron.schedule, cron.timezone) == ("not checked here", "Europe/Berlin")
        assert (cron.payload, cron.user_id) == ({"input": {"é": [1, None]}}, "u")
        assert (cron.enabled, cron.on_run_completed) == (False, "keep")
        assert await store.crons.get("c1") == cron

    async def test_dates_keep_their_microseconds_and_come_back_in_utc(
        self, store: ResourceStore
    ) -> None:
        there = SOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
        await add_cron(store, next_run_date=there, end_time=there)
        cron = await store.crons.get("c1")
        assert cron is not None
        assert (cron.next_run_date, cron.end_time) == (SOON, SOON)
        assert cron.next_run_date is not None
        assert cron.next_run_date.utcoffset() == timedelta(0)
        with pytest.raises(InvalidRequestError):
            await add_cron(store, "c2", next_run_date=SOON.replace(tzinfo=None))
        with pytest.raises(InvalidRequestError):
            await store.crons.update("c1", CronPatch(end_time=SOON.replace(tzinfo=None)))

    async def test_a_taken_id_is_refused_and_its_row_untouched(self, store: ResourceStore) -> None:
        cron = await add_cron(store, principal={"identity": "u"})
        with pytest.raises(AlreadyExistsError):
            await add_cron(store, schedule="0 0 * * *", principal={"identity": "other"})
        assert await store.crons.get("c1") == cron
        assert await store.crons.principal_of("c1") == {"identity": "u"}

    async def test_a_thread_that_does_not_exist_is_refused(self, store: ResourceStore) -> None:
        with pytest.raises(NotFoundError):
            await add_cron(store, thread_id="nobody")
        assert await store.crons.get("c1") is None

    async def test_an_unknown_cron_is_none(self, store: ResourceStore) -> None:
        assert await store.crons.get("nobody") is None
        assert await store.crons.principal_of("nobody") is None

    async def test_the_principal_stands_beside_the_row(self, store: ResourceStore) -> None:
        given = {"identity": "u", "scopes": ["a"]}
        cron = await add_cron(store, principal=given, user_id="u")
        given["scopes"].append("b")  # type: ignore[attr-defined]
        assert "scopes" not in repr(cron)
        held = await store.crons.principal_of("c1")
        assert held == {"identity": "u", "scopes": ["a"]}
        await add_cron(store, "c2")
        assert await store.crons.principal_of("c2") is None

    async def test_search_by_assistant_thread_and_enabled(self, store: ResourceStore) -> None:
        await add_thread(store)
        await add_cron(store, "c1", thread_id="t1")
        await add_cron(store, "c2", assistant_id="a2", enabled=False)
        assert await found(store, CronQuery(assistant_id="a1")) == ["c1"]
        assert await found(store, CronQuery(thread_id="t1")) == ["c1"]
        assert await found(store, CronQuery(enabled=False)) == ["c2"]
        assert await found(store, CronQuery(enabled=True, assistant_id="a2")) == []
        assert await found(store, CronQuery()) == ["c2", "c1"]

    async def test_search_by_metadata_and_by_what_is_enforced(self, store: ResourceStore) -> None:
        await add_cron(store, "c1", metadata={"owner": "alice", "n": 1})
        await add_cron(store, "c2", metadata={"owner": "bob", "n": 1})
        mine = {"owner": "alice"}
        assert await found(store, CronQuery(metadata={"n": 1})) == ["c2", "c1"]
        assert await found(store, CronQuery(metadata={"n": 1}, enforced_metadata=mine)) == ["c1"]
        query = CronQuery(metadata={"owner": "bob"}, enforced_metadata=mine)
        assert await found(store, query) == []
        assert await store.crons.count(query) == 0
        assert await store.crons.get("c2", enforced_metadata=mine) is None
        assert await store.crons.get("c1", enforced_metadata=mine) is not None

    @pytest.mark.parametrize("key", get_args(CronSort))
    async def test_search_sorts_both_ways_and_what_has_no_date_comes_last(
        self, store: ResourceStore, clock: ManualClock, key: CronSort
    ) -> None:
        for number in (2, 1, 3):
            await add_thread(store, f"t{number}")
            clock.advance(1)
            await add_cron(
                store,
                f"c{number}",
                assistant_id=f"a{number}",
                thread_id=f"t{number}",
                next_run_date=SOON + timedelta(microseconds=number),
                end_time=SOON + timedelta(days=number),
            )
        by_time = ["c2", "c1", "c3"] if key in {"created_at", "updated_at"} else ["c1", "c2", "c3"]
        assert await found(store, CronQuery(sort_by=key, sort_order="asc")) == by_time
        assert await found(store, CronQuery(sort_by=key)) == by_time[::-1]
        if key in {"thread_id", "next_run_date", "end_time"}:
            await add_cron(store, "z")
            await add_cron(store, "a")
            up = await found(store, CronQuery(sort_by=key, sort_order="asc"))
            assert up == [*by_time, "a", "z"]
            assert await found(store, CronQuery(sort_by=key)) == [*by_time[::-1], "z", "a"]

    async def test_ties_are_broken_by_id_in_the_same_direction(self, store: ResourceStore) -> None:
        for cron_id in ("b", "a", "c"):
            await add_cron(store, cron_id, next_run_date=SOON)
        for key in ("assistant_id", "created_at", "next_run_date"):
            down: Any = CronQuery(sort_by=key)
            assert await found(store, down) == ["c", "b", "a"]
            up: Any = CronQuery(sort_by=key, sort_order="asc")
            assert await found(store, up) == ["a", "b", "c"]
        with pytest.raises(InvalidRequestError):
            await store.crons.search(CronQuery(sort_by="token"))  # type: ignore[arg-type]

    async def test_count_ignores_the_page(self, store: ResourceStore) -> None:
        for number in range(5):
            await add_cron(store, f"c{number}", metadata={"even": number % 2 == 0})
        assert await store.crons.count(CronQuery(limit=1, offset=3)) == 5
        assert await store.crons.count(CronQuery(metadata={"even": True})) == 3
        assert await found(store, CronQuery(limit=2, offset=1)) == ["c3", "c2"]

    async def test_a_patch_changes_what_it_gives(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        cron = await add_cron(
            store, payload={"a": 1, "b": 2}, metadata={"a": 1, "b": {"x": 1}}, timezone="UTC"
        )
        later = clock.advance(1)
        same = await store.crons.update("c1", CronPatch())
        assert (same.schedule, same.timezone, same.payload) == (
            cron.schedule,
            "UTC",
            {"a": 1, "b": 2},
        )
        assert (same.created_at, same.updated_at) == (cron.created_at, later)
        patch = CronPatch(schedule="1 1 * * *", enabled=False, payload={"c": 3})
        changed = await store.crons.update("c1", patch)
        assert (changed.schedule, changed.enabled, changed.payload) == (
            "1 1 * * *",
            False,
            {"c": 3},
        )
        merged = await store.crons.update("c1", CronPatch(metadata={"b": {"y": 1}, "c": None}))
        assert merged.metadata == {"a": 1, "b": {"y": 1}, "c": None}
        assert await store.crons.get("c1") == merged

    async def test_zone_end_and_date_are_set_cleared_or_left(self, store: ResourceStore) -> None:
        await add_cron(store)
        given = CronPatch(
            timezone="Asia/Tokyo", end_time=SOON, next_run_date=SOON, on_run_completed="delete"
        )
        cron = await store.crons.update("c1", given)
        assert (cron.timezone, cron.end_time, cron.next_run_date) == ("Asia/Tokyo", SOON, SOON)
        left = await store.crons.update("c1", CronPatch(enabled=True))
        assert (left.timezone, left.end_time, left.next_run_date) == ("Asia/Tokyo", SOON, SOON)
        none = CronPatch(timezone=None, end_time=None, next_run_date=None, on_run_completed=None)
        cleared = await store.crons.update("c1", none)
        assert (cleared.timezone, cleared.end_time, cleared.next_run_date) == (None, None, None)
        assert cleared.on_run_completed is None
        assert await store.crons.get("c1") == cleared

    async def test_every_write_raises_the_token(self, store: ResourceStore) -> None:
        await add_cron(store)
        tokens = [(await store.crons.update("c1", CronPatch())).token for _ in range(3)]
        assert tokens == [1, 2, 3]

    async def test_updating_an_unknown_cron_is_refused(self, store: ResourceStore) -> None:
        with pytest.raises(NotFoundError):
            await store.crons.update("nobody", CronPatch(enabled=False))

    async def test_a_deleted_cron_is_gone_and_its_id_begins_anew(
        self, store: ResourceStore
    ) -> None:
        await add_cron(store, principal={"identity": "u"})
        await store.crons.update("c1", CronPatch())
        assert await store.crons.delete("c1")
        assert not await store.crons.delete("c1")
        assert await store.crons.get("c1") is None
        assert (await add_cron(store)).token == 0
        assert await store.crons.principal_of("c1") is None

    async def test_a_deleted_thread_takes_its_crons_along(self, store: ResourceStore) -> None:
        await add_thread(store)
        await add_cron(store, "on thread", thread_id="t1", principal={"identity": "u"})
        await add_cron(store, "stateless")
        await store.threads.delete("t1")
        assert await found(store, CronQuery()) == ["stateless"]
        assert await store.crons.principal_of("on thread") is None
