"""What is given to a store or by it is never shared with it."""

from typing import Any

from threadkeep.model.assistants import NewAssistant
from threadkeep.model.items import GetItem, ItemQuery, PutItem
from threadkeep.model.queries import AssistantQuery, RunQuery, ThreadQuery, VersionQuery
from threadkeep.model.runs import NewRun
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.builders import OWNER, add_thread, state
from threadkeep.testing.resources.suite import ResourceSuite


def given() -> dict[str, Any]:
    """Return a value with something to change in it."""
    return {"deep": {"list": [1]}}


def spoil(value: Any) -> None:
    """Change a value in place, as a careless caller does."""
    value["deep"]["list"].append(2)
    value["more"] = True


class IsolationSuite(ResourceSuite):
    """One case per way in and way out."""

    async def test_assistants_are_not_shared_with_the_store(self, store: ResourceStore) -> None:
        values = [given(), given(), given()]
        created = await store.assistants.create(NewAssistant("a1", "g", "n", None, *values))
        for value in (*values, created.config, created.context, created.metadata):
            spoil(value)
        (listed,) = (await store.assistants.search(AssistantQuery())).rows
        (version,) = (await store.assistants.list_versions("a1", VersionQuery())).rows
        for row in (listed, version):
            assert (row.config, row.context, row.metadata) == (given(), given(), given())
            for value in (row.config, row.context, row.metadata):
                spoil(value)
        row_again = await store.assistants.set_latest("a1", 1)
        assert (row_again.config, row_again.metadata) == (given(), given())

    async def test_threads_are_not_shared_with_the_store(self, store: ResourceStore) -> None:
        metadata, values, error = given(), given(), given()
        created = await add_thread(store, metadata=metadata)
        recorded = await store.threads.record_state(
            "t1", state(values=values, interrupts={"t": [values]}, error=error)
        )
        for value in (metadata, values, error, created.metadata, recorded.values, recorded.error):
            spoil(value)
        (listed,) = (await store.threads.search(ThreadQuery())).rows
        assert (listed.metadata, listed.values, listed.error) == (given(), given(), given())
        assert listed.interrupts == {"t": [given()]}
        spoil(listed.metadata)
        spoil(listed.interrupts["t"][0])
        row = await store.threads.get("t1")
        assert row is not None
        assert (row.metadata, row.interrupts) == (given(), {"t": [given()]})

    async def test_runs_are_not_shared_with_the_store(self, store: ResourceStore) -> None:
        await add_thread(store)
        kwargs, metadata, stamp, config = given(), given(), given(), given()
        new = NewRun(
            "r1",
            "t1",
            "a1",
            kwargs,
            metadata=metadata,
            thread_metadata=stamp,
            thread_config=config,
        )
        admission = await store.runs.admit(new, claim=None)
        for value in (kwargs, metadata, stamp, config, admission.run.kwargs):
            spoil(value)
        (listed,) = (await store.runs.search(RunQuery())).rows
        assert (listed.kwargs, listed.metadata) == (given(), given())
        spoil(listed.kwargs)
        (taken,) = await store.runs.claim(OWNER, limit=1)
        assert taken.kwargs == given()
        spoil(taken.metadata)
        run = await store.runs.get("r1")
        assert run is not None
        assert run.metadata == given()
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.metadata, thread.config) == (given(), given())

    async def test_items_are_not_shared_with_the_store(self, store: ResourceStore) -> None:
        first, second = given(), given()
        item = await store.items.put(("n",), "first", first)
        await store.items.apply([PutItem(("n",), "second", second)])
        for value in (first, second, item.value):
            spoil(value)
        for key in ("first", "second"):
            found = await store.items.get(("n",), key)
            assert found is not None
            assert found.value == given()
            spoil(found.value)
        for item in (await store.items.search(ItemQuery())).rows:
            assert item.value == given()
            spoil(item.value)
        (once,) = await store.items.apply([GetItem(("n",), "first")])
        assert once.value == given()
