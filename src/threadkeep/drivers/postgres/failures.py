"""psycopg's errors in this package's words, and which of them a second attempt may mend."""

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from threadkeep.errors import StorageError, UnavailableError

# Classes of SQLSTATE: connection, transaction rollback, resources, operator intervention; and a
# lock that was waited for too long.
_UNAVAILABLE = ("08", "40", "53", "57", "55P03")
_LOST = ("08", "57P")
_ABSENT = ("42P01", "42703", "3F000")  # table, column, schema
_CONFLICT = ("40001", "40P01")
_TOO_LARGE = "54000"  # a limit of the program; here that of an index's row

CLOSED = "postgresql: the store is closed"


def is_lost(error: psycopg.Error) -> bool:
    """Say whether the connection went away; what was sent may or may not have been done."""
    if isinstance(error, PoolTimeout | PoolClosed):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(_LOST)


def is_conflict(error: psycopg.Error) -> bool:
    """Say whether the statement was undone so that others could go on."""
    return error.sqlstate in _CONFLICT


def translated(error: psycopg.Error, what: str) -> StorageError:
    """Name an error: by what the server says first, which holds no values and no credentials."""
    if isinstance(error, PoolTimeout):
        return UnavailableError(
            f"postgresql: {what} got no connection: the server cannot be reached, or all "
            "connections of the pool are in use"
        )
    if isinstance(error, PoolClosed):
        return StorageError(CLOSED)
    reason = error.diag.message_primary or type(error).__name__
    if error.sqlstate in _ABSENT:
        return StorageError(f"postgresql: not set up ({reason}); call setup() first")
    if error.sqlstate == _TOO_LARGE:
        return StorageError(f"postgresql: {what}: a key is longer than an index takes ({reason})")
    if is_lost(error) or (error.sqlstate or "").startswith(_UNAVAILABLE):
        return UnavailableError(f"postgresql: {what} failed: {reason}")
    return StorageError(f"postgresql: {what} failed: {reason}")


def unreachable(error: psycopg.Error) -> UnavailableError:
    """Name the failure of a connection that was to be made; libpq's text has no password."""
    reason = str(error).strip().splitlines()[-1] if str(error) else type(error).__name__
    return UnavailableError(f"postgresql: no connection: {reason}")
