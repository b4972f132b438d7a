"""One PostgreSQL database: runs operations for blocking and awaiting callers, and migrates it.

Statements run in autocommit, each its own transaction. Where the connection was lost, or the server
undid the statement for a conflict, the operation runs again: each is made so that doing it twice
leaves what doing it once does, or says that it is not.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor, IsolationLevel
from psycopg.pq import TransactionStatus

from threadkeep.drivers.postgres.address import Address
from threadkeep.drivers.postgres.failures import is_conflict, is_lost, translated
from threadkeep.drivers.postgres.migrating import Migrating, Step
from threadkeep.drivers.postgres.pools import Pools, aconnect, connect
from threadkeep.drivers.postgres.queries import Operation, Query, Unit, numbered
from threadkeep.drivers.sql import statements
from threadkeep.errors import UnavailableError

T = TypeVar("T")

PACKAGE = "threadkeep.drivers.postgres"

ATTEMPTS = 5  # of one operation
SETUP_SECONDS = 120.0  # for another process that migrates
POLL_SECONDS = 0.05  # between attempts to take the lock


class PostgresDatabase:
    """Safe for several threads, event loops and processes."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._pools = Pools(address)
        files = ("ledger.sql", "setup.sql", "direct.sql")
        texts = {name: text for file in files for name, text in self.load(file).items()}
        self._migrating = Migrating(address, texts)

    @property
    def prefix(self) -> str:
        """What stands before the names of tables."""
        return self._address.prefix

    def load(self, filename: str, *, package: str = PACKAGE) -> Mapping[str, str]:
        """Read the statements of a file; names of tables lead to the schema of the address."""
        return statements.load(package, filename, schema=self._address.prefix)

    def run(self, operation: Operation[T]) -> T:
        """Run an operation on the calling thread."""
        for attempt in range(1, ATTEMPTS + 1):
            pool = self._pools.blocking()
            try:
                with pool.connection() as connection:
                    return _run_on(connection, operation)
            except psycopg.Error as error:
                self._check_attempt(error, operation.what, attempt)
                if is_lost(error):
                    pool.drop_idle()
        raise AssertionError("unreachable")

    async def arun(self, operation: Operation[T]) -> T:
        """Run an operation on the running loop."""
        for attempt in range(1, ATTEMPTS + 1):
            pool = self._pools.awaiting()
            try:
                async with pool.connection() as connection:
                    return await _arun_on(connection, operation)
            except psycopg.Error as error:
                self._check_attempt(error, operation.what, attempt)
                if is_lost(error):
                    await pool.drop_idle()
        raise AssertionError("unreachable")

    @contextmanager
    def connected(self) -> Iterator[Connection[Any]]:
        """Make a connection for one caller alone, and close it."""
        self._pools.check_usable()
        with closing(connect(self._address, self._address.conninfo)) as connection:
            yield connection

    def setup(self, prepare: Callable[[], Unit[None]] | None = None) -> None:
        """Run the migrations that this database has not had; see ``DocumentStore.setup``.

        The connection is left in the pool where it leads to the same place.

        Args:
            prepare: Run on a connection that is left in the pool, so that the first caller need
                not wait for what a connection is slow to do once.
        """
        pool = self._pools.blocking()
        connection = connect(self._address, self._address.direct)
        try:
            self._migrate_on(connection)
            if prepare is not None and self._address.direct == self._address.conninfo:
                with suppress(psycopg.Error):  # who migrates may not be one who reads
                    _run_on(connection, Operation("prepare", prepare))
        except BaseException:
            connection.close()
            raise
        pool.offer(connection, self._address.direct)

    async def asetup(self, prepare: Callable[[], Unit[None]] | None = None) -> None:
        """Do the same on the running loop."""
        pool = self._pools.awaiting()
        connection = await aconnect(self._address, self._address.direct)
        try:
            await self._amigrate_on(connection)
            if prepare is not None and self._address.direct == self._address.conninfo:
                with suppress(psycopg.Error):
                    await _arun_on(connection, Operation("prepare", prepare))
        except BaseException:
            await connection.close()
            raise
        await pool.offer(connection, self._address.direct)

    def _next(
        self, step: Step, connection: Connection[Any] | AsyncConnection[Any]
    ) -> Operation[Step]:
        """Name what comes after a step of a migration."""
        if step is Step.ONLINE:
            session = connection.info.backend_pid
            return Operation("setup", lambda: self._migrating.build(session))
        return Operation("setup", self._migrating.advance, atomic=True)

    def close(self) -> None:
        """Close all connections; idempotent."""
        self._pools.close()

    async def aclose(self) -> None:
        """Do the same for an awaiting caller."""
        await self._pools.aclose()

    def _migrate_on(self, connection: Connection[Any]) -> None:
        deadline = time.monotonic() + SETUP_SECONDS
        try:
            step = _run_on(connection, Operation("setup", self._migrating.look))
            while step is not Step.DONE:
                step = _run_on(connection, self._next(step, connection))
                if step is Step.BUSY:
                    _check_deadline(deadline)
                    time.sleep(POLL_SECONDS)
        except psycopg.Error as error:
            raise translated(error, "setup") from error

    async def _amigrate_on(self, connection: AsyncConnection[Any]) -> None:
        deadline = time.monotonic() + SETUP_SECONDS
        try:
            step = await _arun_on(connection, Operation("setup", self._migrating.look))
            while step is not Step.DONE:
                step = await _arun_on(connection, self._next(step, connection))
                if step is Step.BUSY:
                    _check_deadline(deadline)
                    await asyncio.sleep(POLL_SECONDS)
        except psycopg.Error as error:
            raise translated(error, "setup") from error

    def _check_attempt(self, error: psycopg.Error, what: str, attempt: int) -> None:
        """Raise what an error means, unless a further attempt may mend it."""
        if attempt < ATTEMPTS and (is_lost(error) or is_conflict(error)):
            return
        raise translated(error, what) from error


