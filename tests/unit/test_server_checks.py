"""Checks of single values: what fits comes back, what does not is named in the error."""

from typing import Any

import pytest

from threadkeep.server import checks
from threadkeep.server.checks import Check, Field, InvalidFieldError, read_fields

UUID = "0192f0c1-2d3e-7abc-8def-0123456789ab"


@pytest.mark.parametrize(
    ("check", "value", "found"),
    [
        (checks.text(), "a", "a"),
        (checks.number(at_least=0, at_most=5), 2.5, 2.5),
        (checks.integer(at_least=0, at_most=5), 5, 5),
        (checks.boolean, False, False),
        (checks.json_object, {"a": 1}, {"a": 1}),
        (checks.anything, [None], [None]),
        (checks.identifier, UUID.upper(), UUID),
        (checks.identifier, UUID.replace("-", ""), UUID),
        (checks.one_of("a", "b"), "b", "b"),
        (checks.list_of(checks.boolean), [True, False], [True, False]),
        (checks.one_or_list_of(checks.text()), "a", ["a"]),
        (checks.one_or_list_of(checks.text()), ["a", "b"], ["a", "b"]),
    ],
)
def test_a_value_that_fits_comes_back(check: Check, value: Any, found: Any) -> None:
    assert check(value, "field") == found


@pytest.mark.parametrize(
    ("check", "value", "says"),
    [
        (checks.text(), 5, "field: expected a string, got 5"),
        (checks.text(at_least=1), "", "field: expected 1 to 1024 characters, got 0"),
        (checks.text(at_most=3), "abcd", "field: expected 0 to 3 characters, got 4"),
        (checks.number(at_least=0, at_most=5), True, "expected a number, got true"),
        (checks.number(at_least=0, above=0, at_most=5), 0, "above 0 and at most 5, got 0"),
        (checks.integer(at_least=0, at_most=5), 1.0, "an integer from 0 to 5, got 1.0"),
        (checks.integer(at_least=0, at_most=5), True, "an integer from 0 to 5, got true"),
        (checks.LIMIT, 1001, "an integer from 0 to 1000, got 1001"),
        (checks.LIMIT, -1, "an integer from 0 to 1000, got -1"),
        (checks.boolean, 1, "expected true or false, got 1"),
        (checks.json_object, [1, 2], "expected an object, got a list with 2 entries"),
        (checks.identifier, "not-a-uuid", 'expected a UUID, got "not-a-uuid"'),
        (checks.identifier, "{" + UUID[:-2] + "}", "expected a UUID"),
        (checks.identifier, f"urn:uuid:{UUID}", "expected a UUID"),
        (checks.one_of("a", "b"), "c", 'expected one of "a", "b", got "c"'),
        (checks.one_of("a", "b"), ["a"], "got a list with 1 entries"),
        (checks.list_of(checks.boolean), "a", 'expected a list, got "a"'),
        (checks.list_of(checks.boolean), [True, 1], "field[1]: expected true or false, got 1"),
        (checks.list_of(checks.boolean, at_most=1), [True, True], "expected 0 to 1 entries"),
        (checks.refused("do without"), "x", "field: this server does not act on it; do without"),
    ],
)
def test_a_value_that_does_not_fit_is_named(check: Check, value: Any, says: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        check(value, "field")
    assert says in str(caught.value)


def test_an_error_repeats_only_the_beginning_of_a_long_value() -> None:
    with pytest.raises(InvalidFieldError) as caught:
        checks.identifier("x" * 10_000, "thread_id")
    assert len(str(caught.value)) < 200


FIELDS = (
    Field("name", checks.text(), required=True),
    Field("flag", checks.boolean, default=False),
)


def test_every_field_of_the_table_comes_back_and_no_other() -> None:
    assert read_fields({"name": "a", "other": 1}, FIELDS) == {"name": "a", "flag": False}


def test_a_null_counts_as_absent() -> None:
    assert read_fields({"name": "a", "flag": None}, FIELDS)["flag"] is False


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({}, "name", "name: required, but absent"),
        ({"name": None}, "name", "name: required, but absent"),
        ({"name": "a", "flag": "no"}, "flag", 'flag: expected true or false, got "no"'),
        ([1], "body", "body: expected an object, got a list with 1 entries"),
        ("text", "body", 'body: expected an object, got "text"'),
    ],
)
def test_a_wrong_object_names_the_field(body: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        read_fields(body, FIELDS)
    assert str(caught.value) == says
    assert caught.value.field == field


def test_the_path_of_a_nested_object_is_part_of_the_field() -> None:
    with pytest.raises(InvalidFieldError, match=r"config\.flag"):
        read_fields({"name": "a", "flag": 1}, FIELDS, "config")
