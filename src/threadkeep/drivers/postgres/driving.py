"""How an operation runs on a connection: its statements, and the transaction around them."""

from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor, IsolationLevel
from psycopg.pq import TransactionStatus

from threadkeep.drivers.postgres.failures import is_lost
from threadkeep.drivers.postgres.queries import Operation, Query, Unit, numbered
from threadkeep.errors import UnavailableError

T = TypeVar("T")


def _is_idle(connection: AsyncConnection[Any]) -> bool:
    idle = TransactionStatus.IDLE
    return not connection.closed and connection.info.transaction_status == idle


def run_on(connection: Connection[Any], operation: Operation[T]) -> T:
    """Run an operation on a connection that has no transaction open.

    Raises:
        UnavailableError: It is not known whether it was done, and it must not be done twice.
    """
    if not operation.atomic:
        return drive(connection, operation.unit())
    is_committing = False
    try:
        with connection.transaction():
            result = drive(connection, operation.unit())
            is_committing = True
        return result
    except psycopg.Error as error:
        if is_committing and is_lost(error) and not operation.is_repeatable:
            raise unknown(operation.what) from error
        raise


async def arun_on(connection: AsyncConnection[Any], operation: Operation[T]) -> T:
    """Do the same for an awaiting caller."""
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
            raise unknown(operation.what) from error
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


def unknown(what: str) -> UnavailableError:
    """Return the error of what was lost with its commit."""
    return UnavailableError(
        f"postgresql: the connection was lost while {what} was committed; it may be done or not"
    )


def drive(connection: Connection[Any], unit: Unit[T]) -> T:
    """Run a unit's statements, one after the other."""
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
