"""Our item stores for the pain cases: ``factory(storage_id, **options)`` is a context manager.

The same storage id names the same data, so a second call opens a second client of it.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.savers.store import ItemStore

_FOLDER = Path(tempfile.gettempdir()) / "threadkeep-pains"
SERVERS: dict[str, str] = {}  # the database of each storage on PostgreSQL
_memory: dict[str, MemoryResourceStore] = {}


@contextlib.contextmanager
def memory_store(storage: str, *, setup: bool = True) -> Iterator[ItemStore]:
    """Open a store in memory."""
    store = ItemStore(_memory.setdefault(storage, MemoryResourceStore()))
    try:
        if setup:
            store.setup()
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def sqlite_store(storage: str, *, setup: bool = True) -> Iterator[ItemStore]:
    """Open a store in a SQLite file; without ``setup`` nothing is opened yet."""
    store = ItemStore.from_url(f"sqlite:///{_FOLDER / storage}.db")
    try:
        if setup:
            store.setup()
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def postgres_store(storage: str, *, setup: bool = True) -> Iterator[ItemStore]:
    """Open a store in a schema of its own on PostgreSQL; see ``SERVERS``."""
    store = ItemStore.from_url(f"{SERVERS[storage]}?schema=s{storage}")
    try:
        if setup:
            store.setup()
        yield store
    finally:
        store.close()


def drop(storage: str) -> None:
    """Forget what was stored."""
    _memory.pop(storage, None)
    SERVERS.pop(storage, None)
    for file in _FOLDER.glob(f"{storage}.db*"):
        file.unlink()
