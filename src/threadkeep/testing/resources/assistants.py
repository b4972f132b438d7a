"""What every store must do with assistants and their versions."""

import asyncio

import pytest

from threadkeep.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from threadkeep.model.assistants import AssistantPatch
from threadkeep.model.queries import AssistantQuery, VersionQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import new_assistant
from threadkeep.testing.resources.suite import ResourceSuite


async def found(store: ResourceStore, query: AssistantQuery) -> list[str]:
    """Return the ids a search finds, in its order."""
    return [row.assistant_id for row in (await store.assistants.search(query)).rows]


class AssistantSuite(ResourceSuite):
    """One case per promise of ``AssistantRepo``."""

    async def test_a_created_assistant_is_version_1(self, store: ResourceStore) -> None:
        created = await store.assistants.create(new_assistant("a1", graph_id="chat"))
        assert (created.version, created.name, created.graph_id) == (1, "chat", "chat")

    async def test_everything_given_reads_back(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        given = new_assistant(
            "a1",
            name="Support",
            description="answers",
            config={"configurable": {"model": "small"}},
            context={"tone": "kind"},
            metadata={"team": ["x"]},
        )
        created = await store.assistants.create(given)
        assert (created.name, created.description) == ("Support", "answers")
        assert created.config == {"configurable": {"model": "small"}}
        assert (created.context, created.metadata) == ({"tone": "kind"}, {"team": ["x"]})
        assert created.created_at == created.updated_at == clock.now()
        assert await store.assistants.get("a1") == created
        assert (await store.assistants.search(AssistantQuery())).rows == [created]

    async def test_an_unknown_assistant_is_none(self, store: ResourceStore) -> None:
        assert await store.assistants.get("nobody") is None

    async def test_a_taken_id_is_refused_and_its_row_untouched(self, store: ResourceStore) -> None:
        created = await store.assistants.create(new_assistant("a1", metadata={"first": True}))
        with pytest.raises(AlreadyExistsError):
            await store.assistants.create(new_assistant("a1", graph_id="other"))
        assert await store.assistants.get("a1") == created
        assert (await store.assistants.list_versions("a1", VersionQuery())).total == 1

    async def test_ensure_inserts_the_absent_and_leaves_the_present(
        self, store: ResourceStore
    ) -> None:
        present = await store.assistants.create(new_assistant("a1", metadata={"mine": 1}))
        await store.assistants.ensure([new_assistant("a1", graph_id="x"), new_assistant("a2")])
        await store.assistants.ensure([new_assistant("a2", graph_id="x")])
        assert await store.assistants.get("a1") == present
        second = await store.assistants.get("a2")
        assert second is not None
        assert second.graph_id == "chat"
        assert (await store.assistants.list_versions("a2", VersionQuery())).total == 1

    async def test_ensure_by_many_at_once_inserts_once(self, store: ResourceStore) -> None:
        new = [new_assistant("a1"), new_assistant("a2")]
        await asyncio.gather(*(store.assistants.ensure(new) for _ in range(8)))
        assert await found(store, AssistantQuery(sort_by="assistant_id")) == ["a2", "a1"]

    async def test_an_update_makes_a_version_and_mirrors_it(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        first = await store.assistants.create(new_assistant("a1", config={"a": 1}))
        later = clock.advance(5)
        second = await store.assistants.update(
            "a1", AssistantPatch(name="New", config={"b": 2}, description="now")
        )
        assert (second.version, second.name, second.description) == (2, "New", "now")
        assert second.config == {"b": 2}
        assert (second.created_at, second.updated_at) == (first.created_at, later)
        assert await store.assistants.get("a1") == second

    async def test_what_an_update_leaves_out_stays(self, store: ResourceStore) -> None:
        given = new_assistant("a1", description="d", config={"a": 1}, context={"b": 2})
        await store.assistants.create(given)
        changed = await store.assistants.update("a1", AssistantPatch(graph_id="other"))
        assert (changed.graph_id, changed.name, changed.description) == ("other", "chat", "d")
        assert (changed.config, changed.context) == ({"a": 1}, {"b": 2})

    async def test_an_update_can_clear_the_description(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", description="d"))
        changed = await store.assistants.update("a1", AssistantPatch(description=None))
        assert changed.description is None

    async def test_metadata_merges_by_top_level_key(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", metadata={"a": {"x": 1}, "b": 1}))
        changed = await store.assistants.update("a1", AssistantPatch(metadata={"a": {"y": 2}}))
        assert changed.metadata == {"a": {"y": 2}, "b": 1}

    async def test_updating_an_unknown_assistant_is_refused(self, store: ResourceStore) -> None:
        with pytest.raises(NotFoundError):
            await store.assistants.update("nobody", AssistantPatch(name="x"))

    async def test_history_is_highest_first_and_paged(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1"))
        for number in range(2, 6):
            await store.assistants.update("a1", AssistantPatch(name=f"v{number}"))
        page = await store.assistants.list_versions("a1", VersionQuery(limit=2, offset=1))
        assert [(row.version, row.name) for row in page.rows] == [(4, "v4"), (3, "v3")]
        assert (page.total, page.next_offset) == (5, 3)

    async def test_history_filters_by_metadata(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", metadata={"env": "dev"}))
        await store.assistants.update("a1", AssistantPatch(metadata={"env": "prod"}))
        page = await store.assistants.list_versions("a1", VersionQuery(metadata={"env": "dev"}))
        assert [row.version for row in page.rows] == [1]

    async def test_snapshots_never_change(self, store: ResourceStore, clock: ManualClock) -> None:
        first = await store.assistants.create(new_assistant("a1", metadata={"n": 1}))
        clock.advance(1)
        await store.assistants.update("a1", AssistantPatch(metadata={"n": 2}))
        clock.advance(1)
        await store.assistants.set_latest("a1", 1)
        page = await store.assistants.list_versions("a1", VersionQuery())
        assert page.rows[-1] == first
        assert [row.metadata for row in page.rows] == [{"n": 2}, {"n": 1}]

    async def test_history_of_an_unknown_assistant_is_empty(self, store: ResourceStore) -> None:
        assert (await store.assistants.list_versions("nobody", VersionQuery())).total == 0

    async def test_set_latest_rolls_back_without_making_a_version(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        first = await store.assistants.create(new_assistant("a1", config={"a": 1}))
        await store.assistants.update("a1", AssistantPatch(config={"a": 2}))
        later = clock.advance(5)
        active = await store.assistants.set_latest("a1", 1)
        assert (active.version, active.config) == (1, {"a": 1})
        assert (active.created_at, active.updated_at) == (first.created_at, later)
        assert await store.assistants.get("a1") == active
        assert (await store.assistants.list_versions("a1", VersionQuery())).total == 2

    async def test_set_latest_to_an_unknown_version_is_refused(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1"))
        for version in (2, 0, -1, 2**70, -(2**70)):
            with pytest.raises(NotFoundError, match="version"):
                await store.assistants.set_latest("a1", version)
        with pytest.raises(NotFoundError, match="assistant 'nobody'"):
            await store.assistants.set_latest("nobody", 1)

    async def test_an_update_after_a_rollback_is_one_above_the_highest(
        self, store: ResourceStore
    ) -> None:
        await store.assistants.create(new_assistant("a1", config={"a": 1}))
        await store.assistants.update("a1", AssistantPatch(config={"a": 2}))
        await store.assistants.set_latest("a1", 1)
        third = await store.assistants.update("a1", AssistantPatch(name="x"))
        assert (third.version, third.config) == (3, {"a": 1})

    async def test_updates_at_once_each_make_their_own_version(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1"))
        updates = (
            store.assistants.update("a1", AssistantPatch(metadata={str(n): n})) for n in range(10)
        )
        made = await asyncio.gather(*updates)
        assert sorted(row.version for row in made) == list(range(2, 12))
        active = await store.assistants.get("a1")
        assert active is not None
        assert len(active.metadata) == 10

    async def test_delete_takes_the_history_along(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", metadata={"old": 1}))
        await store.assistants.create(new_assistant("a2"))
        assert await store.assistants.delete("a1")
        assert not await store.assistants.delete("a1")
        assert await store.assistants.get("a1") is None
        assert (await store.assistants.list_versions("a1", VersionQuery())).total == 0
        assert await found(store, AssistantQuery()) == ["a2"]
        assert (await store.assistants.create(new_assistant("a1"))).metadata == {}

    async def test_search_by_graph_name_and_metadata(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", graph_id="chat", name="Support Éire"))
        await store.assistants.create(new_assistant("a2", graph_id="chat", metadata={"t": [1, 2]}))
        await store.assistants.create(new_assistant("a3", graph_id="code", metadata={"t": [2]}))
        assert await found(store, AssistantQuery(graph_id="code")) == ["a3"]
        assert await found(store, AssistantQuery(name="ORT éI")) == ["a1"]
        assert await found(store, AssistantQuery(name="%")) == []
        assert await found(store, AssistantQuery(name="")) == ["a3", "a2", "a1"]
        assert await found(store, AssistantQuery(metadata={"t": [1]})) == ["a2"]
        query = AssistantQuery(graph_id="chat", metadata={"t": [2]})
        assert await found(store, query) == ["a2"]
        assert (await store.assistants.search(AssistantQuery(graph_id="chat"))).total == 2

    async def test_search_sorts_both_ways_and_breaks_ties_by_id(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for assistant_id, graph_id, name in [("b", "x", "n"), ("a", "x", "m"), ("c", "w", "n")]:
            new = new_assistant(assistant_id, graph_id=graph_id, name=name)
            await store.assistants.create(new)
        assert await found(store, AssistantQuery()) == ["c", "b", "a"]
        assert await found(store, AssistantQuery(sort_order="asc")) == ["a", "b", "c"]
        by_graph = AssistantQuery(sort_by="graph_id", sort_order="asc")
        assert await found(store, by_graph) == ["c", "a", "b"]
        assert await found(store, AssistantQuery(sort_by="name")) == ["c", "b", "a"]
        clock.advance(1)
        await store.assistants.update("a", AssistantPatch(name="z"))
        assert await found(store, AssistantQuery(sort_by="updated_at")) == ["a", "c", "b"]
        assert await found(store, AssistantQuery(sort_by="assistant_id", limit=2)) == ["c", "b"]

    async def test_an_unknown_sort_key_is_refused(self, store: ResourceStore) -> None:
        hostile = AssistantQuery(sort_by="name; DROP TABLE")  # type: ignore[arg-type]
        with pytest.raises(InvalidRequestError):
            await store.assistants.search(hostile)

    async def test_count_ignores_the_page(self, store: ResourceStore) -> None:
        for number in range(5):
            new = new_assistant(f"a{number}", metadata={"even": number % 2 == 0})
            await store.assistants.create(new)
        assert await store.assistants.count(AssistantQuery(limit=1, offset=3)) == 5
        assert await store.assistants.count(AssistantQuery(metadata={"even": True})) == 3
        assert await store.assistants.count(AssistantQuery(name="no such")) == 0
