"""What a filter over items means, on every store."""

from collections.abc import Mapping
from typing import Any

import pytest

from threadkeep.errors import InvalidFilterError
from threadkeep.model.items import ItemQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.suite import ResourceSuite

ODDITIES: Mapping[str, Mapping[str, Any]] = {
    "five": {"x": 5},
    "float": {"x": 5.5},
    "ten": {"x": 10},
    "text": {"x": "5"},
    "word": {"x": "abc"},
    "null": {"x": None},
    "absent": {"y": 5},
    "true": {"x": True},
    "false": {"x": False},
    "object": {"x": {"p": 1, "q": 2}},
    "list": {"x": [1, 2]},
    "empty": {"x": ""},
    "none": {"x": []},
}


def in_words(value: Any) -> str:
    """Name a case, alike in every process: sets have no order of their own."""
    return str(sorted(value)) if isinstance(value, set) else str(value)


async def found(store: ResourceStore, given: Mapping[str, Any]) -> set[str]:
    """Return the keys a filter leaves."""
    return {item.key for item in (await store.items.search(ItemQuery(("n",), given))).rows}


async def fill(store: ResourceStore, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Put each value under its key."""
    for key, value in values.items():
        await store.items.put(("n",), key, value)


class FilterSuite(ResourceSuite):
    """One case per clause of the filter's meaning."""

    @pytest.mark.parametrize(
        ("given", "wanted"),
        [
            ({}, set(ODDITIES)),
            ({"x": {}}, set(ODDITIES)),
            # A bare value and $eq: equality of JSON
            ({"x": 5}, {"five"}),
            ({"x": 5.0}, {"five"}),
            ({"x": {"$eq": 5}}, {"five"}),
            ({"x": "5"}, {"text"}),
            ({"x": ""}, {"empty"}),
            ({"x": True}, {"true"}),
            ({"x": False}, {"false"}),
            ({"x": 1}, set()),
            ({"x": 0}, set()),
            ({"x": None}, {"null"}),
            ({"x": {"$eq": None}}, {"null"}),
            ({"x": {"q": 2, "p": 1}}, {"object"}),
            ({"x": {"$eq": {"p": 1.0, "q": 2}}}, {"object"}),
            ({"x": {"p": 1}}, set()),
            ({"x": {"$eq": {}}}, set()),
            ({"x": [1, 2]}, {"list"}),
            ({"x": [2, 1]}, set()),
            ({"x": []}, {"none"}),
            # $ne: an absent key matches
            ({"x": {"$ne": 5}}, set(ODDITIES) - {"five"}),
            ({"x": {"$ne": None}}, set(ODDITIES) - {"null"}),
            ({"x": {"$ne": [1, 2]}}, set(ODDITIES) - {"list"}),
            # $in and $nin
            ({"x": {"$in": [5.0, "abc", None, [1, 2]]}}, {"five", "word", "null", "list"}),
            ({"x": {"$in": []}}, set()),
            ({"x": {"$in": [1, 0]}}, set()),
            ({"x": {"$nin": [5, None]}}, set(ODDITIES) - {"five", "null"}),
            ({"x": {"$nin": []}}, set(ODDITIES)),
            # Ordering: numbers on both sides
            ({"x": {"$gt": 5}}, {"float", "ten"}),
            ({"x": {"$gte": 5}}, {"five", "float", "ten"}),
            ({"x": {"$lt": 10}}, {"five", "float"}),
            ({"x": {"$lte": 5.5}}, {"five", "float"}),
            ({"x": {"$gt": -1e300}}, {"five", "float", "ten"}),
            ({"x": {"$gt": "a"}}, set()),
            ({"x": {"$lt": None}}, set()),
            ({"x": {"$gte": True}}, set()),
            ({"x": {"$lte": [9]}}, set()),
            # Together
            ({"x": {"$gt": 5, "$lt": 10}}, {"float"}),
            ({"x": {"$gt": 5, "$ne": 10}}, {"float"}),
            ({"x": {"$ne": 5}, "y": 5}, {"absent"}),
            ({"x": 5, "y": 5}, set()),
            ({"x.p": 1}, set()),
            ({"$x": 1}, None),
        ],
        ids=in_words,
    )
    async def test_a_filter_leaves_what_it_says(
        self, store: ResourceStore, given: Mapping[str, Any], wanted: set[str] | None
    ) -> None:
        await fill(store, ODDITIES)
        if wanted is None:
            with pytest.raises(InvalidFilterError):
                await found(store, given)
        else:
            assert await found(store, given) == wanted

    @pytest.mark.parametrize(
        "given",
        [
            {"x": {"$regex": "a"}},
            {"x": {"$": 1}},
            {"x": {"$EQ": 1}},
            {"x": {"$gt": 1, "$size": 2}},
            {"x": {"$gt": 1, "plain": 2}},
            {"x": {"plain": 2, "$gt": 1}},
            {"x": {"$in": 5}},
            {"x": {"$in": "abc"}},
            {"x": {"$nin": {"a": 1}}},
            {"x": {"$nin": None}},
            {"$or": [{"x": 1}]},
            {"x": float("nan")},
            {"x": {"$eq": {1, 2}}},
        ],
        ids=str,
    )
    async def test_what_is_no_filter_is_refused(
        self, store: ResourceStore, given: Mapping[str, Any]
    ) -> None:
        await fill(store, ODDITIES)
        with pytest.raises(InvalidFilterError):
            await found(store, given)

    async def test_keys_are_literal_and_of_the_top_level(self, store: ResourceStore) -> None:
        names = ["a.b", 'quo"te', "$.x", "a[0]", "", "é", "back\\slash", "a'b", "\0", "\ud800"]
        await fill(store, {f"k{place}": {name: 1} for place, name in enumerate(names)})
        await fill(store, {"nested": {"a": {"b": 1}}})
        for place, name in enumerate(names):
            if not name.startswith("$"):
                assert await found(store, {name: 1}) == {f"k{place}"}, ascii(name)

    async def test_text_is_compared_exactly(self, store: ResourceStore) -> None:
        texts = ["a", "A", "a ", "a\0", "a\0b", "é", "e\u0301", "\ud800", "\ud801", "\U0001f642"]
        await fill(store, {f"k{place}": {"x": text} for place, text in enumerate(texts)})
        for place, text in enumerate(texts):
            assert await found(store, {"x": text}) == {f"k{place}"}, ascii(text)
            others = {f"k{other}" for other in range(len(texts)) if other != place}
            assert await found(store, {"x": {"$ne": text}}) == others

    async def test_integers_are_compared_exactly(self, store: ResourceStore) -> None:
        numbers = [2**53, 2**53 + 1, 2**63, 2**64 + 1, -(2**64), 10**30, 10**30 + 1]
        await fill(store, {f"k{place}": {"x": number} for place, number in enumerate(numbers)})
        for place, number in enumerate(numbers):
            assert await found(store, {"x": number}) == {f"k{place}"}
        assert await found(store, {"x": {"$gt": 10**30}}) == {"k6"}
        assert await found(store, {"x": {"$lte": 2**53}}) == {"k0", "k4"}
        assert await found(store, {"x": float(2**53)}) == {"k0"}

    async def test_filters_hold_inside_the_prefix_only(self, store: ResourceStore) -> None:
        await store.items.put(("n",), "in", {"x": 1})
        await store.items.put(("m",), "out", {"x": 1})
        assert await found(store, {"x": 1}) == {"in"}
