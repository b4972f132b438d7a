"""Connections to one database: a pool for blocking callers, and one for each event loop.

A connection's session holds nothing between transactions, so a pooler may stand before the server.
Pools have no threads and no tasks: who finds no idle connection makes one. A loop's pool ends with
the loop (``asyncio.run`` sees to that), or with the store.
"""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, IsolationLevel
from psycopg.pq import TransactionStatus
from psycopg.types.array import ListBinaryDumper

from threadkeep.drivers.postgres.address import Address
from threadkeep.drivers.postgres.failures import CLOSED, translated
from threadkeep.errors import StorageError, UnavailableError

WAIT_SECONDS = 10.0  # for a connection, before a retry is left to the caller
CONNECT_SECONDS = 10  # where the address does not say ``connect_timeout``
CLOSE_SECONDS = 5.0  # for another loop to close its connections
PREPARE_AFTER = 2  # uses of a statement, where statements are prepared


def connect(address: Address, conninfo: str) -> Connection[Any]:
    """Make a blocking connection.

    Raises:
        UnavailableError: The server cannot be reached, or refuses.
    """
    try:
        connection: Connection[Any] = Connection.connect(
            conninfo, cursor_factory=psycopg.RawCursor, **_options(address, conninfo)
        )
    except psycopg.Error as error:
        raise translated(error, "connect") from error
    connection.adapters.register_dumper(list, ListBinaryDumper)  # half the bytes of text arrays
    # Transactions read what was committed before each statement, whatever the database's default.
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    return connection


async def aconnect(address: Address, conninfo: str) -> AsyncConnection[Any]:
    """Make an awaiting connection; see ``connect``."""
    try:
        connection: AsyncConnection[Any] = await AsyncConnection.connect(
            conninfo, cursor_factory=psycopg.AsyncRawCursor, **_options(address, conninfo)
        )
    except psycopg.Error as error:
        raise translated(error, "connect") from error
    connection.adapters.register_dumper(list, ListBinaryDumper)
    await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
    return connection


def _options(address: Address, conninfo: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "autocommit": True,
        "prepare_threshold": PREPARE_AFTER if address.prepared_statements else None,
        "fallback_application_name": "threadkeep",
    }
    if "connect_timeout=" not in conninfo:
        options["connect_timeout"] = CONNECT_SECONDS
    return options


def _is_usable(connection: Connection[Any] | AsyncConnection[Any]) -> bool:
    idle = TransactionStatus.IDLE
    return not connection.closed and connection.info.transaction_status == idle


def _busy(address: Address) -> UnavailableError:
    return UnavailableError(
        f"postgresql: all {address.pool_max_size} connections were in use for {WAIT_SECONDS:g} s"
    )


