from typing import Any

import pytest

from threadkeep.rules.containment import contains


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"a": 1, "b": 2}, {}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {}}}),
        ([1, 2, 3], [3, 1]),
        ([1], [1, 1]),
        ([{"a": 1, "b": 2}], [{"b": 2}]),
        ([[1, 2]], [[2]]),
        ([1], []),
        (None, None),
    ],
)
def test_a_part_is_contained(value: Any, wanted: Any) -> None:
    assert contains(value, wanted)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": {}}),
        ({"a": None}, {"b": None}),
        ({"a": 1}, {"a": True}),
        ({"a": [1]}, {"a": 1}),
        ({"a": {}}, {"a": []}),
        ([1, 2], [[1]]),
        ([True], [1]),
        ("text", {}),
        ({}, None),
    ],
)
def test_what_differs_is_not_contained(value: Any, wanted: Any) -> None:
    assert not contains(value, wanted)
