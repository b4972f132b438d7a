"""Containment: the one meaning of "this row matches this metadata filter".

As PostgreSQL's ``@>`` has it, but for numbers, which compare as ``rules.json_equality`` says.
"""

from collections.abc import Mapping
from typing import Any

from threadkeep.rules.json_equality import json_equal


def contains(value: Any, wanted: Any) -> bool:
    """Say whether one JSON value contains another.

    An object contains one whose every key it has with a containing value; a list contains one
    whose every element it has somewhere, in any order; a scalar contains its equal.
    """
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(
            key in value and contains(value[key], part) for key, part in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(
            any(contains(present, part) for present in value) for part in wanted
        )
    return json_equal(value, wanted)
