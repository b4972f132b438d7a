"""How labels change: merged by top-level key, the new ones winning."""

from collections.abc import Mapping
from typing import Any


def merged(present: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return both together; neither is changed."""
    return {**present, **given}
