"""What every store must do with copies of threads, and with parts of them."""

from typing import Any

import pytest

from threadkeep.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from threadkeep.model.queries import ThreadQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import (
    FAILURE,
    add_thread,
    enqueue,
    start,
    state,
    status_of,
)
from threadkeep.testing.resources.suite import ResourceSuite

LEFT = state(
    "interrupted",
    values={"messages": ["hi"]},
    head="c1",
    interrupts={"t": [{"id": "i"}]},
    error={"error": "E"},
)
EMPTY: dict[str, Any] = {
    "metadata": {},
    "config": {},
    "values": None,
    "interrupts": {},
    "error": None,
}


class ThreadCopySuite(ResourceSuite):
    """One case per promise of ``ThreadRepo.copy`` and ``ThreadQuery.select``."""

    async def test_a_copy_has_what_the_thread_has_and_times_of_its_own(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store, metadata={"user": "u"}, ttl_minutes=5)
        thread = await store.threads.record_state("t1", LEFT)
        later = clock.advance(60)
        copy = await store.threads.copy("t1", copy_id="t2", ttl_minutes=1)
        for name in ("status", "metadata", "config", "values", "interrupts", "error"):
            assert getattr(copy, name) == getattr(thread, name), name
        assert (copy.thread_id, copy.head_checkpoint_id) == ("t2", "c1")
        assert copy.created_at == copy.updated_at == copy.state_updated_at == later
        assert (copy.ttl_minutes, copy.expires_at) == (1, clock.advance(60))
        assert await store.threads.get("t2") == copy
        assert await store.threads.get("t1") == thread

    async def test_a_copy_without_a_lifetime_is_pinned(self, store: ResourceStore) -> None:
        await add_thread(store, ttl_minutes=5)
        copy = await store.threads.copy("t1", copy_id="t2")
        assert (copy.ttl_minutes, copy.expires_at) == (None, None)

    async def test_a_copy_shares_nothing_with_its_thread(self, store: ResourceStore) -> None:
        await add_thread(store, metadata={"a": 1})
        await store.threads.copy("t1", copy_id="t2")
        await store.threads.update("t2", metadata={"b": 2})
        await store.threads.delete("t1")
        copy = await store.threads.get("t2")
        assert copy is not None
        assert copy.metadata == {"a": 1, "b": 2}

    async def test_a_copy_of_a_busy_thread_is_not_busy(self, store: ResourceStore) -> None:
        await add_thread(store)
        await store.threads.record_state("t1", LEFT)
        await start(store)
        copy = await store.threads.copy("t1", copy_id="t2")
        assert copy.status == "interrupted"
        assert await status_of(store, "t2") == "interrupted"
        assert await store.runs.latest_of("t2") is None
        await enqueue(store, "r2", "t2")
        await store.threads.delete("t2")
        assert await status_of(store) == "busy"

    async def test_copying_an_unknown_thread_is_refused(self, store: ResourceStore) -> None:
        with pytest.raises(NotFoundError):
            await store.threads.copy("nobody", copy_id="t2")
        assert await store.threads.get("t2") is None

    async def test_a_taken_id_is_refused_and_its_row_untouched(self, store: ResourceStore) -> None:
        await add_thread(store)
        other = await add_thread(store, "t2", metadata={"mine": 1})
        with pytest.raises(AlreadyExistsError):
            await store.threads.copy("t1", copy_id="t2")
        with pytest.raises(AlreadyExistsError):
            await store.threads.copy("t1", copy_id="t1")
        assert await store.threads.get("t2") == other

    async def test_a_copy_that_cannot_be_is_refused(self, store: ResourceStore) -> None:
        await add_thread(store)
        for copy_id in ("", "a\0b", "\ud800"):
            with pytest.raises(InvalidRequestError):
                await store.threads.copy("t1", copy_id=copy_id)
        for odd in (0, -1, float("nan"), 1e300):
            with pytest.raises(InvalidRequestError):
                await store.threads.copy("t1", copy_id="t2", ttl_minutes=odd)
        assert await store.threads.get("t2") is None

    @pytest.mark.parametrize("name", list(EMPTY))
    async def test_what_is_not_selected_is_empty(self, store: ResourceStore, name: Any) -> None:
        await add_thread(store, metadata={"user": "u"})
        run = await start(store)
        await store.runs.settle("r1", fence=run.fence, outcome=FAILURE, state=LEFT)
        whole = await store.threads.get("t1")
        (row,) = (await store.threads.search(ThreadQuery(select=[name]))).rows
        assert getattr(row, name) == getattr(whole, name)
        others = {other: empty for other, empty in EMPTY.items() if other != name}
        assert {other: getattr(row, other) for other in others} == others
        assert (row.status, row.head_checkpoint_id) == ("interrupted", "c1")

    async def test_a_selection_changes_neither_what_matches_nor_the_rest(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store, metadata={"user": "u"}, ttl_minutes=5)
        thread = await store.threads.record_state("t1", LEFT)
        await add_thread(store, "t2")
        query = ThreadQuery(
            metadata={"user": "u"}, values={"messages": ["hi"]}, select=[], sort_by="status"
        )
        page = await store.threads.search(query)
        (row,) = page.rows
        assert page.total == 1
        assert (row.thread_id, row.metadata, row.values) == ("t1", {}, None)
        assert (row.ttl_minutes, row.expires_at) == (5, thread.expires_at)
        page = await store.threads.search(ThreadQuery(ids=["t1"], select=list(EMPTY)))  # type: ignore[arg-type]
        assert list(page.rows) == [thread]
        with pytest.raises(InvalidRequestError):
            await store.threads.search(ThreadQuery(select=["status"]))  # type: ignore[list-item]

    async def test_count_ignores_the_page(self, store: ResourceStore) -> None:
        for number in range(5):
            await add_thread(store, f"t{number}", metadata={"even": number % 2 == 0})
        assert await store.threads.count(ThreadQuery(limit=1, offset=3, select=[])) == 5
        assert await store.threads.count(ThreadQuery(metadata={"even": True})) == 3
        enforced = ThreadQuery(enforced_metadata={"even": False}, metadata={"even": True})
        assert await store.threads.count(enforced) == 0
