"""JSON equality: the one meaning of "these two values are the same"."""

from collections.abc import Mapping
from typing import Any


def json_equal(left: Any, right: Any) -> bool:
    """Say whether two JSON values are equal.

    Numbers compare by value, integers exactly, also above 2**53 (5 is 5.0); ``true`` is not 1;
    lists compare in order and objects by key, both whole.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping):
        return (
            isinstance(right, Mapping)
            and left.keys() == right.keys()
            and all(json_equal(held, right[key]) for key, held in left.items())
        )
    if isinstance(left, (list, tuple)):
        return (
            isinstance(right, (list, tuple))
            and len(left) == len(right)
            and all(json_equal(one, other) for one, other in zip(left, right, strict=True))
        )
    return bool(left == right)
