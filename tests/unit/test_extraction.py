"""Paths into a row."""

from typing import Any

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.rules.extraction import follow, parse_path

ROW = {"values": {"messages": [{"content": "a"}, {"content": "b"}], "n": 0, "x-y z": 1}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("values.n", 0),
        ("values.messages[-1].content", "b"),
        ("values.messages[0].content", "a"),
        ("values.x-y z", 1),
        ("values.messages[2]", None),
        ("values.messages[-3]", None),
        ("values.messages.content", None),
        ("values.n[0]", None),
        ("values[0]", None),
        ("values", ROW["values"]),
    ],
)
def test_a_path_is_followed(path: str, found: Any) -> None:
    assert follow(ROW, parse_path(path, ["values"])) == found


@pytest.mark.parametrize(
    "path", ["", ".", "other", "values.", "values[]", "values[1", "values]1[", "[0]", "values[1.5]"]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse_path(path, ["values"])
