"""What PostgreSQL finds in search forms is what the rules find in the values."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from threadkeep.drivers.postgres.search_forms import search_form, search_json, searchable
from threadkeep.rules.containment import contains
from threadkeep.rules.json_equality import json_equal
from threadkeep.rules.json_text import json_text, normal_json

TEXTS = st.sampled_from(
    [
        "",
        "a",
        "A",
        "é",
        "\0",
        "a\0",
        "\x1b",
        "\x1b0000",
        "\ud800",
        "\udfff",
        "\\u0000",
        "1e5",
        "\U0001f642",
    ]
)
NUMBERS = st.one_of(
    st.integers(-2, 2),
    st.integers(2**53 - 2, 2**53 + 2),
    st.sampled_from([2**63, 2**64 + 1, 10**16, 10**300, -(10**22), 7**4000]),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 1.5, 1e15, 1e16, 1e22, 1e300, 2.0**53, 2.0**64, 1e-7]),
    st.sampled_from([5e-324, 1.7976931348623157e308, 123456789012345.6, 0.30000000000000004]),
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PAIRS = st.lists(st.tuples(VALUES, VALUES) | VALUES.map(lambda value: (value, value)), max_size=30)


@pytest.fixture(scope="module")
def connection(postgres_module_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_module_url, autocommit=True) as connection:
        yield connection


def asked(connection: psycopg.Connection[Any], question: str, pairs: list[tuple[str, str]]) -> Any:
    return [
        found
        for (found,) in connection.execute(
            f"SELECT one::jsonb {question} other::jsonb FROM unnest(%s::text[], %s::text[]) "
            "WITH ORDINALITY AS pairs (one, other, place) ORDER BY place",
            ([one for one, _ in pairs], [other for _, other in pairs]),
        ).fetchall()
    ]


def nested(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return [(normal_json({"k": one}, "v"), normal_json({"k": other}, "v")) for one, other in pairs]


@seed(20_261_130)
@settings(max_examples=300, deadline=None)
@given(pairs=PAIRS)
def test_equal_and_contained_mean_what_the_rules_say(
    connection: psycopg.Connection[Any], pairs: list[tuple[Any, Any]]
) -> None:
    values = nested(pairs)
    forms = [(searchable(json_text(one)), search_json(other)) for one, other in values]
    equal = [json_equal(one, other) for one, other in values]
    contained = [contains(one, other) for one, other in values]
    assert asked(connection, "=", forms) == equal
    assert asked(connection, "@>", forms) == contained


@settings(max_examples=300)
@given(VALUES)
def test_text_in_its_search_form_is_what_the_form_says(value: Any) -> None:
    plain = normal_json(value, "v")
    text = searchable(json_text(plain))
    assert json_equal(json.loads(text), search_form(plain))
    assert "\\u0000" not in text.replace("\\\\", "")


@seed(20_261_130)
@settings(max_examples=100, deadline=None)
@given(numbers=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30))
def test_numbers_have_the_order_that_the_rules_say(
    connection: psycopg.Connection[Any], numbers: list[tuple[Any, Any]]
) -> None:
    forms = [(search_json(one), search_json(other)) for one, other in numbers]
    assert asked(connection, "<", forms) == [one < other for one, other in numbers]
    assert asked(connection, ">=", forms) == [one >= other for one, other in numbers]
