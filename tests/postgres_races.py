"""Two transactions on a real PostgreSQL that meet at a lock, in an order that a test chooses."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from threadkeep.drivers.postgres.driving import drive
from threadkeep.drivers.postgres.queries import Operation

T = TypeVar("T")

TABLES = ("checkpoint_documents", "write_documents", "addressed_documents")

Connection = psycopg.Connection[Any]


@contextmanager
def racing(url: str) -> Iterator["Race"]:
    """Connect what holds locks and what watches who waits for them."""
    with (
        psycopg.connect(url, cursor_factory=psycopg.RawCursor) as holder,
        psycopg.connect(url, autocommit=True) as watcher,
        ThreadPoolExecutor(2) as threads,
    ):
        yield Race(holder, watcher, threads)


class Race:
    """Holds locks in an open transaction, and knows when another waits for them."""

    def __init__(
        self, holder: Connection, watcher: Connection, threads: ThreadPoolExecutor
    ) -> None:
        self._holder = holder
        self._watcher = watcher
        self._threads = threads

    def lock_thread(self, strength: str = "update") -> None:
        """Lock every thread's row, as an erasure or a prune does."""
        self._holder.execute(f"select from document_threads for {strength}".encode())

    def delete(self, *tables: str) -> None:
        """Delete all rows of tables."""
        for table in tables:
            self._holder.execute(f"delete from {table}".encode())

    def copy_checkpoint(self) -> None:
        """Add a checkpoint, as a put of another process would."""
        self._holder.execute(
            "insert into checkpoint_documents (tid, ns, id, body)"
            " select tid, ns, '\\x01'::bytea, body from checkpoint_documents"
        )

    @contextmanager
    def meeting(self, call: Callable[[], Any]) -> Iterator["Future[Any]"]:
        """Start a call that comes to wait for what is held, then commit what is held."""
        called = self._threads.submit(call)
        pause = threading.Event()
        for _ in range(500):
            row = self._watcher.execute(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and wait_event_type = 'Lock'"
            ).fetchone()
            if row == (1,):
                break
            assert not called.done(), "it did not wait"
            pause.wait(0.01)
        self._holder.commit()
        yield called

    def outcome(self, call: Callable[[], Any]) -> Any:
        """Return what a call answers that had to wait."""
        with self.meeting(call) as called:
            return called.result(timeout=20)

    def rows(self) -> int:
        """Count the documents of all threads, also of those that are gone."""
        total = 0
        for table in TABLES:
            row = self._watcher.execute(f"select count(*) from {table}".encode()).fetchone()
            assert row is not None
            total += int(row[0])
        return total

    def hold(self, operation: Operation[T]) -> T:
        """Run an operation as far as its commit: what it locked stays locked."""
        return drive(self._holder, operation.unit())
