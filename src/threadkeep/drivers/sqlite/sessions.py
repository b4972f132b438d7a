"""One connection to a SQLite file, and the named statements that run on it."""

import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from threadkeep.drivers.sql.database import All, One, Run, Work
from threadkeep.drivers.sqlite import functions
from threadkeep.drivers.sqlite.address import Address
from threadkeep.errors import ConfigError, StorageError, UnavailableError

T = TypeVar("T")
Parameters = Sequence[Any] | Mapping[str, Any]
Rows = Generator[Any, None, None]

OLDEST = (3, 34)  # the first whose recursive queries may have two recursive parts
CACHED_STATEMENTS = 512  # compiled texts kept per connection; conditions make some dozens of texts
WAL_RETRY_SECONDS = 0.005  # between attempts to switch a file that others open at the same time

_UNAVAILABLE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class File:
    """An opened file, told from whatever else may come to stand at its path.

    SQLite goes on writing to a file that was deleted or replaced, and all of it would be lost.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity = self._look()

    def check(self) -> None:
        """Refuse a path where another file stands by now, or none.

        Raises:
            StorageError: It is so.
        """
        if self._look() != self._identity:
            raise StorageError(
                "sqlite: the file was deleted, moved or replaced since it was opened; open it again"
            )

    def log_bytes(self) -> int:
        """Say how large its log is."""
        try:
            return os.stat(f"{self.path}-wal").st_size
        except OSError:
            return 0

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino


class Session:
    """Runs statements on one connection; used by one thread at a time.

    Attributes:
        file: The file, once it is there.
        has_given_back: Whether ``give_back`` was called since ``empty_log`` was.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        statements: Mapping[str, str],
        file: File | None = None,
    ) -> None:
        self.file = file
        self.has_given_back = False
        self._connection = connection
        self._statements = statements

    def begin(self, mode: str = "") -> None:
        """Start a transaction; ``IMMEDIATE`` takes the file's write lock.

        Raises:
            StorageError: Another file stands at the path by now, or none.
        """
        if self.file is not None:
            self.file.check()
        self._execute(f"BEGIN {mode}", (), what="BEGIN")

    def commit(self) -> None:
        """End the transaction."""
        self._execute("COMMIT", (), what="COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if one is open."""
        if self._connection.in_transaction:
            self._execute("ROLLBACK", (), what="ROLLBACK")

    def script(self, sql: str) -> list[Any]:
        """Run one statement given as text: for transactions, settings and migrations."""
        return list(self._rows(sql, (), what=sql.split(maxsplit=1)[0]))

    def rows(self, name: str, parameters: Parameters = (), where: str = "") -> Rows:
        """Run a statement and iterate over its rows as tuples, which are read one by one."""
        return self._rows(self._text(name, where), parameters, what=name)

    def all(self, name: str, parameters: Parameters = (), where: str = "") -> list[Any]:
        """Run a statement and return its rows as tuples."""
        return list(self.rows(name, parameters, where))

    def one(self, name: str, parameters: Parameters = (), where: str = "") -> Any:
        """Run a statement and return its first row as a tuple, or ``None``."""
        rows = self.rows(name, parameters, where)
        found = next(rows, None)
        rows.close()  # an open cursor would hold its snapshot
        return found

    def run(self, name: str, parameters: Parameters = (), where: str = "") -> int:
        """Run a statement and return the number of rows it changed."""
        return self._execute(self._text(name, where), parameters, what=name).rowcount

    def run_many(self, name: str, rows: Iterable[Parameters], where: str = "") -> int:
        """Run a statement for each set of parameters; return the number of rows changed."""
        try:
            return self._connection.executemany(self._text(name, where), rows).rowcount
        except (sqlite3.Error, OverflowError) as error:
            raise _translated(error, name) from error

    def drive(self, work: Work[T]) -> T:
        """Run a unit of work to its result."""
        answer: Any = None
        while True:
            try:
                step = work.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            answer = self._answer(step)

    def scrub(self, compact_bytes: int) -> bool:
        """Leave nothing of what was deleted in the file and its log.

        Deleted rows were overwritten (``secure_delete``); what is left is the log, and scraps in
        pages that SQLite once rearranged, which only a compacted file is free of.

        Args:
            compact_bytes: The largest file that is compacted: it is written anew as a whole.

        Returns:
            Whether it is done; false when a reader holds the log.
        """
        ((pages,),) = self.script("PRAGMA page_count")
        ((page_bytes,),) = self.script("PRAGMA page_size")
        if pages * page_bytes <= compact_bytes:
            self.script("VACUUM")
        ((busy, _, _),) = self.script("PRAGMA wal_checkpoint(TRUNCATE)")
        return not busy

    def give_back(self, pages: int) -> None:
        """Make the file smaller by at most so many free pages, where it was made for that.

        On the disk it is smaller once the log was moved into it.
        """
        self.has_given_back = True
        ((free,),) = self.script("PRAGMA freelist_count")
        for _ in range(min(pages, free)):
            self.script("PRAGMA incremental_vacuum(1)")  # Python takes one step of it, one page

    def empty_log(self, least_bytes: int) -> None:
        """Move a log of at least so many bytes into the file, unless a reader holds it."""
        self.has_given_back = False
        if self.file is not None and self.file.log_bytes() >= least_bytes:
            self.script("PRAGMA wal_checkpoint(TRUNCATE)")

    def wait_for_locks(self, seconds: float) -> None:
        """Set how long a statement waits for what another connection holds."""
        self.script(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _answer(self, step: One | All | Run) -> Any:
        text = self._text(step.statement, step.where)
        if isinstance(step, Run):
            if isinstance(step.parameters, Mapping):
                return self._execute(text, step.parameters, what=step.statement).rowcount
            return self.run_many(step.statement, step.parameters, step.where)
        cursor = self._execute(text, step.parameters, what=step.statement)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in _read(cursor, step.statement)]
        if isinstance(step, All):
            return rows
        return rows[0] if rows else None

    def _text(self, name: str, where: str) -> str:
        return self._statements[name].replace("{where}", where)

    def _rows(self, sql: str, parameters: Parameters, *, what: str) -> Rows:
        return _read(self._execute(sql, parameters, what=what), what)

    def _execute(self, sql: str, parameters: Parameters, *, what: str) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, parameters)
        except (sqlite3.Error, OverflowError) as error:
            raise _translated(error, what) from error


