"""Rows that cannot be read as documents: what is told of them, so that others can be read on."""

from collections.abc import Callable

from threadkeep.errors import CorruptionError, DamagedRowError
from threadkeep.ports.documents import Key

# What unpacking a column may raise: a file may hold another type than was declared.
UNREADABLE = (CorruptionError, AttributeError, TypeError, ValueError)


def damaged_row(
    error: Exception, collection: str, thread_id: str, unpack_key: Callable[[], Key]
) -> DamagedRowError:
    """Make the error that names a row, by its key where that can be read."""
    key: Key | None
    try:
        key = unpack_key()
    except UNREADABLE:
        key = None
    named = (part.hex() if isinstance(part, bytes) else str(part) for part in key or ())
    where = f"{collection} {'/'.join(named)}".rstrip()
    says = f"a document of thread {thread_id!r} in {where}: {error}"
    return DamagedRowError(says, thread_id=thread_id, collection=collection, key=key)


def check_body(body: object) -> None:
    """Refuse a body that is none.

    Raises:
        CorruptionError: It is of another type.
    """
    if type(body) is not bytes:
        raise CorruptionError(f"its body is a {type(body).__name__}")
