"""What every store must do with enforced metadata: the server's condition, beside the caller's."""

import pytest

from threadkeep.errors import NotFoundError, ValueNotStorableError
from threadkeep.model.assistants import AssistantPatch
from threadkeep.model.crons import CronPatch, NewCron
from threadkeep.model.queries import AssistantQuery, RunQuery, ThreadQuery, VersionQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.builders import (
    OWNER,
    add_thread,
    enqueue,
    new_assistant,
    new_run,
    status_of,
)
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

    async def test_a_thread_is_changed_only_for_its_owner(self, store: ResourceStore) -> None:
        thread = await add_thread(store, "t1", metadata=ALICE)
        with pytest.raises(NotFoundError):
            await store.threads.update("t1", metadata={"n": 1}, enforced_metadata=BOB)
        with pytest.raises(NotFoundError):
            await store.threads.update("t1", metadata=BOB, ttl_minutes=1, enforced_metadata=BOB)
        with pytest.raises(NotFoundError):
            await store.threads.copy("t1", copy_id="t2", enforced_metadata=BOB)
        assert await store.threads.get("t1") == thread
        assert await store.threads.get("t2") is None
        changed = await store.threads.update("t1", metadata={"n": 1}, enforced_metadata=ALICE)
        assert changed.metadata == {**ALICE, "n": 1}
        copy = await store.threads.copy("t1", copy_id="t2", enforced_metadata=ALICE)
        assert copy.metadata == changed.metadata

    async def test_what_is_enforced_is_never_merged(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata={"tags": ["a", "b"]})
        enforced = {"tags": ["a"]}
        changed = await store.threads.update("t1", metadata={"n": 1}, enforced_metadata=enforced)
        assert changed.metadata == {"tags": ["a", "b"], "n": 1}
        await store.assistants.create(new_assistant("a1", metadata={"tags": ["a", "b"]}))
        patch = AssistantPatch(metadata={"n": 1})
        newer = await store.assistants.update("a1", patch, enforced_metadata=enforced)
        assert newer.metadata == {"tags": ["a", "b"], "n": 1}

    async def test_a_thread_is_deleted_only_for_its_owner(self, store: ResourceStore) -> None:
        await add_thread(store, "t1", metadata=ALICE)
        await enqueue(store, "r1", "t1")
        assert await store.threads.delete("t1", enforced_metadata=BOB) == []
        assert await store.threads.delete("t9", enforced_metadata=BOB) == []
        assert await store.runs.get("r1") is not None
        gone = await store.threads.delete("t1", enforced_metadata=ALICE)
        assert [run.run_id for run in gone] == ["r1"]
        assert await store.threads.get("t1") is None

    async def test_an_assistant_is_changed_only_for_its_owner(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", metadata=ALICE))
        patch = AssistantPatch(name="other")
        with pytest.raises(NotFoundError):
            await store.assistants.update("a1", patch, enforced_metadata=BOB)
        newer = await store.assistants.update("a1", patch, enforced_metadata=ALICE)
        with pytest.raises(NotFoundError):
            await store.assistants.set_latest("a1", 1, enforced_metadata=BOB)
        assert await store.assistants.get("a1") == newer
        assert newer.version == 2
        versions = await store.assistants.list_versions(
            "a1", VersionQuery(), enforced_metadata=ALICE
        )
        assert versions.total == 2
        hidden = await store.assistants.list_versions("a1", VersionQuery(), enforced_metadata=BOB)
        assert (hidden.rows, hidden.total) == ([], 0)
        older = await store.assistants.set_latest("a1", 1, enforced_metadata=ALICE)
        assert older.version == 1
        assert not await store.assistants.delete("a1", enforced_metadata=BOB)
        assert await store.assistants.get("a1") == older
        assert await store.assistants.delete("a1", enforced_metadata=ALICE)
        assert await store.assistants.get("a1") is None

    async def test_a_cron_is_changed_only_for_its_owner(self, store: ResourceStore) -> None:
        cron = await store.crons.create(NewCron("c1", "a1", "* * * * *", metadata=ALICE))
        with pytest.raises(NotFoundError):
            await store.crons.update("c1", CronPatch(enabled=False), enforced_metadata=BOB)
        assert not await store.crons.delete("c1", enforced_metadata=BOB)
        assert await store.crons.get("c1") == cron
        changed = await store.crons.update("c1", CronPatch(enabled=False), enforced_metadata=ALICE)
        assert not changed.enabled
        assert await store.crons.delete("c1", enforced_metadata=ALICE)
        assert await store.crons.get("c1") is None

    async def test_a_run_is_made_and_stopped_only_for_its_threads_owner(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store, "t1", metadata=ALICE)
        with pytest.raises(NotFoundError):
            await store.runs.admit(new_run("r1"), claim=OWNER, enforced_metadata=BOB)
        assert await store.runs.get("r1") is None
        assert await status_of(store) == "idle"
        run = (await store.runs.admit(new_run("r1"), claim=None, enforced_metadata=ALICE)).run
        assert await store.runs.latest_of("t1", enforced_metadata=BOB) is None
        assert await store.runs.latest_of("t1", enforced_metadata=ALICE) == run
        assert await store.runs.request_cancel("r1", "interrupt", enforced_metadata=BOB) is None
        assert not await store.runs.delete("r1", enforced_metadata=BOB)
        assert await store.runs.get("r1") == run
        ended = await store.runs.request_cancel("r1", "interrupt", enforced_metadata=ALICE)
        assert ended is not None
        assert ended.reason == "cancelled"
        assert await store.runs.delete("r1", enforced_metadata=ALICE)
        assert await store.runs.get("r1") is None
