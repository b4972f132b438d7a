"""One SQLite file, shared by everything in this process that keeps something in it.

Writes go through the file's one writer (``writer.py``). Reads run on connections of their own,
beside the writer and each other, on a snapshot that holds all this process handed over before.
An awaiting caller's read is one hop to a reader thread; a blocking caller's runs where it is.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from threadkeep.drivers.sql import migrate, statements
from threadkeep.drivers.sql.database import Work
from threadkeep.drivers.sql.jobs import Submitted
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.scripts import split
from threadkeep.drivers.sqlite.sessions import Session, open_reader, open_writer
from threadkeep.drivers.sqlite.writer import Write, Writer

T = TypeVar("T")

READERS = 4  # reads at once from event loops, and connections kept open for reading
WAIT_SECONDS = 10.0  # for another process's lock, before a retry is left to the caller

MIGRATIONS = "threadkeep.drivers.sqlite.migrations"


class SqliteDatabase:
    """Safe for several threads and event loops; several processes may have the file open."""

    def __init__(self, address: Address, *, wait_seconds: float = WAIT_SECONDS) -> None:
        # Whatever folder this process is in later, it is this file.
        self._address = address = replace(address, path=address.path.absolute())
        self._wait_seconds = wait_seconds
        self._statements: dict[str, str] = {}
        self._loaded: set[tuple[str, str]] = set()
        self._idle: list[Session] = []
        self._idle_lock = threading.Lock()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="threadkeep-sqlite-reader")
        self.load("threadkeep.drivers.sqlite", "ledger.sql")
        session = open_writer(address, self._statements, wait_seconds)
        assert session.file is not None
        self._file = session.file
        self._writer = Writer(session, wait_seconds=wait_seconds)

    def load(self, package: str, filename: str) -> None:
        """Make the statements of a file known; again is no error.

        Raises:
            ValueError: A statement has the name of one that is known.
        """
        if (package, filename) in self._loaded:
            return
        found = statements.load(package, filename)
        taken = found.keys() & self._statements.keys()
        if taken:
            raise ValueError(f"{filename} names {', '.join(sorted(taken))} again")
        self._statements.update(found)
        self._loaded.add((package, filename))

    def on_rollback(self, hook: Callable[[], None]) -> None:
        """Call a function whenever a transaction was undone, before the next one starts."""
        self._writer.on_rollback(hook)

    def setup_now(self) -> None:
        """Run the migrations that this file has not had; see ``DocumentStore.setup``."""
        self.write_now(_migrate)

    async def setup(self) -> None:
        """Do the same for an awaiting caller."""
        await self.write_soon(_migrate)

    def read_now(self, work: Callable[[Session], T]) -> T:
        """Run a unit that only reads, on the calling thread and one snapshot."""
        with self.reading() as session:
            return work(session)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Lend a session that only reads, on one snapshot, to the calling thread."""
        self._writer.check_usable()
        self._writer.catch_up()
        with self._reader() as session:
            yield session

    def write_now(self, work: Callable[[Session], T], *, scrub: bool = False) -> T:
        """Run a unit in a transaction, on the calling thread, after all that was handed over."""
        written: T = self._writer.run(Write(work, scrub))
        return written

    async def read_soon(self, work: Callable[[Session], T]) -> T:
        """Run a unit that only reads, on a reader thread and one snapshot."""
        self._writer.check_usable()
        loop = asyncio.get_running_loop()
        try:
            reading = loop.run_in_executor(self._readers, self.read_now, work)
        except RuntimeError:
            self._writer.check_usable()  # a close came between
            raise
        return await reading

    async def write_soon(self, work: Callable[[Session], T], *, scrub: bool = False) -> T:
        """Run a unit in a transaction; it is done also when the caller stops waiting."""
        written: T = await self._writer.submit(Write(work, scrub)).future
        return written

    def stage(self, work: Callable[[Session], T], *, within_seconds: float) -> Submitted[T]:
        """Hand a unit over that commits within a time, or with what is handed over next."""
        return self._writer.submit(Write(work), within_seconds=within_seconds)

    async def read(self, work: Callable[[], Work[T]]) -> T:
        """See ``Database.read``."""
        return await self.read_soon(partial(_drive, work))

    async def write(self, work: Callable[[], Work[T]]) -> T:
        """See ``Database.write``."""
        return await self.write_soon(partial(_drive, work))

    def close(self) -> None:
        """Commit what was handed over, then let go of the file; idempotent."""
        self._writer.close()
        self._readers.shutdown()
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    async def close_soon(self) -> None:
        """Do the same for an awaiting caller, on a thread of its own."""
        closer = ThreadPoolExecutor(1, thread_name_prefix="threadkeep-sqlite-closer")
        try:
            await asyncio.get_running_loop().run_in_executor(closer, self.close)
        finally:
            closer.shutdown(wait=False)

    @contextmanager
    def _reader(self) -> Iterator[Session]:
        """Lend a session with a snapshot."""
        with self._idle_lock:
            session = self._idle.pop() if self._idle else None
        if session is None:
            session = open_reader(self._file, self._statements, self._wait_seconds)
        try:
            session.begin()
            yield session
        finally:
            self._take_back(session)

    def _take_back(self, session: Session) -> None:
        try:
            session.rollback()
        finally:
            with self._idle_lock:
                keep = len(self._idle) < READERS and not self._writer.is_closed
                if keep:
                    self._idle.append(session)
            if not keep:
                session.close()


def _drive(work: Callable[[], Work[T]], session: Session) -> T:
    return session.drive(work())


def _migrate(session: Session) -> None:
    session.run("create_ledger")
    applied = [number for (number,) in session.all("list_migrations")]
    for migration in migrate.pending(migrate.load(MIGRATIONS), applied):
        for statement in split(migration.sql):
            session.script(statement)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        session.run("record_migration", (migration.number, migration.name, at))
