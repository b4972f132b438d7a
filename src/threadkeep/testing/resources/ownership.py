"""What every store must do with enforced metadata: the server's condition, beside the caller's."""

import pytest

from threadkeep.errors import ValueNotStorableError
from threadkeep.model.queries import AssistantQuery, RunQuery, ThreadQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.builders import add_thread, enqueue, new_assistant
from threadkeep.testing.resources.suite import PAGE_SIZE, ResourceSuite

ALICE = {"owner": "alice"}
BOB = {"owner": "bob"}


class OwnershipSuite(ResourceSuite):
    """One case per repo that has owners, and per way they could be got around."""

    async def test_a_thread_reads_only_for_its_owner(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata={**ALICE, "n": 1})
        await add_thread(store, "t2")
        assert await store.threads.get("t1", enforced_metadata=ALICE) is not None
        assert await store.threads.get("t1", enforced_metadata={}) is not None
        assert await store.threads.get("t1", enforced_metadata=BOB) is None
        assert await store.threads.get("t2", enforced_metadata=ALICE) is None

    async def test_an_assistant_reads_only_for_its_owner(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", metadata=ALICE))
        await store.assistants.create(new_assistant("a2", metadata=BOB))
        assert await store.assistants.get("a1", enforced_metadata=ALICE) is not None
        assert await store.assistants.get("a1", enforced_metadata=BOB) is None
        page = await store.assistants.search(AssistantQuery(enforced_metadata=ALICE))
        assert [row.assistant_id for row in page.rows] == ["a1"]
        both = AssistantQuery(metadata=BOB, enforced_metadata=ALICE)
        assert (await store.assistants.search(both)).total == 0
        assert await store.assistants.count(both) == 0
        assert await store.assistants.count(AssistantQuery(enforced_metadata=BOB)) == 1

    async def test_a_run_reads_only_for_its_threads_owner(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata=ALICE)
        await add_thread(store, "t2", metadata=BOB)
        await enqueue(store, "r1", "t1", metadata=BOB)
        await enqueue(store, "r2", "t2", metadata=ALICE)
        assert await store.runs.get("r1", enforced_metadata=ALICE) is not None
        assert await store.runs.get("r1", enforced_metadata=BOB) is None
        assert await store.runs.get("r1", thread_id="t2", enforced_metadata=ALICE) is None

    async def test_runs_are_searched_only_for_their_threads_owner(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store, "t1", metadata=ALICE)
        await add_thread(store, "t2", metadata=BOB)
        for number in range(4):
            await enqueue(store, f"r{number}", f"t{1 + number % 2}", metadata={"n": number // 2})
        mine = RunQuery(enforced_metadata=ALICE)
        page = await store.runs.search(mine)
        assert ([run.run_id for run in page.rows], page.total) == (["r2", "r0"], 2)
        assert await store.runs.count(mine) == 2
        narrow = RunQuery(enforced_metadata=ALICE, metadata={"n": 1}, statuses=["pending"])
        assert [run.run_id for run in (await store.runs.search(narrow)).rows] == ["r2"]
        assert await store.runs.count(RunQuery(thread_id="t2", enforced_metadata=ALICE)) == 0

    async def test_a_thread_that_changes_hands_takes_its_runs_along(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store, "t1", metadata=ALICE)
        await enqueue(store)
        await store.threads.update("t1", metadata=BOB)
        assert await store.runs.count(RunQuery(enforced_metadata=ALICE)) == 0
        assert await store.runs.count(RunQuery(enforced_metadata=BOB)) == 1

    async def test_enforced_lists_are_contained_as_sets(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata={"groups": ["a", "b"]})
        await add_thread(store, "t2", metadata={"groups": ["b"]})
        await enqueue(store)
        query = ThreadQuery(enforced_metadata={"groups": ["a"]})
        assert [row.thread_id for row in (await store.threads.search(query)).rows] == ["t1"]
        assert await store.runs.count(RunQuery(enforced_metadata={"groups": ["b", "a"]})) == 1
        assert await store.runs.count(RunQuery(enforced_metadata={"groups": ["c"]})) == 0

    async def test_pages_and_totals_are_of_what_is_owned(self, store: ResourceStore) -> None:
        for number in range(2 * PAGE_SIZE + 2):
            await add_thread(store, f"t{number:03}", metadata=ALICE if number % 2 else BOB)
        query = ThreadQuery(enforced_metadata=ALICE, sort_order="asc")
        page = await store.threads.search(query)
        assert (len(page.rows), page.total, page.next_offset) == (
            PAGE_SIZE,
            PAGE_SIZE + 1,
            PAGE_SIZE,
        )
        assert {row.metadata["owner"] for row in page.rows} == {"alice"}

    async def test_an_enforced_value_that_is_no_json_is_refused(self, store: ResourceStore) -> None:
        await add_thread(store)
        for call in (
            store.threads.get("t1", enforced_metadata={"owner": {1}}),
            store.assistants.get("a1", enforced_metadata={"owner": {1}}),
            store.runs.get("r1", enforced_metadata={"owner": {1}}),
            store.crons.get("c1", enforced_metadata={"owner": {1}}),
        ):
            with pytest.raises(ValueNotStorableError):
                await call
