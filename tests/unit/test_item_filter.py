import pytest

from threadkeep.errors import InvalidFilterError
from threadkeep.rules.item_filter import Condition, matches, parse_filter, plain_filter


def test_a_filter_becomes_conditions() -> None:
    parsed = parse_filter({"a": 1, "b": {"$gt": 2, "$ne": None}, "c": {}, "d": {"x": 1}})
    assert parsed == (
        Condition("a", "$eq", 1),
        Condition("b", "$gt", 2),
        Condition("b", "$ne", None),
        Condition("d", "$eq", {"x": 1}),
    )


def test_no_condition_matches_everything() -> None:
    assert matches({}, ())
    assert matches({"a": 1}, parse_filter({"b": {}}))


def test_an_absent_key_matches_only_what_excludes() -> None:
    for operator in ("$eq", "$gt", "$gte", "$lt", "$lte"):
        assert not matches({}, (Condition("a", operator, None),))
    assert not matches({}, (Condition("a", "$in", [None]),))
    assert matches({}, (Condition("a", "$ne", None),))
    assert matches({}, (Condition("a", "$nin", [None]),))


def test_refusals_name_the_key_and_the_operator() -> None:
    with pytest.raises(InvalidFilterError, match=r"unknown operator '\$near' under 'place'"):
        plain_filter({"place": {"$near": 1}})
    with pytest.raises(InvalidFilterError, match=r"under 'a', 'b' stands beside operators"):
        plain_filter({"a": {"$gt": 1, "b": 2}})
    with pytest.raises(InvalidFilterError, match=r"\$in under 'a' takes a list"):
        plain_filter({"a": {"$in": 1}})
    with pytest.raises(InvalidFilterError, match=r"'\$or' stands under no key"):
        plain_filter({"$or": []})
    with pytest.raises(InvalidFilterError, match="the filter holds nan"):
        plain_filter({"a": float("nan")})


def test_a_plain_filter_is_a_copy() -> None:
    given = {"a": [1]}
    plain_filter(given)["a"].append(2)
    assert given == {"a": [1]}
