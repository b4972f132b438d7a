"""The lines of a snapshot file: JSON, a tab, and a sum over all lines up to it.

docs/snapshots.md describes the file. The sum of a line is SHA-256 of the sum before it (none at
first) and the line's JSON: so a line that was changed, moved, left out or cut is found.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from threadkeep.errors import CorruptionError
from threadkeep.model.snapshots import Row, Scalar

BLOCK_ROWS = 500  # of one line, at most
BLOCK_BYTES = 1024 * 1024  # of values in one line, but for a single row that is larger

_BYTES = "b"  # {"b": "..."} stands for bytes, in base64


class Sums:
    """The sum so far."""

    def __init__(self) -> None:
        self._last = b""

    def add(self, text: bytes) -> bytes:
        """Return the sum up to a further line, in hexadecimal."""
        self._last = sha256(self._last + text).digest()
        return self._last.hex().encode()


def line(value: Any, sums: Sums) -> bytes:
    """Return a value as the next line."""
    text = json.dumps(value, separators=(",", ":"), default=_written).encode()
    return text + b"\t" + sums.add(text) + b"\n"


def read_line(text: bytes, number: int, sums: Sums) -> Any:
    """Return the value of the next line; lines are numbered from 1.

    Raises:
        CorruptionError: The line is not as it was written.
    """
    content, _, rest = text.partition(b"\t")
    if not rest.endswith(b"\n"):
        raise CorruptionError(f"line {number} of the snapshot is cut off; make it again")
    if sums.add(content) != rest[:-1]:
        raise CorruptionError(
            f"line {number} of the snapshot is not as it was written, or one before it is gone; "
            "take another copy of the file"
        )
    try:
        return json.loads(content, object_hook=_read)
    except (ValueError, RecursionError, TypeError) as error:
        raise CorruptionError(f"line {number} of the snapshot is no JSON: {error}") from error


def blocks(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    """Gather rows into what one line holds."""
    gathered: list[Row] = []
    size = 0
    for row in rows:
        weight = sum(map(_size, row))
        if gathered and (len(gathered) == BLOCK_ROWS or size + weight > BLOCK_BYTES):
            yield gathered
            gathered, size = [], 0
        gathered.append(row)
        size += weight
    if gathered:
        yield gathered


def _size(value: Scalar) -> int:
    return len(value) if isinstance(value, (str, bytes)) else 8


def _written(value: Any) -> dict[str, str]:
    return {_BYTES: base64.b64encode(value).decode()}


def _read(value: dict[str, Any]) -> Any:
    if value.keys() != {_BYTES}:
        return value
    try:
        return base64.b64decode(value[_BYTES], validate=True)
    except binascii.Error as error:
        raise ValueError(f"bytes that are no base64: {error}") from error
