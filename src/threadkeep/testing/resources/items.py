"""What every store must do with items: put, get, delete, search, and batches of these."""

import asyncio
from typing import Any

import pytest

from threadkeep.errors import InvalidFilterError, InvalidNamespaceError, ValueNotStorableError
from threadkeep.model.items import (
    DeleteItem,
    GetItem,
    ItemQuery,
    Namespace,
    NamespaceQuery,
    PutItem,
)
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.suite import ResourceSuite

NEIGHBOURS = [
    ("acme", "acme-corp"),
    ("john_doe", "johnxdoe"),
    ("100%", "100x"),
    ("a", "ab"),
    ("*", "anything"),
    ("a\\", "a\\b"),
    ("x?", "xy"),
    ("[a]", "a"),
    ("a/b", "a"),
    ("a\x01", "a"),
    ("A", "a"),
    ("é", "e\u0301"),
    ("'", "''"),
    ("\U0001f642", "\uffff"),
    (" ", "  "),
]


async def found(store: ResourceStore, query: ItemQuery) -> list[str]:
    """Return the keys a search finds, in its order."""
    return [item.key for item in (await store.items.search(query)).rows]


class ItemSuite(ResourceSuite):
    """One case per promise of ``ItemRepo`` but for those of other suites."""

    async def test_a_put_item_reads_back(self, store: ResourceStore, clock: ManualClock) -> None:
        item = await store.items.put(("users", "u1"), "prefs", {"units": "metric"})
        assert (item.namespace, item.key) == (("users", "u1"), "prefs")
        assert (item.value, item.score) == ({"units": "metric"}, None)
        assert item.created_at == item.updated_at == clock.now()
        assert (item.ttl_minutes, item.expires_at) == (None, None)
        assert await store.items.get(("users", "u1"), "prefs") == item
        assert (await store.items.search(ItemQuery())).rows == [item]

    async def test_an_unknown_item_is_none(self, store: ResourceStore) -> None:
        await store.items.put(("a",), "k", {})
        assert await store.items.get(("a",), "other") is None
        assert await store.items.get(("b",), "k") is None
        assert await store.items.get(("a", "k"), "k") is None

    async def test_looking_for_an_item_makes_no_namespace(self, store: ResourceStore) -> None:
        assert await store.items.get(("a",), "k") is None
        assert await found(store, ItemQuery(("a",))) == []
        assert (await store.items.list_namespaces(NamespaceQuery())).total == 0

    async def test_overwriting_keeps_created_at(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        first = await store.items.put(("a",), "k", {"v": 1, "old": True})
        later = clock.advance(1)
        second = await store.items.put(("a",), "k", {"v": 2})
        assert (second.created_at, second.updated_at) == (first.created_at, later)
        assert second.value == {"v": 2}
        assert await store.items.get(("a",), "k") == second
        assert (await store.items.search(ItemQuery())).total == 1

    async def test_a_deleted_item_is_gone_and_a_put_begins_anew(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.items.put(("a",), "k", {"v": 1})
        await store.items.put(("a",), "other", {"v": 1})
        await store.items.delete(("a",), "k")
        assert await store.items.get(("a",), "k") is None
        assert await found(store, ItemQuery()) == ["other"]
        later = clock.advance(1)
        assert (await store.items.put(("a",), "k", {})).created_at == later

    async def test_deleting_an_unknown_item_is_no_error(self, store: ResourceStore) -> None:
        await store.items.delete(("a",), "k")

    async def test_the_last_item_takes_its_namespace_along(self, store: ResourceStore) -> None:
        await store.items.put(("a",), "k", {})
        await store.items.delete(("a",), "k")
        assert (await store.items.list_namespaces(NamespaceQuery())).total == 0

    @pytest.mark.parametrize(("mine", "theirs"), NEIGHBOURS)
    async def test_a_search_stays_inside_its_namespace(
        self, store: ResourceStore, mine: str, theirs: str
    ) -> None:
        await store.items.put(("tenant", mine), "mine", {"v": 1})
        await store.items.put(("tenant", theirs), "theirs", {"v": 2})
        await store.items.put(("tenant", mine, "deeper"), "deep", {"v": 3})
        assert sorted(await found(store, ItemQuery(("tenant", mine)))) == ["deep", "mine"]
        assert await found(store, ItemQuery(("tenant", theirs))) == ["theirs"]
        assert await store.items.get(("tenant", theirs), "mine") is None
        await store.items.delete(("tenant", theirs), "mine")
        assert await store.items.get(("tenant", mine), "mine") is not None

    async def test_labels_are_joined_by_nothing(self, store: ResourceStore) -> None:
        for namespace in (("a/b",), ("a", "b"), ("ab",), ("a", "b", "c"), ("a", "bc")):
            await store.items.put(namespace, "k", {"at": list(namespace)})
        assert (await store.items.search(ItemQuery(("a", "b")))).total == 2
        assert (await store.items.search(ItemQuery(("a",)))).total == 3
        item = await store.items.get(("a/b",), "k")
        assert item is not None
        assert item.value == {"at": ["a/b"]}

    async def test_keys_are_literal(self, store: ResourceStore) -> None:
        keys = ["%", "_", "*", "a.b", "a/b", "'", '"', "\\", " ", "é", "e\u0301", "\U0001f642"]
        for key in keys:
            await store.items.put(("n",), key, {"key": key})
        assert (await store.items.search(ItemQuery())).total == len(keys)
        for key in keys:
            item = await store.items.get(("n",), key)
            assert item is not None
            assert item.value == {"key": key}

    async def test_search_is_latest_update_first_then_by_namespace_and_key(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        places = [(("b",), "x"), (("a", "z"), "x"), (("a",), "y"), (("a",), "x"), (("a-b",), "x")]
        for namespace, key in places:
            await store.items.put(namespace, key, {})
        clock.advance(0.000_001)
        await store.items.put(("c",), "late", {})
        rows = (await store.items.search(ItemQuery())).rows
        assert [(item.namespace, item.key) for item in rows] == [
            (("c",), "late"),
            (("a",), "x"),
            (("a",), "y"),
            (("a", "z"), "x"),
            (("a-b",), "x"),
            (("b",), "x"),
        ]

    async def test_ties_are_broken_by_code_point(self, store: ResourceStore) -> None:
        keys = ["\U0001f642", "\uffff", "é", "z", "Z", "a-b", "ab", "a"]
        for key in keys:
            await store.items.put(("n",), key, {})
        assert await found(store, ItemQuery()) == sorted(keys)

    async def test_search_is_paged(self, store: ResourceStore) -> None:
        for number in range(6):
            await store.items.put(("n",), f"k{number}", {"even": number % 2 == 0})
        page = await store.items.search(ItemQuery(filter={"even": True}, limit=2))
        assert ([item.key for item in page.rows], page.total) == (["k0", "k2"], 3)
        assert page.next_offset == 2
        rest = await store.items.search(ItemQuery(filter={"even": True}, offset=2))
        assert ([item.key for item in rest.rows], rest.next_offset) == (["k4"], None)

    @pytest.mark.parametrize(
        "namespace",
        [(), ("",), ("a", ""), ("a.b",), ("a\0",), ("\ud800",), ("langgraph", "x"), ("x" * 3000,)],
        ids=ascii,
    )
    async def test_an_address_that_can_name_nothing_is_refused(
        self, store: ResourceStore, namespace: Namespace
    ) -> None:
        with pytest.raises(InvalidNamespaceError):
            await store.items.put(namespace, "k", {})
        with pytest.raises(InvalidNamespaceError):
            await store.items.apply([PutItem(("fine",), "k", {}), PutItem(namespace, "k", {})])
        assert (await store.items.search(ItemQuery())).total == 0

    @pytest.mark.parametrize("key", ["", "a\0", "\ud800", "x" * 3000], ids=ascii)
    async def test_a_key_that_can_name_nothing_is_refused(
        self, store: ResourceStore, key: str
    ) -> None:
        with pytest.raises(InvalidNamespaceError):
            await store.items.put(("n",), key, {})
        with pytest.raises(InvalidNamespaceError):
            await store.items.get(("n",), key)
        with pytest.raises(InvalidNamespaceError):
            await store.items.delete(("n",), key)

    async def test_a_prefix_that_can_name_nothing_is_refused(self, store: ResourceStore) -> None:
        for prefix in (("",), ("a.b",), ("a\0",), ("\ud800",)):
            with pytest.raises(InvalidNamespaceError):
                await store.items.search(ItemQuery(prefix))

    async def test_labels_and_key_share_one_bound(self, store: ResourceStore) -> None:
        label = "é" * 500
        await store.items.put((label,), "k" * 1000, {})
        assert await found(store, ItemQuery((label,))) == ["k" * 1000]
        with pytest.raises(InvalidNamespaceError):
            await store.items.put((label, "x" * 100), "k" * 1000, {})

    async def test_a_value_must_be_a_json_object(self, store: ResourceStore) -> None:
        odd: list[Any] = [None, [], "text", {"a": {1}}, {1: "a"}, {"a": float("nan")}]
        for value in odd:
            with pytest.raises(ValueNotStorableError):
                await store.items.put(("n",), "k", value)
        assert await store.items.get(("n",), "k") is None

    async def test_a_large_value_comes_back_whole(self, store: ResourceStore) -> None:
        text = "0123456789abcdef" * (1024 * 1024 // 16)
        await store.items.put(("n",), "k", {"text": text})
        item = await store.items.get(("n",), "k")
        assert item is not None
        assert item.value["text"] == text

    async def test_many_writers_of_one_key_leave_one_item(self, store: ResourceStore) -> None:
        puts = (store.items.put(("n",), "k", {"by": number}) for number in range(16))
        await asyncio.gather(*puts)
        rows = (await store.items.search(ItemQuery())).rows
        assert len(rows) == 1
        assert rows[0].value["by"] in range(16)

    # Batches

    async def test_a_batch_answers_in_order(self, store: ResourceStore) -> None:
        stored = await store.items.put(("a",), "k", {"v": 1})
        answers = await store.items.apply(
            [
                PutItem(("b",), "new", {"v": 2}),
                GetItem(("a",), "k"),
                ItemQuery(("a",)),
                GetItem(("a",), "absent"),
                DeleteItem(("a",), "absent"),
                NamespaceQuery(),
            ]
        )
        assert list(answers) == [None, stored, [stored], None, None, [("a",)]]

    async def test_every_read_of_a_batch_sees_the_state_before_it(
        self, store: ResourceStore
    ) -> None:
        before = await store.items.put(("a",), "k", {"v": 1})
        answers = await store.items.apply(
            [
                PutItem(("a",), "k", {"v": 2}),
                GetItem(("a",), "k"),
                DeleteItem(("a",), "k"),
                ItemQuery(filter={"v": 1}),
                PutItem(("z",), "k", {"v": 3}),
                GetItem(("z",), "k"),
                NamespaceQuery(),
            ]
        )
        assert list(answers) == [None, before, None, [before], None, None, [("a",)]]
        assert await store.items.get(("a",), "k") is None
        assert (await store.items.search(ItemQuery())).total == 1

    async def test_the_last_write_of_a_batch_wins(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        first = await store.items.put(("a",), "kept", {"v": 0})
        later = clock.advance(1)
        await store.items.apply(
            [
                DeleteItem(("a",), "kept"),
                PutItem(("a",), "kept", {"v": 1}),
                PutItem(("a",), "gone", {"v": 1}),
                PutItem(("a",), "kept", {"v": 2}),
                DeleteItem(("a",), "gone"),
            ]
        )
        kept = await store.items.get(("a",), "kept")
        assert kept is not None
        assert kept.value == {"v": 2}
        assert (kept.created_at, kept.updated_at) == (first.created_at, later)
        assert await store.items.get(("a",), "gone") is None

    async def test_one_refused_operation_refuses_the_batch(self, store: ResourceStore) -> None:
        fine = PutItem(("a",), "k", {"v": 1})
        with pytest.raises(ValueNotStorableError):
            await store.items.apply([fine, PutItem(("a",), "odd", {"v": object()})])
        with pytest.raises(InvalidFilterError):
            await store.items.apply([fine, ItemQuery(filter={"v": {"$near": 1}})])
        assert (await store.items.search(ItemQuery())).total == 0

    async def test_an_empty_batch_is_nothing(self, store: ResourceStore) -> None:
        assert list(await store.items.apply([])) == []

    async def test_a_batch_of_many_writes(self, store: ResourceStore) -> None:
        puts = [PutItem(("n",), f"k{number:04}", {"n": number}) for number in range(1500)]
        await store.items.apply(puts)
        assert (await store.items.search(ItemQuery())).total == 1500
        await store.items.apply([DeleteItem(put.namespace, put.key) for put in puts[1:]])
        assert await found(store, ItemQuery()) == ["k0000"]
