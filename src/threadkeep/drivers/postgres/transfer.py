"""A whole PostgreSQL database, read in one snapshot and written row by row."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import Connection, IsolationLevel

from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.entry_digests import digest_list
from threadkeep.drivers.postgres.failures import translated
from threadkeep.drivers.postgres.queries import Query, numbered
from threadkeep.drivers.postgres.resource_database import bound
from threadkeep.drivers.sql.packing import unpack_text
from threadkeep.drivers.sql.store import SHARED
from threadkeep.model.snapshots import KINDS, Row
from threadkeep.ports.transfer import View

ROWS_AT_ONCE = 32  # of one reply: each may hold megabytes

# Kinds that the repos write as they are restored.
_STATEMENTS = {"assistants": "add_assistant", "threads": "add_thread_row"}


class PostgresView:
    """Satisfies ``View``."""

    def __init__(self, connection: Connection[Any], statements: Mapping[str, str]) -> None:
        self._connection = connection
        self._statements = statements

    def rows(self, kind: str) -> Generator[Row, None, None]:
        """See ``View.rows``."""
        text = self._statements[f"export_{kind}"].rstrip(";")
        try:
            with self._connection.cursor(name=f"export_{kind}") as cursor:
                cursor.itersize = ROWS_AT_ONCE
                yield from cursor.execute(text.encode(), binary=True)
        except psycopg.Error as error:
            raise translated(error, f"export_{kind}") from error


class PostgresTransfer:
    """Satisfies ``Transfer``."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._statements = {
            **database.load("resources.sql"),
            **database.load("transfer.sql"),
            **database.load("positions.sql"),
            **database.load("exports.sql", package=SHARED),
        }

    @contextmanager
    def view(self) -> Iterator[View]:
        """See ``Transfer.view``."""
        with self._database.connected() as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                yield PostgresView(connection, self._statements)

    def restore(self, kind: str, rows: Sequence[Row]) -> int:
        """See ``Transfer.restore``."""
        if not rows:
            return 0
        text = self._statements[_STATEMENTS.get(kind, f"restore_{kind}")]
        bags = [bound(_bag(kind, row)) for row in rows]
        statement, _ = numbered(Query(text, bags[0]))
        values = [numbered(Query(text, bag))[1] or () for bag in bags]
        try:
            with self._database.connected() as connection, connection.transaction():
                cursor = connection.cursor()
                cursor.executemany(statement, values)
                added = cursor.rowcount
                if kind == "runs":
                    connection.execute(self._statements["count_positions_on"].encode())
                return added
        except psycopg.Error as error:
            raise translated(error, f"restore_{kind}") from error


def _bag(kind: str, row: Row) -> dict[str, Any]:
    bag: dict[str, Any] = dict(zip(KINDS[kind].columns, row, strict=True))
    if kind == "addressed_documents":
        bag["touched"] = int(time.time()) // 60
        metadata = bag["metadata"]
        bag["metadata_entries"] = None if metadata is None else digest_list(unpack_text(metadata))
    return bag
