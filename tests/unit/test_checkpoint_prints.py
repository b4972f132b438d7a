"""Prints: whether an element is what it was, type included, and what has none."""

import copy
import dataclasses
import enum
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, PrivateAttr

from threadkeep.checkpoints.prints import SHEET_LEN, TEXT_LEN, Prints, print_of, take


class Inner(BaseModel):
    n: Any = 1


class Outer(BaseModel):
    inner: Inner = Inner()
    when: datetime = datetime(2026, 1, 1, tzinfo=UTC)


class Secretive(BaseModel):
    n: int = 1
    _hidden: int = PrivateAttr(default=1)


@dataclasses.dataclass
class Point:
    x: Any
    at: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int


class Name(str):
    """Equal to a text, and another value to a serializer."""


def message() -> AIMessage:
    values = {"zero": 0.0, "one": 1}
    made = AIMessage(
        "x", response_metadata={"a": {"b": [1, "t"]}}, additional_kwargs=values, id="1"
    )
    made.name = 1  # type: ignore[assignment]
    return made


def swap_names(element: AIMessage) -> None:
    """Give two neighbouring fields each other's name; their values are equal."""
    names = {"tool_calls": "invalid_tool_calls", "invalid_tool_calls": "tool_calls"}
    fields = {names.get(name, name): value for name, value in element.__dict__.items()}
    element.__dict__.clear()
    element.__dict__.update(fields)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from([0.0, -0.0, 1.0, "", "1"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner)
        | st.dictionaries(st.sampled_from(["a", "b", 1, 1.0, True]), inner, max_size=2)
    ),
)


def prints_of(elements: list[Any]) -> Prints:
    return Prints().extended(0, elements, [take(element) for element in elements])


def is_noticed(element: Any, edit: Callable[[Any], None]) -> bool:
    prints = prints_of([element])
    assert prints.unchanged([element]) == 1
    edit(element)
    return prints.unchanged([element]) == 0


EDITS: dict[str, Callable[[Any], None]] = {
    "content": lambda m: setattr(m, "content", "y"),
    "a content by an equal one of another type": lambda m: setattr(m, "content", Name(m.content)),
    "a long content": lambda m: setattr(m, "content", "y" * TEXT_LEN * 2),
    "a content of blocks": lambda m: setattr(m, "content", ["x"]),
    "an id": lambda m: setattr(m, "id", None),
    "a number to an equal one of another type": lambda m: setattr(m, "name", True),
    "a zero's sign": lambda m: m.additional_kwargs.__setitem__("zero", -0.0),
    "a number to none": lambda m: m.additional_kwargs.__setitem__("zero", float("nan")),
    "a text to an equal one of another type": lambda m: setattr(m, "id", Name(m.id)),
    "an order of keys": lambda m: m.additional_kwargs.__setitem__(
        "zero", m.additional_kwargs.pop("zero")
    ),
    "a deleted key": lambda m: m.additional_kwargs.pop("one"),
    "an order of fields": lambda m: m.__dict__.__setitem__("id", m.__dict__.pop("id")),
    "a renamed field": lambda m: m.__dict__.__setitem__("ident", m.__dict__.pop("id")),
    "a deleted field": lambda m: m.__dict__.pop("name"),
    "fields that change names": swap_names,
    "a nested number to bool": lambda m: m.response_metadata["a"]["b"].__setitem__(0, True),
    "a nested number to float": lambda m: m.response_metadata["a"]["b"].__setitem__(0, 1.0),
    "a nested list to tuple": lambda m: m.response_metadata["a"].__setitem__("b", (1, "t")),
    "a nested dict to a subclass": lambda m: m.response_metadata.__setitem__("a", OrderedDict()),
    "a nested append": lambda m: m.response_metadata["a"]["b"].append(1),
    "a renamed key": lambda m: m.response_metadata.__setitem__("c", m.response_metadata.pop("a")),
    "a new key": lambda m: m.additional_kwargs.__setitem__("k", None),
    "a tool call": lambda m: m.tool_calls.append({"name": "f", "args": {}, "id": "1"}),
    "an extra field": lambda m: setattr(m, "extra", 1),
    "something that has no print": lambda m: m.additional_kwargs.__setitem__("k", object()),
}


