"""Moving a whole store: every row read in one consistent view, and rows written where absent.

Rows are those of ``model.snapshots``: what is stored, unread. So a value that is encrypted stays
so, and a store in which a deployment's user keeps items is not a part of it.
"""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from threadkeep.errors import NotSupportedError
from threadkeep.model.snapshots import Row
from threadkeep.ports.drivers import Driver


class View(Protocol):
    """A store as it was at one moment, whoever writes meanwhile."""

    def rows(self, kind: str) -> Generator[Row, None, None]:
        """Read every row of a kind of ``KINDS``, in the order of its key, a few at a time.

        Who stops early closes it.

        Raises:
            StorageError: The backend failed.
        """
        ...


class Transfer(Protocol):
    """The way out of a store, and into it; blocking."""

    def view(self) -> AbstractContextManager[View]:
        """Open a view; its rows can be read until it is closed, one kind after the other.

        Raises:
            StorageError: The backend failed, or is not set up.
        """
        ...

    def restore(self, kind: str, rows: Sequence[Row]) -> int:
        """Write the rows of which the store has none with their key, in one transaction.

        What a row names must be there. A run keeps its place among the runs while no other has it,
        else it comes after all others.

        Returns:
            How many were written.

        Raises:
            StorageError: The backend failed, or a row names what is absent; nothing is written.
        """
        ...


@runtime_checkable
class TransferringDriver(Driver, Protocol):
    """A driver whose store can be moved."""

    def transfer(self) -> Transfer:
        """Return the way out of the store, and into it."""
        ...


def transfer_of(driver: Driver) -> Transfer:
    """Return a driver's way out and in.

    Raises:
        NotSupportedError: The driver has none.
    """
    if isinstance(driver, TransferringDriver):
        return driver.transfer()
    raise NotSupportedError(
        "this store cannot be moved as a whole: only what is kept in a SQLite file or a "
        "PostgreSQL database is; name one in THREADKEEP_DATABASE_URL"
    )