def _read(cursor: sqlite3.Cursor, what: str) -> Rows:
    try:
        yield from cursor
    except sqlite3.Error as error:
        raise _translated(error, what) from error
    finally:
        cursor.close()


def _translated(error: Exception, what: str) -> StorageError:
    """Name the error in this package's words; SQLite's messages carry no path."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if code in _UNAVAILABLE:
        return UnavailableError(f"sqlite: {what} gave up waiting for another process's lock")
    if "no such table" in str(error) or "no such index" in str(error):
        return StorageError(f"sqlite: the file is not set up ({error}); call setup() first")
    return StorageError(f"sqlite: {what} failed: {error}")


def open_writer(address: Address, statements: Mapping[str, str], wait_seconds: float) -> Session:
    """Open the connection that writes; it makes the file and its folders.

    Raises:
        ConfigError: Python's SQLite is too old.
        StorageError: The file cannot be opened, or is no SQLite file.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(f"this Python has SQLite {sqlite3.sqlite_version}; {oldest} is needed")
    try:
        address.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"sqlite: no folder for the file: {error.strerror}") from error
    connection = _connect(str(address.path), wait_seconds)
    session = Session(connection, statements)
    try:
        session.wait_for_locks(wait_seconds)
        session.script("PRAGMA auto_vacuum = INCREMENTAL")  # of a file that has no page yet
        _use_log(session, wait_seconds)
        session.script(f"PRAGMA synchronous = {address.synchronous}")
        session.script("PRAGMA foreign_keys = ON")
        session.script("PRAGMA temp_store = MEMORY")  # what is sorted never reaches another file
        session.script("PRAGMA secure_delete = ON")  # what is erased is overwritten
        session.file = File(address.path)
    except BaseException:
        connection.close()
        raise
    return session


def open_reader(file: File, statements: Mapping[str, str], wait_seconds: float) -> Session:
    """Open a connection that only reads; it makes no file.

    Raises:
        StorageError: The file cannot be opened.
    """
    connection = _connect(f"{file.path.as_uri()}?mode=rw", wait_seconds, uri=True)
    session = Session(connection, statements, file)
    session.wait_for_locks(wait_seconds)
    session.script("PRAGMA query_only = ON")
    session.script("PRAGMA temp_store = MEMORY")
    return session


def _connect(name: str, wait_seconds: float, *, uri: bool = False) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            name,
            uri=uri,
            timeout=wait_seconds,
            isolation_level=None,  # transactions are begun and ended here
            check_same_thread=False,
            cached_statements=CACHED_STATEMENTS,
        )
    except sqlite3.Error as error:
        raise _translated(error, "open") from error
    functions.register(connection)
    return connection


def _use_log(session: Session, wait_seconds: float) -> None:
    """Switch the file to a write-ahead log: once per file, and others may be doing so."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            ((mode,),) = session.script("PRAGMA journal_mode = WAL")
        except UnavailableError:
            # SQLite does not wait here by itself: the switch needs the whole file.
            if time.monotonic() > deadline:
                raise
            time.sleep(WAL_RETRY_SECONDS)
            continue
        if mode != "wal":
            raise StorageError("sqlite: the file's file system cannot hold a write-ahead log")
        return
