"""What every store must do with threads."""

from typing import Any

import pytest

from threadkeep.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from threadkeep.model.queries import RunQuery, ThreadQuery, ThreadSort
from threadkeep.model.threads import MIRRORED_VALUES_BYTES, NewThread
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import (
    FAILURE,
    add_thread,
    enqueue,
    finish,
    start,
    state,
    status_of,
)
from threadkeep.testing.resources.suite import ResourceSuite


async def found(store: ResourceStore, query: ThreadQuery) -> list[str]:
    """Return the ids a search finds, in its order."""
    return [row.thread_id for row in (await store.threads.search(query)).rows]


class ThreadSuite(ResourceSuite):
    """One case per promise of ``ThreadRepo``."""

    async def test_a_created_thread_is_idle_and_reads_back(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        created = await add_thread(store, "t1", metadata={"user": "u"})
        assert (created.status, created.metadata, created.values) == ("idle", {"user": "u"}, None)
        assert (created.interrupts, created.error, created.config) == ({}, None, {})
        assert created.created_at == created.updated_at == created.state_updated_at == clock.now()
        assert await store.threads.get("t1") == created

    async def test_an_unknown_thread_is_none(self, store: ResourceStore) -> None:
        assert await store.threads.get("nobody") is None

    async def test_a_taken_id_is_refused_and_its_row_untouched(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        created = await add_thread(store, "t1", metadata={"first": 1})
        clock.advance(1)
        with pytest.raises(AlreadyExistsError):
            await add_thread(store, "t1", metadata={"second": 2}, ttl_minutes=1)
        assert await store.threads.get("t1") == created

    async def test_metadata_merges_by_top_level_key(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        created = await add_thread(store, "t1", metadata={"a": {"x": 1}, "b": 1})
        later = clock.advance(1)
        changed = await store.threads.update("t1", metadata={"a": {"y": 2}, "c": None})
        assert changed.metadata == {"a": {"y": 2}, "b": 1, "c": None}
        assert (changed.created_at, changed.updated_at) == (created.created_at, later)
        assert changed.state_updated_at == created.state_updated_at
        assert await store.threads.get("t1") == changed

    async def test_updating_an_unknown_thread_is_refused(self, store: ResourceStore) -> None:
        with pytest.raises(NotFoundError):
            await store.threads.update("nobody", metadata={})
        with pytest.raises(NotFoundError):
            await store.threads.record_state("nobody", state())

    async def test_a_state_is_recorded_whole(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        later = clock.advance(1)
        left = state(
            "interrupted",
            values={"messages": ["hi"]},
            head="c1",
            interrupts={"task": [{"id": "i1", "value": {"question": "sure?"}}]},
            error={"error": "E", "message": "m"},
        )
        thread = await store.threads.record_state("t1", left)
        assert (thread.status, thread.values) == ("interrupted", {"messages": ["hi"]})
        assert thread.head_checkpoint_id == "c1"
        assert thread.interrupts == {"task": [{"id": "i1", "value": {"question": "sure?"}}]}
        assert thread.error == {"error": "E", "message": "m"}
        assert thread.updated_at == thread.state_updated_at == later
        assert await store.threads.get("t1") == thread

    async def test_a_later_state_clears_what_the_former_left(self, store: ResourceStore) -> None:
        await add_thread(store)
        former = state("error", values={"a": 1}, head="c1", interrupts={"t": [1]}, error={"e": 1})
        await store.threads.record_state("t1", former)
        thread = await store.threads.record_state("t1", state(head="c2"))
        assert (thread.status, thread.values, thread.interrupts) == ("idle", None, {})
        assert (thread.error, thread.head_checkpoint_id) == (None, "c2")

    async def test_a_thread_with_an_active_run_stays_busy_under_a_state(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await enqueue(store)
        thread = await store.threads.record_state("t1", state("interrupted", values={"a": 1}))
        assert (thread.status, thread.values) == ("busy", {"a": 1})
        await store.runs.request_cancel("r1", "interrupt")
        assert await status_of(store) == "interrupted"

    async def test_only_active_runs_make_a_thread_busy(self, store: ResourceStore) -> None:
        await add_thread(store)
        with pytest.raises(InvalidRequestError):
            await store.threads.record_state("t1", state("busy"))

    async def test_values_are_mirrored_while_they_are_small(self, store: ResourceStore) -> None:
        await add_thread(store)
        fits = {"text": "x" * (MIRRORED_VALUES_BYTES - len('{"text":""}'))}
        thread = await store.threads.record_state("t1", state(values=fits))
        assert thread.values == fits
        larger = {"text": fits["text"] + "x"}
        thread = await store.threads.record_state("t1", state(values=larger, head="c2"))
        assert (thread.values, thread.head_checkpoint_id) == (None, "c2")
        many = {"numbers": list(range(MIRRORED_VALUES_BYTES))}
        assert (await store.threads.record_state("t1", state(values=many))).values is None

    async def test_values_that_are_no_json_are_left_to_the_checkpoint(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        for odd in ({"a": float("nan")}, {"a": {1}}, {"a": {1: 2}}):
            thread = await store.threads.record_state("t1", state(values=odd, head="c1"))
            assert (thread.values, thread.head_checkpoint_id) == (None, "c1")

    async def test_delete_takes_the_runs_along_and_returns_the_active(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        await add_thread(store, "t2")
        await finish(store, await start(store, "done"))
        await start(store, "running")
        await enqueue(store, "pending")
        await enqueue(store, "elsewhere", "t2")
        gone = await store.threads.delete("t1")
        assert [(run.run_id, run.status) for run in gone] == [
            ("running", "running"),
            ("pending", "pending"),
        ]
        assert await store.threads.get("t1") is None
        for run_id in ("done", "running", "pending"):
            assert await store.runs.get(run_id) is None
        assert (await store.runs.search(RunQuery())).total == 1

    async def test_deleting_an_unknown_thread_is_no_error(self, store: ResourceStore) -> None:
        assert not await store.threads.delete("nobody")

    async def test_a_recreated_id_is_empty(self, store: ResourceStore) -> None:
        await add_thread(store, metadata={"old": 1}, ttl_minutes=5)
        await start(store)
        await store.threads.record_state("t1", state("error", values={"a": 1}, error={"e": 1}))
        await store.threads.delete("t1")
        fresh = await add_thread(store)
        assert (fresh.status, fresh.metadata, fresh.values) == ("idle", {}, None)
        assert (fresh.error, fresh.expires_at) == (None, None)

    async def test_search_by_metadata_subset(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata={"user": "u1", "n": 1})
        await add_thread(store, "t2", metadata={"user": "u2", "n": 1})
        await add_thread(store, "t3")
        assert await found(store, ThreadQuery(metadata={"user": "u1"})) == ["t1"]
        assert await found(store, ThreadQuery(metadata={"n": 1})) == ["t2", "t1"]
        assert await found(store, ThreadQuery(metadata={"n": 1, "user": "u2"})) == ["t2"]
        assert await found(store, ThreadQuery(metadata={"absent": None})) == []
        assert await found(store, ThreadQuery()) == ["t3", "t2", "t1"]

    async def test_containment_is_nested_deep_and_takes_lists_as_sets(
        self, store: ResourceStore
    ) -> None:
        deep = {"a": {"b": {"c": 1, "d": 2}}, "tags": ["x", {"k": 1, "m": 2}, [1, 2]]}
        await add_thread(store, "t1", metadata=deep)
        held: tuple[dict[str, Any], ...] = (
            {"a": {}},
            {"a": {"b": {"c": 1}}},
            {"a": {"b": {"c": 1.0, "d": 2}}},
            {"tags": []},
            {"tags": ["x"]},
            {"tags": [[2], {"m": 2}, "x", "x"]},
        )
        for wanted in held:
            assert await found(store, ThreadQuery(metadata=wanted)) == ["t1"], wanted
        lacking: tuple[dict[str, Any], ...] = (
            {"a": {"b": {"c": 2}}},
            {"a": {"b": 1}},
            {"a": []},
            {"b": {}},
            {"tags": "x"},
            {"tags": {}},
            {"tags": ["y"]},
            {"tags": [{"k": 1, "m": 3}]},
            {"tags": [[3]]},
        )
        for wanted in lacking:
            assert await found(store, ThreadQuery(metadata=wanted)) == [], wanted

    async def test_containment_tells_json_types_apart(self, store: ResourceStore) -> None:
        rows = {"one": 1, "true": True, "text": "1", "null": None, "list": [1], "zero": 0}
        for name, value in rows.items():
            await add_thread(store, name, metadata={"v": value})
        for name, value in rows.items():
            assert await found(store, ThreadQuery(metadata={"v": value})) == [name]
        assert await found(store, ThreadQuery(metadata={"v": False})) == []
        assert await found(store, ThreadQuery(metadata={"v": 1.0})) == ["one"]

    async def test_search_by_graph_stamped_by_a_run(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata={"graph_id": "chat"})
        await add_thread(store, "t2", metadata={"graph_id": "code"})
        assert await found(store, ThreadQuery(metadata={"graph_id": "chat"})) == ["t1"]

    async def test_a_search_by_status_finds_those_that_show_it(self, store: ResourceStore) -> None:
        for thread_id in ("idle", "busy", "interrupted", "error"):
            await add_thread(store, thread_id)
        await enqueue(store, "r1", "busy")
        await store.threads.record_state("interrupted", state("interrupted"))
        await finish(store, await start(store, "r2", "error"), outcome=FAILURE, left=state("error"))
        assert await found(store, ThreadQuery(status="idle")) == ["idle"]
        assert await found(store, ThreadQuery(status="busy")) == ["busy"]
        assert await found(store, ThreadQuery(status="interrupted")) == ["interrupted"]
        assert await found(store, ThreadQuery(status="error")) == ["error"]
        query = ThreadQuery(sort_by="status", sort_order="asc")
        assert await found(store, query) == ["busy", "error", "idle", "interrupted"]

    async def test_search_by_status_is_paged(self, store: ResourceStore) -> None:
        for number in range(6):
            await add_thread(store, f"t{number}")
            await store.threads.record_state(
                f"t{number}", state("interrupted" if number % 2 else "idle")
            )
        query = ThreadQuery(status="interrupted", sort_order="asc", limit=2, offset=1)
        assert await found(store, query) == ["t3", "t5"]

    async def test_search_by_mirrored_values(self, store: ResourceStore) -> None:
        await add_thread(store, "t1")
        await add_thread(store, "t2")
        await store.threads.record_state("t1", state(values={"topic": "tea", "n": {"x": 1}}))
        assert await found(store, ThreadQuery(values={"n": {"x": 1}})) == ["t1"]
        assert await found(store, ThreadQuery(values={"topic": "coffee"})) == []
        assert await found(store, ThreadQuery(values={})) == ["t2", "t1"]

    async def test_a_search_by_ids_finds_those_only(self, store: ResourceStore) -> None:
        for thread_id in ("t1", "t2", 't"3'):
            await add_thread(store, thread_id)
        query = ThreadQuery(ids=['t"3', "t1", "nobody", "t1"], sort_order="asc")
        assert await found(store, query) == ['t"3', "t1"]
        assert await found(store, ThreadQuery(ids=[])) == []
        assert await found(store, ThreadQuery(ids=["t1"], status="busy")) == []

    async def test_search_sorts_both_ways_and_breaks_ties_by_id(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for thread_id in ("b", "a", "c"):
            await add_thread(store, thread_id)
        keys: list[ThreadSort] = [
            "created_at",
            "updated_at",
            "state_updated_at",
            "status",
            "thread_id",
        ]
        for key in keys:
            down = ThreadQuery(sort_by=key)
            up = ThreadQuery(sort_by=key, sort_order="asc")
            assert await found(store, down) == ["c", "b", "a"], key
            assert await found(store, up) == ["a", "b", "c"], key
        clock.advance(1)
        await store.threads.update("a", metadata={"x": 1})
        assert await found(store, ThreadQuery(sort_by="updated_at")) == ["a", "c", "b"]
        await store.threads.record_state("b", state())
        assert await found(store, ThreadQuery(sort_by="state_updated_at")) == ["b", "c", "a"]

    async def test_a_microsecond_decides_the_order(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, "z")
        clock.advance(0.000_001)
        await add_thread(store, "a")
        assert await found(store, ThreadQuery()) == ["a", "z"]

    async def test_an_unknown_sort_key_is_refused(self, store: ResourceStore) -> None:
        with pytest.raises(InvalidRequestError):
            await store.threads.search(ThreadQuery(sort_by="ttl"))  # type: ignore[arg-type]
        with pytest.raises(InvalidRequestError):
            await store.threads.search(ThreadQuery(sort_order="up"))  # type: ignore[arg-type]

    async def test_enforced_metadata_restricts(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata={"owner": "alice", "n": 1})
        await add_thread(store, "t2", metadata={"owner": "bob", "n": 1})
        await add_thread(store, "t3")
        mine = {"owner": "alice"}
        assert await found(store, ThreadQuery(enforced_metadata=mine)) == ["t1"]
        query = ThreadQuery(metadata={"n": 1}, enforced_metadata=mine)
        assert await found(store, query) == ["t1"]
        assert (await store.threads.search(query)).total == 1

    async def test_enforced_metadata_is_never_merged_with_the_callers(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store, "t1", metadata={"owner": "alice"})
        await add_thread(store, "t2", metadata={"owner": "bob"})
        query = ThreadQuery(metadata={"owner": "bob"}, enforced_metadata={"owner": "alice"})
        assert await found(store, query) == []

    async def test_enforced_metadata_contains_lists(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata={"groups": ["x", "y"]})
        await add_thread(store, "t2", metadata={"groups": ["y"]})
        query = ThreadQuery(enforced_metadata={"groups": ["x"]})
        assert await found(store, query) == ["t1"]

    async def test_enforced_metadata_pages_the_restricted_set(self, store: ResourceStore) -> None:
        for number in range(6):
            owner = "bob" if number % 2 else "alice"
            await add_thread(store, f"t{number}", metadata={"owner": owner})
        mine = {"owner": "alice"}
        query = ThreadQuery(enforced_metadata=mine, limit=2, offset=1, sort_order="asc")
        page = await store.threads.search(query)
        assert [row.thread_id for row in page.rows] == ["t2", "t4"]
        assert (page.total, page.next_offset) == (3, None)

    async def test_a_lifetime_starts_at_creation(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        thread = await add_thread(store, ttl_minutes=0.5)
        assert thread.ttl_minutes == 0.5
        assert thread.expires_at is not None
        assert (thread.expires_at - clock.now()).total_seconds() == 30

    async def test_an_expired_thread_still_reads(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        created = await add_thread(store, ttl_minutes=1)
        clock.advance(3600)
        assert await store.threads.get("t1") == created
        assert await found(store, ThreadQuery()) == ["t1"]

    async def test_a_new_lifetime_restarts_the_clock_and_none_pins(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, ttl_minutes=1)
        later = clock.advance(50)
        kept = await store.threads.update("t1", metadata={"a": 1})
        assert kept.expires_at is not None
        assert (kept.expires_at - later).total_seconds() == 10
        changed = await store.threads.update("t1", ttl_minutes=2)
        assert changed.expires_at is not None
        assert (changed.expires_at - later).total_seconds() == 120
        pinned = await store.threads.update("t1", ttl_minutes=None)
        assert (pinned.ttl_minutes, pinned.expires_at) == (None, None)
        assert pinned.metadata == {"a": 1}

    async def test_a_lifetime_that_is_none_is_refused(self, store: ResourceStore) -> None:
        await add_thread(store)
        for odd in (0, -1, float("nan"), float("inf"), 1e300, 10**400):
            with pytest.raises(InvalidRequestError):
                await store.threads.create(NewThread("t2", {}, odd))
            with pytest.raises(InvalidRequestError):
                await store.threads.update("t1", ttl_minutes=odd)
        assert await found(store, ThreadQuery()) == ["t1"]
