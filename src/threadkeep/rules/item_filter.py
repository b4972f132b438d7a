"""Item filters: parsed once, then matched against values.

A filter is an object; each key is a top-level key of the item's value, taken literally (``"a.b"``
is one key). Its operand is either a bare value, which must be equal, or an object all of whose keys
start with ``$``: operators, all of which must hold. Keys hold together, too.

``$eq $ne $in $nin`` compare by JSON equality, whole objects and lists included. ``$gt $gte $lt
$lte`` compare numbers only, on both sides. An absent key matches ``$ne`` and ``$nin`` only, and is
not null. The empty object states no condition.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from threadkeep.errors import InvalidFilterError, ValueNotStorableError
from threadkeep.rules.json_equality import json_equal
from threadkeep.rules.json_text import normal_object

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin")


@dataclass(frozen=True, slots=True)
class Condition:
    """One key, one operator, one operand."""

    key: str
    operator: str
    operand: Any


def plain_filter(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a filter checked and made of plain JSON.

    Raises:
        InvalidFilterError: It is no filter: an operator without a key, an unknown operator, plain
            keys beside operators, an operand of ``$in`` or ``$nin`` that is no list, or a value
            that is not JSON.
    """
    try:
        plain = normal_object(given, "the filter")
    except ValueNotStorableError as error:
        raise InvalidFilterError(str(error)) from error
    parse_filter(plain)
    return plain


def parse_filter(plain: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the conditions that a plain filter states.

    Raises:
        InvalidFilterError: See ``plain_filter``.
    """
    return tuple(
        condition for key, operand in plain.items() for condition in _conditions(key, operand)
    )


def matches(value: Mapping[str, Any], conditions: tuple[Condition, ...]) -> bool:
    """Say whether an item's value meets every condition."""
    return all(_holds(value, condition) for condition in conditions)


def _conditions(key: str, operand: Any) -> tuple[Condition, ...]:
    if key.startswith("$"):
        raise InvalidFilterError(f"the operator {key!r} stands under no key of the value")
    if not isinstance(operand, dict) or not any(name.startswith("$") for name in operand):
        return () if operand == {} else (Condition(key, "$eq", operand),)
    return tuple(_condition(key, name, held) for name, held in operand.items())


def _condition(key: str, operator: str, operand: Any) -> Condition:
    if not operator.startswith("$"):
        raise InvalidFilterError(f"under {key!r}, {operator!r} stands beside operators")
    if operator not in OPERATORS:
        raise InvalidFilterError(
            f"unknown operator {operator!r} under {key!r}; known are {' '.join(OPERATORS)}"
        )
    if operator in {"$in", "$nin"} and not isinstance(operand, list):
        raise InvalidFilterError(f"{operator} under {key!r} takes a list")
    return Condition(key, operator, operand)


def _holds(value: Mapping[str, Any], condition: Condition) -> bool:
    if condition.key not in value:
        return condition.operator in {"$ne", "$nin"}
    return _TESTS[condition.operator](value[condition.key], condition.operand)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(present: Any, operand: Any) -> bool:
        return _is_number(present) and _is_number(operand) and test(present, operand)

    return holds


def _among(present: Any, operand: list[Any]) -> bool:
    return any(json_equal(present, wanted) for wanted in operand)


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": json_equal,
    "$ne": lambda present, operand: not json_equal(present, operand),
    "$gt": _ordered(lambda present, operand: present > operand),
    "$gte": _ordered(lambda present, operand: present >= operand),
    "$lt": _ordered(lambda present, operand: present < operand),
    "$lte": _ordered(lambda present, operand: present <= operand),
    "$in": _among,
    "$nin": lambda present, operand: not _among(present, operand),
}
