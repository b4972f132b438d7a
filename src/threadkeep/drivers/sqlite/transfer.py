"""A whole SQLite file, read in one snapshot and written row by row."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from threadkeep.drivers.sql.packing import unpack_text
from threadkeep.drivers.sql.store import SHARED
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.model.snapshots import KINDS, Row
from threadkeep.ports.documents import Scope
from threadkeep.ports.transfer import View
from threadkeep.rules.document_life import erasure_mark

# Kinds that the repos write as they are restored.
_STATEMENTS = {"assistants": "add_assistant", "threads": "add_thread_row"}


class SqliteView:
    """Satisfies ``View``."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def rows(self, kind: str) -> Generator[Row, None, None]:
        """See ``View.rows``."""
        return self._session.rows(f"export_{kind}")


class SqliteTransfer:
    """Satisfies ``Transfer``."""

    def __init__(self, database: SqliteDatabase) -> None:
        database.load("threadkeep.drivers.sqlite", "transfer.sql")
        database.load("threadkeep.drivers.sqlite", "apart.sql")
        database.load(SHARED, "exports.sql")
        self._database = database

    @contextmanager
    def view(self) -> Iterator[View]:
        """See ``Transfer.view``; the file's log grows until it is closed."""
        with self._database.reading() as session:
            yield SqliteView(session)

    def restore(self, kind: str, rows: Sequence[Row]) -> int:
        """See ``Transfer.restore``."""
        return self._database.write_now(partial(_restore, kind, rows))


def _restore(kind: str, rows: Sequence[Row], session: Session) -> int:
    columns = KINDS[kind].columns
    touched = int(time.time())
    return sum(
        _restore_one(kind, {**dict(zip(columns, row, strict=True)), "touched": touched}, session)
        for row in rows
    )


def _restore_one(kind: str, bag: Mapping[str, Any], session: Session) -> int:
    if kind == "document_threads":
        bag = {**bag, "mark": _mark(bag)}
    added = session.run(_STATEMENTS.get(kind, f"restore_{kind}"), bag)
    if added:
        for statement in _rest(kind, bag):
            session.run(statement, bag)
    return added


def _rest(kind: str, bag: Mapping[str, Any]) -> Iterator[str]:
    """Name what else a row that was added consists of."""
    if kind == "runs":
        yield "add_run_request"
        if bag["owner"] is not None:
            yield "add_run_lease"
    elif kind == "items" and bag["expires_at"] is not None:
        yield "put_item_lifetime"
    elif kind == "addressed_documents" and bag["metadata"] is not None:
        yield "restore_document_metadata"


def _mark(bag: Mapping[str, Any]) -> bytes:
    scope = Scope(unpack_text(bag["namespace"]), unpack_text(bag["agent_id"]))
    return erasure_mark(scope, unpack_text(bag["thread_id"]))
