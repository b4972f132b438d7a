"""Which state values are kept on the thread's row, beside its head checkpoint."""

from collections.abc import Mapping
from typing import Any

from threadkeep.errors import ValueNotStorableError
from threadkeep.model.threads import MIRRORED_VALUES_BYTES
from threadkeep.rules.json_text import json_text, normal_object


def mirror(values: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a copy of the values; ``None`` when there are none, or the row cannot hold them.

    It cannot when they are above ``MIRRORED_VALUES_BYTES`` as JSON, or are not JSON; that is no
    error, since the head checkpoint has them. Large values are left after a look at no more than
    that many bytes of them.
    """
    if values is None or _is_surely_larger(values):
        return None
    try:
        found = normal_object(values, "values")
    except ValueNotStorableError:
        return None
    return found if len(json_text(found).encode()) <= MIRRORED_VALUES_BYTES else None


def _is_surely_larger(values: Mapping[str, Any]) -> bool:
    """Add up what the values need at least, and stop when that is too much."""
    waiting: list[Any] = [values]
    size_bytes = 0
    while waiting and size_bytes <= MIRRORED_VALUES_BYTES:
        value = waiting.pop()
        size_bytes += (
            2  # a quoted text, a list or an object without what it holds; or a digit and comma
        )
        if isinstance(value, str):
            size_bytes += len(value)
        elif isinstance(value, Mapping):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
    return size_bytes > MIRRORED_VALUES_BYTES