@pytest.mark.parametrize("text", ["x", "long " * TEXT_LEN])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_of_a_message_is_noticed(edit: Callable[[Any], None], text: str) -> None:
    element = message()
    element.content = text
    assert is_noticed(element, edit)


def test_edits_of_other_elements_are_noticed() -> None:
    assert is_noticed({"a": [1]}, lambda e: e["a"].__setitem__(0, True))
    assert is_noticed([[1]], lambda e: e[0].append(2))
    assert is_noticed(Outer(), lambda e: setattr(e.inner, "n", 1.0))
    assert is_noticed(Outer(), lambda e: setattr(e, "when", datetime(2026, 1, 2, tzinfo=UTC)))
    assert is_noticed(Point(1, (1, [2])), lambda e: e.at[1].append(3))
    assert is_noticed(HumanMessage("x", extra=1), lambda e: setattr(e, "extra", 2))


def test_a_container_or_text_in_place_of_an_equal_one_is_no_change() -> None:
    for text in ("x", "long " * TEXT_LEN):
        element = message()
        element.content = text
        prints = prints_of([element])
        element.content = "".join([text[:-1], text[-1:]])
        element.response_metadata = copy.deepcopy(element.response_metadata)
        element.tool_calls = []
        assert prints.unchanged([element]) == 1


@given(VALUES, VALUES)
def test_only_values_that_serialize_alike_have_equal_prints(one: Any, other: Any) -> None:
    element = HumanMessage("x", additional_kwargs={"value": one})
    prints, has_one = prints_of([element]), take(element) is not None
    element.additional_kwargs["value"] = other
    assert (prints.unchanged([element]) == 1) == (has_one and repr(one) == repr(other))
    element.additional_kwargs["value"] = copy.deepcopy(one)
    assert (prints.unchanged([element]) == 1) == has_one


def test_an_equal_element_of_another_type_has_changed() -> None:
    for one, other in ((1, True), (1, 1.0), ("x", b"x"), ({}, []), (HumanMessage("x"), message())):
        assert prints_of([one]).unchanged([other]) == 0


def test_equal_elements_have_equal_prints_whoever_holds_them() -> None:
    for make in (message, Outer, lambda: Point(1), lambda: {"a": 1}, lambda: 1.5, lambda: None):
        assert print_of(take(make())) == print_of(take(make())) is not None


@pytest.mark.parametrize(
    "element",
    [(1, 2), {1, 2}, object(), Slotted(1), Secretive(), 2**70, "\ud800", [object()]],
)
def test_what_cannot_be_printed_counts_as_changed(element: Any) -> None:
    assert take(element) is None
    assert prints_of([element]).unchanged([element]) == 0


def test_only_the_leading_unchanged_elements_count() -> None:
    elements: list[Any] = [message() for _ in range(9)]
    prints = prints_of(elements)
    assert prints.unchanged(elements) == 9
    assert prints.unchanged(elements[:4]) == 4
    assert prints.unchanged([*elements, message()]) == 9
    elements[5].additional_kwargs["lock"] = threading.Lock()
    assert prints.unchanged(elements) == 5
    assert prints.unchanged(elements[1:]) == 4
    assert Prints().unchanged(elements) == 0


@pytest.mark.parametrize("at", [0, 1, SHEET_LEN - 1, SHEET_LEN, 2 * SHEET_LEN, 2 * SHEET_LEN + 3])
def test_an_edit_is_found_in_whichever_sheet_it_is(at: int) -> None:
    elements: list[Any] = [{"n": place} for place in range(2 * SHEET_LEN + 4)]
    prints = prints_of(elements)
    elements[at]["n"] = True
    assert prints.unchanged(elements) == at


