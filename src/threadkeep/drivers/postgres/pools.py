"""Connections to one database: a pool for blocking callers, and one for each event loop.

A connection's session holds nothing between transactions, so a pooler may stand before the server.
A loop's pool is closed with the loop (``asyncio.run`` does so), or with the store.
"""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, IsolationLevel
from psycopg.types.array import ListBinaryDumper
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from threadkeep.drivers.postgres.address import Address
from threadkeep.drivers.postgres.failures import CLOSED
from threadkeep.errors import StorageError

WAIT_SECONDS = 10.0  # for a connection, before a retry is left to the caller
CLOSE_SECONDS = 5.0  # for another loop to close its connections
PREPARE_AFTER = 2  # uses of a statement, where statements are prepared

BlockingPool = ConnectionPool[Connection[Any]]
AwaitingPool = AsyncConnectionPool[AsyncConnection[Any]]


def _prepare(connection: Connection[Any] | AsyncConnection[Any]) -> None:
    """Set what only the client knows of: the server's session stays as it is."""
    connection.adapters.register_dumper(list, ListBinaryDumper)  # half the bytes of text arrays


def configure(connection: Connection[Any]) -> None:
    """Make a blocking connection ready."""
    _prepare(connection)
    # Transactions read what was committed before each statement, whatever the database's default.
    connection.isolation_level = IsolationLevel.READ_COMMITTED


async def aconfigure(connection: AsyncConnection[Any]) -> None:
    """Make an awaiting connection ready."""
    _prepare(connection)
    await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)


def options(address: Address) -> dict[str, Any]:
    """Return what a connection is opened with."""
    return {
        "autocommit": True,
        "prepare_threshold": PREPARE_AFTER if address.prepared_statements else None,
        "fallback_application_name": "threadkeep",
    }


class _LoopPool:
    """The pool of one event loop; used on that loop only."""

    def __init__(self, address: Address) -> None:
        self.pool: AwaitingPool = AsyncConnectionPool(
            address.conninfo,
            kwargs={**options(address), "cursor_factory": psycopg.AsyncRawCursor},
            configure=aconfigure,
            min_size=0,
            max_size=address.pool_max_size,
            timeout=WAIT_SECONDS,
            open=False,
        )
        self._until_end = self._watch()
        self._is_watched = False

    async def open(self) -> AwaitingPool:
        """Open the pool, if this is its first use."""
        if not self._is_watched:
            self._is_watched = True
            await anext(self._until_end)
        if self.pool.closed:
            await self.pool.open()
        return self.pool

    async def close(self) -> None:
        """Close the pool; idempotent."""
        await self._until_end.aclose()
        await self.pool.close()

    async def _watch(self) -> AsyncGenerator[None, None]:
        # A loop that shuts down closes the generators that are suspended on it.
        try:
            yield
        finally:
            await self.pool.close()


class Pools:
    """The connections of one process; safe for threads and event loops."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()  # guards the two below, held briefly
        self._blocking: BlockingPool | None = None
        self._awaiting: dict[asyncio.AbstractEventLoop, _LoopPool] = {}
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
        if self._blocking is not None:
            return self._blocking
        with self._lock:
            self.check_usable()
            if self._blocking is None:
                pool: BlockingPool = ConnectionPool(
                    self._address.conninfo,
                    kwargs={**options(self._address), "cursor_factory": psycopg.RawCursor},
                    configure=configure,
                    min_size=0,
                    max_size=self._address.pool_max_size,
                    timeout=WAIT_SECONDS,
                    open=False,
                )
                pool.open()
                self._blocking = pool
            return self._blocking

    async def awaiting(self) -> AwaitingPool:
        """Return the pool of the running loop."""
        self.check_usable()
        loop = asyncio.get_running_loop()
        held = self._awaiting.get(loop)
        if held is None:
            held = _LoopPool(self._address)
            with self._lock:
                self.check_usable()
                open_loops = {
                    each: pool for each, pool in self._awaiting.items() if not each.is_closed()
                }
                self._awaiting = {**open_loops, loop: held}
        return await held.open()

    def close(self) -> None:
        """Close all connections; idempotent."""
        _close_all(*self._take())

    async def aclose(self) -> None:
        """Do the same for an awaiting caller."""
        blocking, awaiting = self._take()
        own = awaiting.pop(asyncio.get_running_loop(), None)
        if own is not None:
            await own.close()
        await asyncio.to_thread(_close_all, blocking, awaiting)

    def _take(self) -> tuple[BlockingPool | None, dict[asyncio.AbstractEventLoop, _LoopPool]]:
        with self._lock:
            self._closed = True
            taken = self._blocking, self._awaiting
            self._blocking, self._awaiting = None, {}
        if os.getpid() != self._process:
            return None, {}
        return taken


def _close_all(
    blocking: BlockingPool | None, awaiting: dict[asyncio.AbstractEventLoop, _LoopPool]
) -> None:
    if blocking is not None:
        blocking.close(CLOSE_SECONDS)
    for loop, held in awaiting.items():
        _close_on(loop, held)


def _close_on(loop: asyncio.AbstractEventLoop, held: _LoopPool) -> None:
    """Close a loop's pool from another thread, or from the loop itself, a moment later."""
    if not loop.is_running():
        return  # an ended loop closed it; one that stands still does when it ends
    closing = asyncio.run_coroutine_threadsafe(held.close(), loop)
    try:
        own = asyncio.get_running_loop()
    except RuntimeError:
        own = None
    if own is not loop:
        closing.result(CLOSE_SECONDS)