def _check_deadline(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise UnavailableError(
            f"postgresql: setup waited {SETUP_SECONDS:g} s for another process that migrates"
        )


def _is_idle(connection: AsyncConnection[Any]) -> bool:
    idle = TransactionStatus.IDLE
    return not connection.closed and connection.info.transaction_status == idle


def _run_on(connection: Connection[Any], operation: Operation[T]) -> T:
    if not operation.atomic:
        return _drive(connection, operation.unit())
    with connection.transaction():
        return _drive(connection, operation.unit())


async def _arun_on(connection: AsyncConnection[Any], operation: Operation[T]) -> T:
    if not operation.atomic:
        return await _adrive(connection, operation.unit())
    if operation.is_snapshot:
        return await _aread_on(connection, operation)
    is_committing = False
    try:
        async with connection.transaction():
            result = await _adrive(connection, operation.unit())
            is_committing = True
        return result
    except psycopg.Error as error:
        if is_committing and is_lost(error) and not operation.is_repeatable:
            raise UnavailableError(
                f"postgresql: the connection was lost while {operation.what} was committed; it "
                "may be done or not"
            ) from error
        raise


async def _aread_on(connection: AsyncConnection[Any], operation: Operation[T]) -> T:
    # Both settings are the client's: they only change the words that begin the transaction.
    await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
    await connection.set_read_only(True)
    try:
        async with connection.transaction():
            return await _adrive(connection, operation.unit())
    finally:
        if _is_idle(connection):
            await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
            await connection.set_read_only(None)


def _drive(connection: Connection[Any], unit: Unit[T]) -> T:
    rows: Any = None
    while True:
        try:
            query = unit.send(rows)
        except StopIteration as done:
            result: T = done.value
            return result
        text, values = numbered(query)
        # A script of several statements cannot be answered in binary.
        cursor = connection.execute(text, values, binary=values is not None)
        rows = _answer(query, cursor, cursor.fetchall() if cursor.description else [])


async def _adrive(connection: AsyncConnection[Any], unit: Unit[T]) -> T:
    rows: Any = None
    while True:
        try:
            query = unit.send(rows)
        except StopIteration as done:
            result: T = done.value
            return result
        text, values = numbered(query)
        cursor = await connection.execute(text, values, binary=values is not None)
        rows = _answer(query, cursor, await cursor.fetchall() if cursor.description else [])


def _answer(query: Query, cursor: Cursor[Any] | AsyncCursor[Any], rows: list[Any]) -> Any:
    """Return what the unit is sent."""
    if query.answer == "count":
        return cursor.rowcount
    if query.answer == "named":
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]
    return rows
