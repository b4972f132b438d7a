from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.errors import ValueNotStorableError
from threadkeep.rules.json_text import (
    MAX_DEPTH,
    copy_json,
    decode_json,
    json_text,
    normal_json,
    normal_object,
)

TEXTS = st.text(st.characters(exclude_categories=[])).filter(
    lambda text: "\ud800" not in text or text.isascii()
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class Word(str):
    pass


class Number(int):
    pass


@given(VALUES)
def test_values_come_back_with_their_types(value: Any) -> None:
    assert repr(decode_json(json_text(normal_json(value, "value")))) == repr(value)


@given(st.text(st.characters(categories=["Cs"]), max_size=4))
def test_surrogates_come_back_or_are_refused(text: str) -> None:
    try:
        plain = normal_json({text: text}, "value")
    except ValueNotStorableError:
        return
    assert decode_json(json_text(plain)) == {text: text}


def test_a_copy_shares_nothing() -> None:
    value = {"a": [{"b": 1}]}
    for copied in (copy_json(value), normal_json(value, "value")):
        copied["a"][0]["b"] = 2
        assert value == {"a": [{"b": 1}]}


def test_subclasses_and_tuples_become_plain() -> None:
    plain = normal_json({Word("k"): (Word("w"), Number(3), True)}, "value")
    assert plain == {"k": ["w", 3, True]}
    assert [type(held) for held in plain["k"]] == [str, int, bool]
    assert [type(key) for key in plain] == [str]


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), {1: 2}, {None: 1}, b"", {1}, object(), 10**5000, "\ud83d\ude42"],
    ids=lambda value: type(value).__name__,
)
def test_a_refusal_says_what_of_what(value: Any) -> None:
    with pytest.raises(ValueNotStorableError, match="the value"):
        normal_json({"a": [value]}, "the value")


def test_only_mappings_are_objects() -> None:
    with pytest.raises(ValueNotStorableError, match="must be a JSON object, not list"):
        normal_object([], "metadata")


def test_depth_is_bounded() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert decode_json(json_text(normal_json(value, "value"))) == value
    with pytest.raises(ValueNotStorableError, match="deeper"):
        normal_json([value], "value")


def test_a_list_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueNotStorableError, match="deeper"):
        normal_json(value, "value")
