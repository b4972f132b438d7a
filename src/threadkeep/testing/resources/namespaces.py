"""What listing namespaces means, on every store."""

import pytest

from threadkeep.errors import InvalidNamespaceError, InvalidRequestError
from threadkeep.model.items import Namespace, NamespaceQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.suite import ResourceSuite


async def fill(store: ResourceStore, *namespaces: Namespace) -> None:
    """Put an item in each namespace."""
    for namespace in namespaces:
        await store.items.put(namespace, "k", {})


async def found(store: ResourceStore, query: NamespaceQuery) -> list[Namespace]:
    """Return what a listing finds, in its order."""
    return list((await store.items.list_namespaces(query)).rows)


class NamespaceSuite(ResourceSuite):
    """One case per clause of the traversal's meaning."""

    async def test_namespaces_are_distinct(self, store: ResourceStore) -> None:
        await fill(store, ("a",), ("a", "b"))
        await store.items.put(("a",), "second", {})
        assert await found(store, NamespaceQuery()) == [("a",), ("a", "b")]

    async def test_a_prefix_selects_a_subtree(self, store: ResourceStore) -> None:
        await fill(store, ("users",), ("users", "1"), ("users", "1", "memories"), ("users2", "1"))
        assert await found(store, NamespaceQuery(("users",))) == [
            ("users",),
            ("users", "1"),
            ("users", "1", "memories"),
        ]

    async def test_a_wildcard_is_exactly_one_label(self, store: ResourceStore) -> None:
        await fill(store, ("users",), ("users", "1"), ("users", "1", "memories"), ("x", "1"))
        query = NamespaceQuery(("users", "*"))
        assert await found(store, query) == [("users", "1"), ("users", "1", "memories")]

    async def test_a_wildcard_in_the_middle(self, store: ResourceStore) -> None:
        await fill(store, ("u", "1", "facts"), ("u", "2", "facts"), ("u", "1", "prefs"))
        query = NamespaceQuery(("u", "*", "facts"))
        assert await found(store, query) == [("u", "1", "facts"), ("u", "2", "facts")]

    async def test_a_path_longer_than_the_namespace_never_matches(
        self, store: ResourceStore
    ) -> None:
        await fill(store, ("a",), ("a", "b"))
        assert await found(store, NamespaceQuery(("a", "b", "*"))) == []
        assert await found(store, NamespaceQuery(suffix=("*", "*", "b"))) == []

    async def test_a_stored_star_is_matched_by_the_wildcard(self, store: ResourceStore) -> None:
        await fill(store, ("a", "*"), ("a", "b"))
        assert await found(store, NamespaceQuery(("a", "*"))) == [("a", "*"), ("a", "b")]

    async def test_a_suffix_ends_at_the_last_label(self, store: ResourceStore) -> None:
        await fill(store, ("a", "facts"), ("facts",), ("facts", "a"), ("a", "b", "facts"))
        query = NamespaceQuery(suffix=("facts",))
        assert await found(store, query) == [("a", "b", "facts"), ("a", "facts"), ("facts",)]
        starred = NamespaceQuery(suffix=("*", "facts"))
        assert await found(store, starred) == [("a", "b", "facts"), ("a", "facts")]

    async def test_prefix_and_suffix_hold_together_also_over_the_same_label(
        self, store: ResourceStore
    ) -> None:
        await fill(store, ("a", "b"), ("a",), ("b",), ("a", "x", "b"), ("b", "b"))
        query = NamespaceQuery(("a",), ("b",))
        assert await found(store, query) == [("a", "b"), ("a", "x", "b")]
        assert await found(store, NamespaceQuery(("a",), ("a",))) == [("a",)]

    async def test_depth_cuts_and_drops_repeats(self, store: ResourceStore) -> None:
        await fill(store, ("a", "1", "x"), ("a", "1", "y"), ("a", "2"), ("b",))
        assert await found(store, NamespaceQuery(max_depth=1)) == [("a",), ("b",)]
        assert await found(store, NamespaceQuery(max_depth=2)) == [("a", "1"), ("a", "2"), ("b",)]
        deep = NamespaceQuery(suffix=("y",), max_depth=2)
        assert await found(store, deep) == [("a", "1")]

    async def test_pages_are_of_what_was_cut(self, store: ResourceStore) -> None:
        for root in "abcde":
            await fill(store, (root, "1"), (root, "2"))
        page = await store.items.list_namespaces(NamespaceQuery(max_depth=1, limit=2, offset=1))
        assert list(page.rows) == [("b",), ("c",)]
        assert (page.total, page.next_offset) == (5, 3)
        rest = await store.items.list_namespaces(NamespaceQuery(max_depth=1, offset=3))
        assert (list(rest.rows), rest.next_offset) == ([("d",), ("e",)], None)

    async def test_the_order_is_label_by_label_in_code_points(self, store: ResourceStore) -> None:
        namespaces = [
            ("A",),
            ("Z", "z"),
            ("a",),
            ("a", "\x01"),
            ("a", "b"),
            ("a", "b", "c"),
            ("a", "ba"),
            ("a\x01", "a"),
            ("a b",),
            ("a-b",),
            ("ab",),
            ("a\x7f",),
            ("a\x80",),
            ("é",),
            ("\uffff",),
            ("\U0001f642",),
        ]
        await fill(store, *reversed(namespaces))
        assert await found(store, NamespaceQuery()) == sorted(namespaces)

    async def test_every_other_character_is_literal(self, store: ResourceStore) -> None:
        await fill(store, ("a%",), ("a_",), ("a\\",), ("axb",), ("a**",))
        for label in ("a%", "a_", "a\\", "a**"):
            assert await found(store, NamespaceQuery((label,))) == [(label,)]
            assert await found(store, NamespaceQuery(suffix=(label,))) == [(label,)]

    async def test_what_describes_no_namespace_is_refused(self, store: ResourceStore) -> None:
        for labels in (("",), ("a.b",), ("a\0",), ("\ud800",)):
            with pytest.raises(InvalidNamespaceError):
                await found(store, NamespaceQuery(labels))
            with pytest.raises(InvalidNamespaceError):
                await found(store, NamespaceQuery(suffix=labels))
        for depth in (0, -1):
            with pytest.raises(InvalidRequestError):
                await found(store, NamespaceQuery(max_depth=depth))

    async def test_every_pair_of_prefix_and_suffix_holds(self, store: ResourceStore) -> None:
        for namespace in (("a", "b", "c"), ("a", "x", "c"), ("b", "x", "c"), ("a", "x", "d")):
            await store.items.put(namespace, "k", {})
        query = NamespaceQuery(("a",), ("c",), more=((("*", "x"), ()), ((), ("x", "*"))))
        listing = await store.items.list_namespaces(query)
        assert list(listing.rows) == [("a", "x", "c")]
        with pytest.raises(InvalidNamespaceError):
            await store.items.list_namespaces(NamespaceQuery(more=((("a.b",), ()),)))
