"""Rules as SQL functions, so that SQLite means by a filter what every driver means."""

import sqlite3
from collections.abc import Callable
from typing import Any

from threadkeep.drivers.sql.packing import unpack_text
from threadkeep.drivers.sqlite import resource_functions
from threadkeep.rules.document_matches import has_entry


def _has_entry(metadata: bytes, entry: bytes, value: bytes) -> bool:
    return has_entry(unpack_text(metadata), unpack_text(entry), unpack_text(value))


FUNCTIONS: dict[tuple[str, int], Callable[..., Any]] = {
    ("has_entry", 3): _has_entry,
    **resource_functions.FUNCTIONS,
}


def register(connection: sqlite3.Connection) -> None:
    """Make the functions known to a connection; all are deterministic."""
    for (name, arguments), function in FUNCTIONS.items():
        connection.create_function(name, arguments, function, deterministic=True)
