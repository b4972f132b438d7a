"""One PostgreSQL database: runs operations for blocking and awaiting callers, and migrates it.

Statements run in autocommit, each its own transaction. Where the connection was lost, or the server
undid the statement for a conflict, the operation runs again: each is made so that doing it twice
leaves what doing it once does, or says that it is not.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor, IsolationLevel
from psycopg.pq import TransactionStatus

from threadkeep.drivers.postgres.address import Address
from threadkeep.drivers.postgres.failures import is_conflict, is_lost, translated
from threadkeep.drivers.postgres.pools import Pools, aconnect, connect
from threadkeep.drivers.postgres.queries import Operation, Query, Unit, numbered
from threadkeep.drivers.sql import migrate, statements
from threadkeep.errors import UnavailableError

T = TypeVar("T")

PACKAGE = "threadkeep.drivers.postgres"
MIGRATIONS = f"{PACKAGE}.migrations"

ATTEMPTS = 5  # of one operation
SETUP_SECONDS = 120.0  # for another process that migrates
POLL_SECONDS = 0.05  # between attempts to take the lock


class PostgresDatabase:
    """Safe for several threads, event loops and processes."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._pools = Pools(address)
        self._statements = {**self.load("ledger.sql"), **self.load("setup.sql")}

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

    def close(self) -> None:
        """Close all connections; idempotent."""
        self._pools.close()

    async def aclose(self) -> None:
        """Do the same for an awaiting caller."""
        await self._pools.aclose()

    def _migrate_on(self, connection: Connection[Any]) -> None:
        deadline = time.monotonic() + SETUP_SECONDS
        try:
            if _run_on(connection, Operation("setup", self._is_current)):
                return
            while not _run_on(connection, Operation("setup", self._migrate, atomic=True)):
                _check_deadline(deadline)
                time.sleep(POLL_SECONDS)
        except psycopg.Error as error:
            raise translated(error, "setup") from error

    async def _amigrate_on(self, connection: AsyncConnection[Any]) -> None:
        deadline = time.monotonic() + SETUP_SECONDS
        try:
            if await _arun_on(connection, Operation("setup", self._is_current)):
                return
            migration = Operation("setup", self._migrate, atomic=True)
            while not await _arun_on(connection, migration):
                _check_deadline(deadline)
                await asyncio.sleep(POLL_SECONDS)
        except psycopg.Error as error:
            raise translated(error, "setup") from error

    def _check_attempt(self, error: psycopg.Error, what: str, attempt: int) -> None:
        """Raise what an error means, unless a further attempt may mend it."""
        if attempt < ATTEMPTS and (is_lost(error) or is_conflict(error)):
            return
        raise translated(error, what) from error

    def _is_current(self) -> Unit[bool]:
        """Say whether there is nothing to migrate: what nearly every start finds."""
        ledger = f"{self._address.prefix}threadkeep_migrations"
        ((has_ledger,),) = yield Query(self._statements["has_ledger"], {"ledger": ledger})
        if not has_ledger:
            return False
        return not (yield from self._pending())

    def _migrate(self) -> Unit[bool]:
        """Run what is pending under a lock of this transaction; false where another has it."""
        ((is_locked,),) = yield Query(self._statements["try_lock"], {"lock": self._lock_number()})
        if not is_locked:
            return False
        if self._address.schema is not None:
            yield from self._make_schema(self._address.schema)
        yield Query(self._statements["create_ledger"])
        pending = yield from self._pending()
        for migration in pending:
            yield Query(migration.sql.replace("{schema}", self._address.prefix), None)
            done = {"number": migration.number, "name": migration.name}
            yield Query(self._statements["record_migration"], done)
        return True

    def _make_schema(self, name: str) -> Unit[None]:
        # Looked for first: who may not create schemas may use one that is there.
        ((is_there,),) = yield Query(self._statements["has_schema"], {"name": name})
        if not is_there:
            quoted = self._address.prefix.removesuffix(".")
            yield Query(self._statements["create_schema"].replace("{name}", quoted))

    def _pending(self) -> Unit[list[migrate.Migration]]:
        rows = yield Query(self._statements["list_migrations"])
        applied = [number for (number,) in rows]
        return list(migrate.pending(migrate.load(MIGRATIONS), applied))

    def _lock_number(self) -> int:
        """Return the advisory lock's number: one per schema, within the database."""
        name = f"threadkeep migrations {self._address.schema}".encode()
        digest = hashlib.blake2b(name, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


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