@pytest.mark.parametrize("kept", [0, 1, SHEET_LEN - 1, SHEET_LEN, SHEET_LEN + 1, 2 * SHEET_LEN])
def test_an_extended_list_has_the_prints_of_its_elements(kept: int) -> None:
    elements: list[Any] = [message() if place % 3 else place for place in range(2 * SHEET_LEN)]
    elements[5] = (1, 2)
    added: list[Any] = [{"new": place} for place in range(SHEET_LEN + 1)]
    whole = [*elements[:kept], *added]
    prints = prints_of(elements).extended(kept, whole, map(take, added))
    assert [*prints.after(0)] == [(type(one), print_of(take(one))) for one in whole]
    assert [*prints.after(kept)] == [(type(one), print_of(take(one))) for one in added]
    assert len(prints) == len(whole)
    assert prints.whole == (kept <= 5)


def test_elements_of_several_kinds_share_a_sheet() -> None:
    elements: list[Any] = [message(), {"a": 1}, Point(1), HumanMessage("x", extra=1), "text", None]
    prints = prints_of(elements)
    assert prints.unchanged(elements) == len(elements)
    elements[3].extra = 2
    assert prints.unchanged(elements) == 3


def test_a_long_text_is_told_from_another_in_whichever_place() -> None:
    for place in (0, 3, SHEET_LEN - 1):
        elements: list[Any] = [message() for _ in range(SHEET_LEN)]
        for each in (0, 3, SHEET_LEN - 1):
            elements[each].content = "a" * (TEXT_LEN + 1)
        prints = prints_of(elements)
        assert prints.unchanged(elements) == SHEET_LEN
        elements[place].content = "b" * (TEXT_LEN + 1)
        assert prints.unchanged(elements) == place


def test_two_texts_that_change_places_are_noticed() -> None:
    for text in ("x", "long " * TEXT_LEN):
        elements: list[Any] = [message(), message()]
        elements[0].content, elements[1].content = text + "1", text + "2"
        prints = prints_of(elements)
        elements[0].content, elements[1].content = elements[1].content, elements[0].content
        assert prints.unchanged(elements) == 0


def test_an_element_that_changes_while_its_sheet_is_cut_has_no_print() -> None:
    elements: list[Any] = [{"n": place} for place in range(4)]
    prints = prints_of(elements)
    elements[1]["n"] = "meanwhile"
    after = prints.extended(3, elements[:3], [])
    assert [known is None for _, known in after.after(0)] == [False, True, False]
    assert after.unchanged(elements) == 1


@given(st.sets(st.integers(0, 150)), st.integers(0, 150), st.integers(0, 70))
def test_a_list_with_edited_elements_has_the_prints_of_its_elements(
    places: set[int], kept: int, grown: int
) -> None:
    elements: list[Any] = [{"n": place} for place in range(150)]
    prints = prints_of(elements)
    for place in (edited := sorted(place for place in places if place < kept)):
        elements[place] = {"edited": place} if place % 2 else ("no print",)
    assert prints.changed(elements[:kept]) == edited
    elements[kept:] = [{"new": place} for place in range(grown)]
    added = map(take, elements[kept:])
    after = prints.extended(
        kept, elements, added, {place: take(elements[place]) for place in edited}
    )
    assert [known for _, known in after.after(0)] == [print_of(take(one)) for one in elements]
    assert after.changed(elements) == [place for place in edited if place % 2 == 0]


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 150)), max_size=4))
def test_lists_that_grow_and_shrink_keep_the_prints_of_their_elements(
    steps: list[tuple[int, int]],
) -> None:
    elements: list[Any] = []
    prints = Prints()
    for cut, grown in steps:
        kept = min(cut, len(elements))
        added = [{"n": [place, len(elements)]} for place in range(grown)]
        elements = elements[:kept] + added
        prints = prints.extended(kept, elements, map(take, added))
        assert len(prints) == prints.unchanged(elements) == len(elements)
        assert [known for _, known in prints.after(0)] == [print_of(take(one)) for one in elements]


class Text(str):
    pass


class Kind(enum.Enum):
    RED = "red"


@pytest.mark.parametrize("key", [Kind.RED, Text("red"), date(2026, 1, 1), 1, (1, 2), None])
def test_what_has_a_key_that_is_no_text_has_no_print(key: Any) -> None:
    assert take({"k": {key: 1}}) is None
