"""psycopg's errors in this package's words, and which of them a second attempt may mend."""

import psycopg

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
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(_LOST)


def is_conflict(error: psycopg.Error) -> bool:
    """Say whether the statement was undone so that others could go on."""
    return error.sqlstate in _CONFLICT


def translated(error: psycopg.Error, what: str) -> StorageError:
    """Name an error: by what the server says first, which holds no values and no credentials."""
    reason = error.diag.message_primary or _first_line(error)
    if error.sqlstate in _ABSENT:
        return StorageError(f"postgresql: not set up ({reason}); call setup() first")
    if error.sqlstate == _TOO_LARGE:
        return StorageError(f"postgresql: {what}: a key is longer than an index takes ({reason})")
    if is_lost(error) or (error.sqlstate or "").startswith(_UNAVAILABLE):
        return UnavailableError(f"postgresql: {what} failed: {reason}")
    return StorageError(f"postgresql: {what} failed: {reason}")


def _first_line(error: psycopg.Error) -> str:
    """Return what libpq says of a connection: it names hosts and users, and no passwords."""
    lines = str(error).strip().splitlines()
    if lines and isinstance(error, psycopg.OperationalError):
        return lines[0]
    return type(error).__name__
