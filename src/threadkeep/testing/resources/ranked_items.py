"""What every store must do with an index of its items: rank, replace, keep apart, rebuild."""

from collections.abc import Sequence

import pytest

from threadkeep.errors import ConfigError, InvalidRequestError, NotSupportedError
from threadkeep.model.item_index import IndexEntry, IndexProgress, IndexSpec, Passage, Vector
from threadkeep.model.items import DeleteItem, ItemQuery, Namespace, PutItem
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.suite import ResourceSuite

SPEC = IndexSpec("first", 3)
OTHER = IndexSpec("second", 2)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def put(
    key: str,
    *passages: tuple[str, Vector | None],
    namespace: Namespace = ("n",),
    ttl_minutes: float | None = None,
    paths: Sequence[str] | None = None,
) -> PutItem:
    """Return a put of an item with passages."""
    held = [Passage(text, vector) for text, vector in passages]
    value = {"text": " ".join(text for text, _ in passages), "key": key}
    return PutItem(namespace, key, value, ttl_minutes, passages=held, paths=paths)


async def scored(store: ResourceStore, query: ItemQuery) -> list[tuple[str, float]]:
    """Return keys and scores of what a search finds, in its order."""
    rows = (await store.items.search(query)).rows
    return [(item.key, round(item.score or 0, 5)) for item in rows]


async def keys(store: ResourceStore, query: ItemQuery) -> list[str]:
    """Return the keys of what a search finds, in its order."""
    return [item.key for item in (await store.items.search(query)).rows]


