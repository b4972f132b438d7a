"""Which texts of a value are indexed."""

from typing import Any

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.rules.item_texts import MAX_PASSAGES, check_fields, item_texts

VALUE: dict[str, Any] = {
    "text": "tea",
    "deep": {"er": {"est": "coffee"}},
    "list": [{"t": "one"}, {"t": "two"}, {"u": 3}],
    "number": 5,
    "none": None,
    "blank": "  ",
}


@pytest.mark.parametrize(
    ("field", "texts"),
    [
        ("text", ["tea"]),
        ("$.text", ["tea"]),
        ("deep.er.est", ["coffee"]),
        ("deep.er", ['{"est": "coffee"}']),
        ("list[0].t", ["one"]),
        ("list[-2].t", ["two"]),
        ("list[7].t", []),
        ("list[*].t", ["one", "two"]),
        ("list[2]", ['{"u": 3}']),
        ("{text,number}", ["tea", "5"]),
        ("deep.*", ['{"est": "coffee"}']),
        ("number", ["5"]),
        ("none", []),
        ("blank", []),
        ("absent.deep[0]", []),
        ("text.deep", []),
        ("text[0]", []),
    ],
)
def test_a_path_leads_to_texts(field: str, texts: list[str]) -> None:
    assert item_texts(VALUE, [field]) == texts


def test_the_whole_value_is_one_text() -> None:
    assert item_texts({"a": "ü", "b": [1]}, ["$"]) == ['{"a": "ü", "b": [1]}']


def test_a_text_is_taken_once_and_so_many_at_most() -> None:
    assert item_texts({"a": "x", "b": "x"}, ["a", "b", "a"]) == ["x"]
    value = {"all": [str(n) for n in range(MAX_PASSAGES + 5)]}
    assert len(item_texts(value, ["all[*]"])) == MAX_PASSAGES


def test_what_embedders_refuse_is_replaced() -> None:
    assert item_texts({"a": "x\0y\ud800z"}, ["a"]) == ["x y?z"]


@pytest.mark.parametrize("field", ["", "a[", "a]", "a[x]", "[", "{a", "a[99999999999]"])
def test_what_is_no_path_is_refused(field: str) -> None:
    with pytest.raises(InvalidRequestError, match="no path"):
        item_texts(VALUE, [field])
    with pytest.raises(InvalidRequestError):
        check_fields([field])


@pytest.mark.parametrize("fields", ["text", 5, None, [5], {"a": 1}])
def test_fields_are_a_list_of_paths(fields: Any) -> None:
    with pytest.raises(InvalidRequestError, match="list of paths"):
        check_fields(fields)
