"""Prints: whether an element is what it was, type included, and what has none."""

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, PrivateAttr

from threadkeep.checkpoints.prints import SHEET_LEN, Prints, take


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


def message() -> AIMessage:
    return AIMessage("x", response_metadata={"a": {"b": [1, "t"]}}, id="1")


def prints_of(elements: list[Any]) -> Prints:
    return Prints().extended(0, elements, [take(element) for element in elements])


def is_noticed(element: Any, edit: Callable[[Any], None]) -> bool:
    prints = prints_of([element])
    assert prints.unchanged([element]) == 1
    edit(element)
    return prints.unchanged([element]) == 0


EDITS: dict[str, Callable[[Any], None]] = {
    "content": lambda m: setattr(m, "content", "y"),
    "a content of blocks": lambda m: setattr(m, "content", ["x"]),
    "an id": lambda m: setattr(m, "id", None),
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


@pytest.mark.parametrize("text", ["x", "long " * 300])
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


def test_an_equal_element_of_another_type_has_changed() -> None:
    for one, other in ((1, True), (1, 1.0), ("x", b"x"), ({}, []), (HumanMessage("x"), message())):
        assert prints_of([one]).unchanged([other]) == 0


def test_equal_elements_have_equal_prints_whoever_holds_them() -> None:
    for make in (message, Outer, lambda: Point(1), lambda: {"a": 1}, lambda: 1.5, lambda: None):
        assert take(make()) == take(make()) is not None


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
    prints = prints_of(elements).extended(kept, added, [take(one) for one in added])
    whole = [*elements[:kept], *added]
    assert [*prints.after(0)] == [(type(one), take(one)) for one in whole]
    assert [*prints.after(kept)] == [(type(one), take(one)) for one in added]
    assert len(prints) == len(whole)
    assert prints.whole == (kept <= 5)


def test_elements_of_several_kinds_share_a_sheet() -> None:
    elements: list[Any] = [message(), {"a": 1}, Point(1), HumanMessage("x", extra=1), "text", None]
    prints = prints_of(elements)
    assert prints.unchanged(elements) == len(elements)
    elements[3].extra = 2
    assert prints.unchanged(elements) == 3