class RankedItemSuite(ResourceSuite):
    """One case per promise of ``ItemRepo`` about its index."""

    async def test_a_ranked_search_needs_an_index(self, store: ResourceStore) -> None:
        await store.items.apply([put("a", ("tea", X))])
        for query in (ItemQuery(vector=X), ItemQuery(text="tea")):
            with pytest.raises(NotSupportedError):
                await store.items.search(query)
            with pytest.raises(NotSupportedError):
                await store.items.apply([query])
        with pytest.raises(NotSupportedError):
            await store.items.index_progress()
        with pytest.raises(NotSupportedError):
            await store.items.finish_index()
        assert await keys(store, ItemQuery()) == ["a"]

    async def test_scores_are_cosines_and_the_best_passage_counts(
        self, store: ResourceStore
    ) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply(
            [
                put("x", ("one", (5.0, 0.0, 0.0))),
                put("both", ("one", Z), ("two", (3.0, 4.0, 0.0))),
                put("away", ("one", (-2.0, 0.0, 0.0))),
                put("y", ("one", Y)),
            ]
        )
        found = await scored(store, ItemQuery(vector=(7.0, 0.0, 0.0)))
        assert found == [("x", 1.0), ("both", 0.6), ("y", 0.0), ("away", -1.0)]
        assert await scored(store, ItemQuery(vector=Z, limit=1)) == [("both", 1.0)]

    async def test_numbers_of_any_size_have_a_direction(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply(
            [put("huge", ("", (3e300, 4e300, 0.0))), put("tiny", ("", (4e-300, 3e-300, 0.0)))]
        )
        assert await scored(store, ItemQuery(vector=X)) == [("tiny", 0.8), ("huge", 0.6)]

    async def test_ties_are_broken_by_namespace_and_key(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        places = [(("b",), "x"), (("a", "z"), "x"), (("a",), "y"), (("a",), "x"), (("a-b",), "x")]
        await store.items.apply([put(key, ("same", X), namespace=at) for at, key in places])
        for query in (
            ItemQuery(vector=X),
            ItemQuery(text="same"),
            ItemQuery((), vector=X, text="same"),
        ):
            rows = (await store.items.search(query)).rows
            assert [(item.namespace, item.key) for item in rows] == sorted(places)

    async def test_only_what_has_a_vector_is_found_by_one(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.put(("n",), "plain", {"text": "tea"})
        await store.items.apply(
            [put("none"), put("words", ("tea", None)), put("zero", ("tea", (0.0, 0.0, 0.0)))]
        )
        await store.items.apply([put("x", ("tea", X))])
        assert await keys(store, ItemQuery(vector=X)) == ["x"]
        assert await keys(store, ItemQuery(text="tea")) == ["words", "x", "zero"]

    async def test_every_put_replaces_what_the_index_held(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply([put("a", ("green tea", X), ("black", Z)), put("b", ("rum", Y))])
        assert await scored(store, ItemQuery(vector=X, limit=1)) == [("a", 1.0)]
        await store.items.apply([put("a", ("coffee", Y))])
        assert await scored(store, ItemQuery(vector=X)) == [("a", 0.0), ("b", 0.0)]
        assert await keys(store, ItemQuery(text="tea")) == []
        assert await keys(store, ItemQuery(text="coffee")) == ["a"]
        await store.items.put(("n",), "a", {"text": "unknown"})
        assert await keys(store, ItemQuery(vector=X)) == ["b"]
        assert await keys(store, ItemQuery(text="coffee")) == []

    async def test_what_is_deleted_is_found_no_more(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply([put("a", ("tea", X)), put("b", ("tea", X))])
        assert await keys(store, ItemQuery(vector=X)) == ["a", "b"]
        await store.items.delete(("n",), "a")
        assert await keys(store, ItemQuery(vector=X)) == ["b"]
        assert await keys(store, ItemQuery(text="tea")) == ["b"]
        await store.items.apply([DeleteItem(("n",), "b"), put("c", ("tea", Y))])
        assert await keys(store, ItemQuery(vector=X)) == ["c"]

    async def test_prefix_and_filter_hold_before_the_ranking(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        puts = [put(f"o{n}", ("tea", X), namespace=("other",)) for n in range(30)]
        puts += [put("near", ("tea pot", (4.0, 3.0, 0.0))), put("far", ("tea", Y))]
        await store.items.apply(puts)
        query = ItemQuery(("n",), vector=X, limit=5)
        assert await scored(store, query) == [("near", 0.8), ("far", 0.0)]
        query = ItemQuery(filter={"key": "far"}, vector=X, limit=1)
        assert await scored(store, query) == [("far", 0.0)]
        query = ItemQuery(("n",), filter={"key": {"$ne": "far"}}, text="tea", vector=X)
        assert await keys(store, query) == ["near"]
        assert await keys(store, ItemQuery(("nobody",), vector=X)) == []

    async def test_pages_of_a_ranking_fit_together(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply([put(f"{n:02}", ("tea", (1.0, n / 10, 0.0))) for n in range(12)])
        expected = [f"{n:02}" for n in range(12)]
        for text in (None, "tea"):
            found: list[str] = []
            while len(found) < 12:
                query = ItemQuery(vector=X, limit=5, offset=len(found), text=text)
                listing = await store.items.search(query)
                assert listing.total == 12
                found += [item.key for item in listing.rows]
            assert found == expected
            assert listing.next_offset is None
        assert await keys(store, ItemQuery(vector=X, offset=12)) == []
        assert await keys(store, ItemQuery(vector=X, limit=0)) == []

    async def test_words_are_found_in_either_case_and_rare_ones_count_more(
        self, store: ResourceStore
    ) -> None:
        await store.items.use_index(SPEC)
        puts = [put(f"c{n}", ("a cup of coffee", None)) for n in range(8)]
        await store.items.apply([*puts, put("t", ("the Samovar of a cup maker", None))])
        assert await keys(store, ItemQuery(text="samovar")) == ["t"]
        assert (await keys(store, ItemQuery(text="Which SAMOVAR or cups?")))[0] == "t"
        assert await keys(store, ItemQuery(text="submarine")) == []

    @pytest.mark.parametrize(
        "text", ["", "  ", "!?*", '"', "' OR 1=1 --", "a:b*", "NEAR(", "\0", "\ud800", "(", "-x \\"]
    )
    async def test_no_text_is_an_error(self, store: ResourceStore, text: str) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply([put("t", ("tea", X))])
        assert "t" not in await keys(store, ItemQuery(text=text))
        assert await keys(store, ItemQuery(text=text, vector=X)) == ["t"]

    async def test_both_rankings_are_fused_by_their_places(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply(
            [
                put("both", ("red samovar", (9.0, 1.0, 0.0))),
                put("like", ("kettle", X)),
                put("said", ("samovar samovar", Y)),
            ]
        )
        rows = (await store.items.search(ItemQuery(vector=X, text="samovar"))).rows
        assert {item.key for item in rows} == {"both", "like", "said"}
        by_key = {item.key: item.score or 0 for item in rows}
        assert by_key["like"] == pytest.approx(1 / 61)
        assert by_key["both"] > by_key["like"]

    async def test_expired_items_are_not_ranked_and_reads_restart(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply(
            [put("short", ("tea", X), ttl_minutes=1), put("read", ("tea", Y), ttl_minutes=1)]
        )
        clock.advance(40)
        assert await keys(store, ItemQuery(filter={"key": "read"}, vector=X)) == ["read"]
        assert await keys(store, ItemQuery(vector=X, refresh=False)) == ["short", "read"]
        clock.advance(40)
        assert await keys(store, ItemQuery(vector=X)) == ["read"]
        assert await keys(store, ItemQuery(text="tea")) == ["read"]

    async def test_reads_of_a_batch_rank_the_state_before_it(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply([put("a", ("tea", X))])
        found, _ = await store.items.apply([ItemQuery(vector=Y), put("b", ("tea", Y))])
        assert [item.key for item in found] == ["a"]
        assert await keys(store, ItemQuery(vector=Y)) == ["b", "a"]

    @pytest.mark.parametrize(
        "vector", [(), (1.0,), (1.0, 0.0, 0.0, 0.0), (float("nan"), 1.0, 0.0), (1e400, 0.0, 0.0)]
    )
    async def test_a_vector_that_does_not_fit_is_refused(
        self, store: ResourceStore, vector: Vector
    ) -> None:
        await store.items.use_index(SPEC)
        with pytest.raises(InvalidRequestError):
            await store.items.apply([put("fine", ("tea", X)), put("odd", ("tea", vector))])
        with pytest.raises(InvalidRequestError):
            await store.items.search(ItemQuery(vector=vector))
        with pytest.raises(InvalidRequestError):
            await store.items.search(ItemQuery(vector=(0.0, 0.0, 0.0)))
        assert await keys(store, ItemQuery()) == []

    @pytest.mark.parametrize("dims", [0, -1, True, 1.5])
    async def test_an_index_has_a_size(self, store: ResourceStore, dims: int) -> None:
        with pytest.raises(ConfigError):
            await store.items.use_index(IndexSpec("first", dims))

    # Rebuilding

    async def test_another_index_is_refused_once_one_holds_items(
        self, store: ResourceStore
    ) -> None:
        await store.items.use_index(SPEC)
        await store.items.use_index(OTHER)  # the first holds nothing
        await store.items.use_index(SPEC)
        await store.items.apply([put("a", ("tea", X))])
        for spec in (OTHER, IndexSpec("first", 2), IndexSpec("second", 3)):
            with pytest.raises(ConfigError, match=r"first.*3.*reembed"):
                await store.items.use_index(spec)
        await store.items.use_index(SPEC)
        assert await keys(store, ItemQuery(vector=X)) == ["a"]

    async def test_what_was_put_before_the_index_is_named_as_lacking(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(3):
            await store.items.put(("n",), f"k{number}", {"n": number})
            clock.advance(1)
        await store.items.put(("n",), "short", {}, ttl_minutes=0.01)
        await store.items.use_index(SPEC)
        clock.advance(1)
        assert await store.items.index_progress() == IndexProgress(0, 3)
        lacking = await store.items.unindexed(limit=2)
        assert [(each.item.key, each.paths) for each in lacking] == [("k0", None), ("k1", None)]
        entries = [
            IndexEntry(each.item.namespace, each.item.key, each.item.updated_at, [Passage("t", X)])
            for each in lacking
        ]
        assert await store.items.index_items(entries) == 2
        assert await store.items.index_progress() == IndexProgress(2, 3)
        assert await keys(store, ItemQuery(vector=X)) == ["k0", "k1"]
        assert [each.item.key for each in await store.items.unindexed(limit=9)] == ["k2"]
        assert not await store.items.finish_index()

    async def test_an_entry_of_an_older_state_is_left_out(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        item = await store.items.put(("n",), "a", {"v": 1})
        gone = await store.items.put(("n",), "gone", {"v": 1})
        await store.items.use_index(SPEC)
        clock.advance(1)
        await store.items.put(("n",), "a", {"v": 2})
        await store.items.delete(("n",), "gone")
        old = [
            IndexEntry(each.namespace, each.key, each.updated_at, [Passage("old", X)])
            for each in (item, gone)
        ]
        assert await store.items.index_items(old) == 0
        assert await keys(store, ItemQuery(vector=X)) == []

    async def test_an_index_is_built_beside_the_one_in_force(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        await store.items.apply([put("a", ("tea", X), paths=["text"]), put("b", ("rum", Y))])
        await store.items.use_index(OTHER, build=True)
        assert await store.items.index_progress() == IndexProgress(0, 2)
        assert not await store.items.finish_index()
        await store.items.use_index(SPEC)  # as who searches meanwhile
        assert await keys(store, ItemQuery(vector=X)) == ["a", "b"]
        await store.items.use_index(OTHER, build=True)
        lacking = await store.items.unindexed(limit=9)
        assert {each.item.key: each.paths for each in lacking} == {"a": ["text"], "b": None}
        entries = [
            IndexEntry(
                each.item.namespace, each.item.key, each.item.updated_at, [Passage("t", (1.0, 1.0))]
            )
            for each in lacking
        ]
        assert await store.items.index_items(entries) == 2
        assert await store.items.index_items(entries) == 2  # again changes nothing
        assert await store.items.finish_index()
        assert await scored(store, ItemQuery(vector=(1.0, 0.0))) == [
            ("a", 0.70711),
            ("b", 0.70711),
        ]
        with pytest.raises(ConfigError, match=r"second.*2.*reembed"):
            await store.items.use_index(SPEC)
        await store.items.tidy_index()
        assert await store.items.index_progress() == IndexProgress(2, 2)
        await store.items.use_index(SPEC, build=True)
        assert await store.items.index_progress() == IndexProgress(0, 2)
        assert not await store.items.finish_index()

    async def test_an_empty_store_has_a_finished_index(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        assert await store.items.index_progress() == IndexProgress(0, 0)
        assert await store.items.finish_index()
        assert await keys(store, ItemQuery(vector=X, text="tea")) == []

    async def test_many_puts_and_replacements_rank_right(self, store: ResourceStore) -> None:
        await store.items.use_index(SPEC)
        for turn in range(4):
            puts = [put(f"{n:03}", ("tea", (1.0, (n + turn) % 200, 0.0))) for n in range(200)]
            await store.items.apply(puts)
            found = await keys(store, ItemQuery(vector=X, limit=3))
            assert found == [f"{(n - turn) % 200:03}" for n in range(3)]
        assert (await store.items.search(ItemQuery(vector=X))).total == 200
