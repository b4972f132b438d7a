"""Paths into a row, such as ``values.messages[-1].content``: how they are read and followed.

A path begins with a field of the row. ``.name`` goes to an object's key, ``[n]`` to a list's entry,
counted from its end when negative. What is not there is ``None``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.errors import InvalidRequestError

MAX_PATH_CHARACTERS = 256
MAX_INDEX_DIGITS = 9

Path = tuple[str | int, ...]

_STEP = re.compile(rf"\.([^.\[\]]+)|\[(-?\d{{1,{MAX_INDEX_DIGITS}}})\]", re.ASCII)


def parse_path(text: str, roots: Sequence[str]) -> Path:
    """Read a path.

    Args:
        text: The path.
        roots: The fields that it may begin with.

    Raises:
        InvalidRequestError: It is none, is too long, or begins elsewhere.
    """
    if len(text) > MAX_PATH_CHARACTERS:
        raise InvalidRequestError(
            f"a path of {len(text)} characters; {MAX_PATH_CHARACTERS} are the most"
        )
    steps: list[str | int] = []
    at, whole = 0, f".{text}"
    while at < len(whole):
        step = _STEP.match(whole, at)
        if step is None:
            break
        key, index = step.groups()
        steps.append(int(index) if key is None else key)
        at = step.end()
    if at < len(whole) or steps[0] not in roots:
        raise InvalidRequestError(
            f"expected a path like values.messages[-1].content that begins with one of "
            f"{', '.join(roots)}, got {text!r}"
        )
    return tuple(steps)


def follow(row: Any, path: Path) -> Any:
    """Return what stands at a path of a row, or ``None``."""
    for step in path:
        if isinstance(step, str):
            row = row.get(step) if isinstance(row, Mapping) else None
        elif isinstance(row, list | tuple) and -len(row) <= step < len(row):
            row = row[step]
        else:
            return None
    return row