class BlockingPool:
    """Connections for threads."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[Connection[Any]] = []
        self._room = threading.Semaphore(address.pool_max_size)
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """Lend a connection.

        Raises:
            UnavailableError: All are in use, or the server cannot be reached.
        """
        if not self._room.acquire(timeout=WAIT_SECONDS):
            raise _busy(self._address)
        try:
            connection = self._pop() or connect(self._address, self._address.conninfo)
            try:
                yield connection
            finally:
                self._take_back(connection)
        finally:
            self._room.release()

    def offer(self, connection: Connection[Any], conninfo: str) -> None:
        """Take in a connection somebody made, if it is one of these and there is room; or close it.

        Args:
            connection: The connection, with no transaction.
            conninfo: What it was made with.
        """
        if conninfo == self._address.conninfo and not self._idle and self._room.acquire(timeout=0):
            try:
                self._take_back(connection)
            finally:
                self._room.release()
        else:
            connection.close()

    def drop_idle(self) -> None:
        """Close the connections that nobody uses: when one was lost, others may be too."""
        while (connection := self._pop()) is not None:
            connection.close()

    def close(self) -> None:
        """Close what is idle now, and the others when they are given back."""
        self._closed = True
        self.drop_idle()

    def _pop(self) -> Connection[Any] | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _take_back(self, connection: Connection[Any]) -> None:
        if _is_usable(connection):
            self._idle.append(connection)
        else:
            connection.close()
        if self._closed:
            self.drop_idle()


class LoopPool:
    """Connections for the tasks of one event loop; used on that loop only."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[AsyncConnection[Any]] = []
        self._room = asyncio.Semaphore(address.pool_max_size)
        self._closed = False
        self._until_end = self._watch()
        self._is_watched = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Lend a connection; see ``BlockingPool.connection``."""
        await self._begin()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._room.acquire()
        except TimeoutError as error:
            raise _busy(self._address) from error
        try:
            idle = self._idle.pop() if self._idle else None
            connection = idle or await aconnect(self._address, self._address.conninfo)
            try:
                yield connection
            finally:
                await self._take_back(connection)
        finally:
            self._room.release()

    async def offer(self, connection: AsyncConnection[Any], conninfo: str) -> None:
        """See ``BlockingPool.offer``."""
        has_room = not self._idle and not self._room.locked()
        if conninfo == self._address.conninfo and has_room:
            await self._begin()
            await self._take_back(connection)
        else:
            await connection.close()

    async def drop_idle(self) -> None:
        """See ``BlockingPool.drop_idle``."""
        while self._idle:
            await self._idle.pop().close()

    async def close(self) -> None:
        """See ``BlockingPool.close``."""
        self._closed = True
        await self.drop_idle()

    async def _begin(self) -> None:
        """Have the loop's end close the pool."""
        if not self._is_watched:
            self._is_watched = True
            await anext(self._until_end)

    async def _take_back(self, connection: AsyncConnection[Any]) -> None:
        if _is_usable(connection) and not self._closed:
            self._idle.append(connection)
        else:
            await connection.close()

    async def _watch(self) -> AsyncGenerator[None, None]:
        # A loop that shuts down closes the generators that are suspended on it.
        try:
            yield
        finally:
            await self.close()


class Pools:
    """The connections of one process; safe for threads and event loops."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._blocking = BlockingPool(address)
        self._awaiting: dict[asyncio.AbstractEventLoop, LoopPool] = {}
        self._lock = threading.Lock()  # for a change of the above, held briefly
        self._closed = False
        self._process = os.getpid()

    def check_usable(self) -> None:
        """Refuse pools that were closed, or that a forked child inherited.

        Raises:
            StorageError: They were.
        """
        if os.getpid() != self._process:
            raise StorageError(
                "postgresql: the store was opened before this process was forked; open it again "
                "here"
            )
        if self._closed:
            raise StorageError(CLOSED)

    def blocking(self) -> BlockingPool:
        """Return the pool of blocking callers."""
        self.check_usable()
        return self._blocking

    def awaiting(self) -> LoopPool:
        """Return the pool of the running loop."""
        self.check_usable()
        loop = asyncio.get_running_loop()
        held = self._awaiting.get(loop)
        if held is not None:
            return held
        held = LoopPool(self._address)
        with self._lock:
            self.check_usable()
            open_loops = {
                each: pool for each, pool in self._awaiting.items() if not each.is_closed()
            }
            self._awaiting = {**open_loops, loop: held}
        return held

    def close(self) -> None:
        """Close all connections; idempotent."""
        for loop, held in self._end().items():
            _close_on(loop, held)

    async def aclose(self) -> None:
        """Do the same for an awaiting caller."""
        awaiting = self._end()
        own = awaiting.pop(asyncio.get_running_loop(), None)
        if own is not None:
            await own.close()
        for loop, held in awaiting.items():
            await asyncio.to_thread(_close_on, loop, held)

    def _end(self) -> dict[asyncio.AbstractEventLoop, LoopPool]:
        """Close the blocking pool, and return the others."""
        with self._lock:
            self._closed = True
            awaiting, self._awaiting = self._awaiting, {}
        if os.getpid() != self._process:
            return {}  # the connections are the parent's
        self._blocking.close()
        return awaiting


def _close_on(loop: asyncio.AbstractEventLoop, held: LoopPool) -> None:
    """Close a loop's pool from another thread, or from the loop itself, a moment later."""
    if not loop.is_running():
        return  # an ended loop closed it; one that stands still does when it ends
    closing = asyncio.run_coroutine_threadsafe(held.close(), loop)
    try:
        own: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        own = None
    if own is not loop:
        closing.result(CLOSE_SECONDS)
