"""One PostgreSQL database: runs operations for blocking and awaiting callers, and migrates it.

What awaiting callers write goes through the process's one writer (``writer.py``), which commits
together what waits together; reads, and what blocking callers write, see what was staged before.
Other statements run in autocommit, each its own transaction. Where the connection was lost, or the
server undid the statement for a conflict, the operation runs again: each is made so that doing it
twice leaves what doing it once does, or says that it is not.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, Connection

from threadkeep.drivers.postgres.address import Address
from threadkeep.drivers.postgres.driving import arun_on, run_on
from threadkeep.drivers.postgres.failures import is_conflict, is_lost, translated
from threadkeep.drivers.postgres.migrating import Migrating, Step
from threadkeep.drivers.postgres.pools import Pools, aconnect, connect
from threadkeep.drivers.postgres.queries import Operation, Unit
from threadkeep.drivers.postgres.writer import Writer, nothing
from threadkeep.drivers.sql import statements
from threadkeep.drivers.sql.jobs import Submitted
from threadkeep.errors import UnavailableError

T = TypeVar("T")

PACKAGE = "threadkeep.drivers.postgres"

ATTEMPTS = 5  # of one operation
SETUP_SECONDS = 120.0  # for another process that migrates
POLL_SECONDS = 0.05  # between attempts to take the lock

NOTHING: Operation[None] = Operation("catch up", nothing)


class PostgresDatabase:
    """Safe for several threads, event loops and processes."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._pools = Pools(address)
        files = ("ledger.sql", "setup.sql", "direct.sql")
        texts = {name: text for file in files for name, text in self.load(file).items()}
        self._migrating = Migrating(address, texts)
        self._writer = Writer(self._pools, self._run)

    @property
    def prefix(self) -> str:
        """What stands before the names of tables."""
        return self._address.prefix

    def load(self, filename: str, *, package: str = PACKAGE) -> Mapping[str, str]:
        """Read the statements of a file; names of tables lead to the schema of the address."""
        return statements.load(package, filename, schema=self._address.prefix)

    def run(self, operation: Operation[T]) -> T:
        """Run an operation on the calling thread, after all that was staged."""
        self._pools.check_usable()
        if self._writer.has_staged:
            self._writer.catch_up()
        return self._run(operation)

    async def arun(self, operation: Operation[T]) -> T:
        """Run an operation on the running loop, after all that was staged."""
        self._pools.check_usable()
        if self._writer.has_staged:
            await self._writer.submit(NOTHING).future
        return await self._arun(operation)

    async def write(self, operation: Operation[T]) -> T:
        """Run an operation with what else waits to be written, in one transaction.

        It is done also when the caller stops waiting.
        """
        written: T = await self._writer.submit(operation).future
        return written

    def stage(self, operation: Operation[T], *, within_seconds: float) -> Submitted[T]:
        """Hand an operation over that commits within a time, or with what is handed over next."""
        return self._writer.stage(operation, within_seconds=within_seconds)

    def _run(self, operation: Operation[T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            pool = self._pools.blocking()
            try:
                with pool.connection() as connection:
                    return run_on(connection, operation)
            except psycopg.Error as error:
                self._check_attempt(error, operation.what, attempt)
                if is_lost(error):
                    pool.drop_idle()
        raise AssertionError("unreachable")

    async def _arun(self, operation: Operation[T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            pool = self._pools.awaiting()
            try:
                async with pool.connection() as connection:
                    return await arun_on(connection, operation)
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
                    run_on(connection, Operation("prepare", prepare))
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
                    await arun_on(connection, Operation("prepare", prepare))
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
        """Commit what was staged, and close all connections; idempotent."""
        self._writer.close()
        self._pools.close()

    async def aclose(self) -> None:
        """Do the same for an awaiting caller."""
        await asyncio.to_thread(self._writer.close)
        await self._pools.aclose()

    def _migrate_on(self, connection: Connection[Any]) -> None:
        deadline = time.monotonic() + SETUP_SECONDS
        try:
            step = run_on(connection, Operation("setup", self._migrating.look))
            while step is not Step.DONE:
                step = run_on(connection, self._next(step, connection))
                if step is Step.BUSY:
                    _check_deadline(deadline)
                    time.sleep(POLL_SECONDS)
        except psycopg.Error as error:
            raise translated(error, "setup") from error

    async def _amigrate_on(self, connection: AsyncConnection[Any]) -> None:
        deadline = time.monotonic() + SETUP_SECONDS
        try:
            step = await arun_on(connection, Operation("setup", self._migrating.look))
            while step is not Step.DONE:
                step = await arun_on(connection, self._next(step, connection))
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
