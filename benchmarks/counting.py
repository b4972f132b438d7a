"""Counting what a saver hands to its database, in the same way for every saver.

For SQLite the count is taken at the driver's cursor: every saver's connection is opened with the
same ``sqlite3.Connection`` subclass. For LangGraph's saver in memory, which has no driver, it is
what that saver puts into its dictionaries.
"""

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
)
from langgraph.checkpoint.memory import InMemorySaver

Parameters: TypeAlias = "Sequence[Any] | Mapping[str, Any]"

INTEGER_BYTES = 8  # what a bound number counts
KEY_BYTES = 16  # a binary value up to this is a key (a UUID, an address), above it is payload

_WRITES = re.compile(r"\b(insert (or|into)|replace into|update|delete from)\b", re.IGNORECASE)
_READS = re.compile(r"\s*(--[^\n]*\n\s*)*(select|with|values)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Counts:
    """What went to a database.

    Attributes:
        handed_bytes: Every value bound in transactions that write: text in UTF-8, a number as 8.
        payload_bytes: Those of them that are binary and longer than a key.
        rows: Rows that were written.
        statements: Calls that write, however many rows one writes.
        transactions: Transactions that wrote.
        queries: Calls that read outside of those transactions.
    """

    handed_bytes: int = 0
    payload_bytes: int = 0
    rows: int = 0
    statements: int = 0
    transactions: int = 0
    queries: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))


class Counter:
    """The running count of one database, over all of its connections and threads.

    Attributes:
        synchronous: The setting, as SQLite's number, of the connection that wrote first.
    """

    def __init__(self) -> None:
        self.synchronous: int | None = None
        self._lock = threading.Lock()
        self._counts = Counts()

    def add(self, counts: Counts) -> None:
        """Count some more."""
        with self._lock:
            self._counts += counts

    def read(self) -> Counts:
        """Return what was counted so far."""
        return self._counts


def _size(value: object) -> int:
    if isinstance(value, bytes | bytearray | memoryview):
        return len(value)
    if isinstance(value, str):
        return len(value.encode())
    return 0 if value is None else INTEGER_BYTES


def bound(rows: Iterable[Parameters]) -> Counts:
    """Count the values of one call."""
    handed = payload = 0
    for row in rows:
        for value in row.values() if isinstance(row, Mapping) else row:
            size = _size(value)
            handed += size
            if size > KEY_BYTES and isinstance(value, bytes | bytearray | memoryview):
                payload += size
    return Counts(handed_bytes=handed, payload_bytes=payload)


@lru_cache(maxsize=512)
def kind(sql: str) -> str:
    """Say whether a statement is a "write", a "read" or "other"."""
    if _WRITES.search(sql):
        return "write"
    return "read" if _READS.match(sql) else "other"


class CountingConnection(sqlite3.Connection):
    """A connection that counts what is bound, transaction by transaction."""

    counter: Counter

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._open = Counts()

    def cursor(self, factory: Any = None) -> Any:
        """Open a counting cursor."""
        return super().cursor(factory or CountingCursor)

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        """Execute on a counting cursor: not every Python's own shortcut asks ``cursor`` for it."""
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Any:
        """Do the same for many rows."""
        return self.cursor().executemany(sql, parameters)

    def count(self, sql: str, rows: Sequence[Parameters], changed: int) -> None:
        """Take note of one call; a transaction is counted when it has ended."""
        found = kind(sql)
        if found == "write":
            if self.counter.synchronous is None:
                ((self.counter.synchronous,),) = self.execute("PRAGMA synchronous")
            self._open += bound(rows) + Counts(rows=changed, statements=1)
        elif found == "read":
            self._open += bound(rows) + Counts(queries=1)
        self._settle()

    def _settle(self) -> None:
        if self.in_transaction:
            return
        done, self._open = self._open, Counts()
        if done.statements:
            self.counter.add(done + Counts(transactions=1, queries=-done.queries))
        elif done.queries:
            self.counter.add(Counts(queries=done.queries))

    def commit(self) -> None:
        """Commit, and count what the transaction wrote."""
        super().commit()
        self._settle()

    def rollback(self) -> None:
        """Roll back; what was handed over was handed over all the same."""
        super().rollback()
        self._settle()

    def __exit__(self, *exception: Any) -> Any:
        suppressed = super().__exit__(*exception)
        self._settle()
        return suppressed


class CountingCursor(sqlite3.Cursor):
    """A cursor that tells its connection what was bound."""

    connection: CountingConnection

    def execute(self, sql: str, parameters: Any = (), /) -> "CountingCursor":
        """Execute, and count."""
        before = self.connection.total_changes
        super().execute(sql, parameters)
        self.connection.count(sql, [parameters], self.connection.total_changes - before)
        return self

    def executemany(self, sql: str, parameters: Any, /) -> "CountingCursor":
        """Execute for each row, and count one call."""
        rows = list(parameters)
        before = self.connection.total_changes
        super().executemany(sql, rows)
        self.connection.count(sql, rows, self.connection.total_changes - before)
        return self


@contextmanager
def counted_connections(counters: Mapping[Path, Counter]) -> Iterator[None]:
    """Count whatever opens one of these databases with ``sqlite3.connect`` in the meantime."""
    connect: Any = sqlite3.connect

    def counting_connect(database: Any, *arguments: Any, **options: Any) -> Any:
        name = str(database)
        counter = next((found for path, found in counters.items() if str(path) in name), None)
        if counter is None:
            return connect(database, *arguments, **options)
        opened = connect(database, *arguments, factory=CountingConnection, **options)
        opened.counter = counter
        return opened

    with patch.object(sqlite3, "connect", counting_connect):
        yield


class CountingInMemorySaver(InMemorySaver):
    """LangGraph's saver in memory, with a count of what it keeps."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self._counter = counter

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Put, and count the checkpoint and the channel values that are new."""
        stored = super().put(config, checkpoint, metadata, new_versions)
        thread, ns = (stored["configurable"][key] for key in ("thread_id", "checkpoint_ns"))
        row = self.storage[thread][ns][checkpoint["id"]]
        rows: list[Sequence[Any]] = [(thread, ns, checkpoint["id"], *row[0], *row[1], row[2])]
        for name, version in new_versions.items():
            key = (thread, ns, name, version)
            rows.append((*key, *self.blobs[key]))
        self._counter.add(bound(rows) + Counts(rows=len(rows)))
        return stored

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Put pending writes, and count those that are new."""
        place = config["configurable"]
        key = (place["thread_id"], place.get("checkpoint_ns", ""), place["checkpoint_id"])
        before = set(self.writes.get(key, ()))
        super().put_writes(config, writes, task_id, task_path)
        kept = self.writes.get(key, {}).items()
        rows = [
            (*key, inner[1], task, channel, *value, path)
            for inner, (task, channel, value, path) in kept
            if inner not in before
        ]
        self._counter.add(bound(rows) + Counts(rows=len(rows)))
