"""Labels and totals of a SQLite file say what its rows say, whatever was done to them."""

import asyncio
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from threadkeep.drivers.sqlite import functions
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.model.queries import ThreadQuery
from threadkeep.model.runs import Claim, NewRun, Outcome
from threadkeep.model.threads import NewThread
from threadkeep.rules.json_text import decode_json
from threadkeep.testing.clock import ManualClock

OWNER = Claim("owner", 30)
ODD: list[dict[str, Any]] = [
    {"a": "x", "b": 1, "c": True, "d": False, "e": None, "f": {"g": 1}, "h": ["x"], "i": 1.5},
    {"a": "x\0y", "b": 2**70, "c": "1", "\0": 1, "": "empty", 'q"': "q", "a.b": 1},
    {"a": "\ud800", "b": 1.0, "long": "x" * 1000, "k" * 1000: 1},
    {},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.db"


def labels_of(metadata: dict[str, Any]) -> set[tuple[str, Any]]:
    """Return what must be found by a label, of metadata without odd text."""
    return {
        (key, b"\x01" if value is True else b"\x00" if value is False else value)
        for key, value in metadata.items()
        if isinstance(value, (str, int, float)) and len(key) <= 200 and len(str(value)) <= 200
    }


def check(path: Path) -> None:
    """Compare labels and totals with the rows."""
    with sqlite3.connect(path) as connection:
        functions.register(connection)
        connection.text_factory = lambda text: text.decode(errors="replace")
        for thread_id, text, created_at in connection.execute(
            "SELECT thread_id, metadata, created_at FROM threads"
        ):
            rows = connection.execute(
                "SELECT label_key, label_value, label_is_exact, label_at FROM thread_labels "
                "WHERE label_thread = ?",
                [thread_id],
            ).fetchall()
            assert {at for _, _, _, at in rows} <= {created_at}
            if all(exact for _, _, exact, _ in rows):
                assert {(key, value) for key, value, _, _ in rows} == labels_of(decode_json(text))
        orphans = (
            "SELECT count(*) FROM thread_labels "
            "WHERE label_thread NOT IN (SELECT thread_id FROM threads)"
        )
        assert connection.execute(orphans).fetchone() == (0,)
        for kind in ("thread", "run"):
            counted = f"SELECT status, count(*) FROM {kind}s GROUP BY status"
            kept = f"SELECT status, total FROM resource_totals WHERE kind = '{kind}' AND total > 0"
            assert dict(connection.execute(kept)) == dict(connection.execute(counted))
    connection.close()


async def use(store: SqliteResourceStore) -> None:
    """Do everything that changes metadata, statuses, or which rows there are."""
    for number, metadata in enumerate(ODD):
        await store.threads.create(NewThread(f"t{number}", metadata))
    await store.threads.update("t0", metadata={"a": "z", "b": None, "c": 0, "new": True})
    await store.threads.update("t1", metadata={"a": "plain"})
    await store.threads.copy("t0", copy_id="copy")
    for number in range(4):
        new = NewRun(f"r{number}", f"t{number}", "a", {}, thread_metadata={"graph_id": "g"})
        await store.runs.admit(new, claim=OWNER if number % 2 else None)
        await store.runs.admit(
            NewRun(f"s{number}", f"t{number}", "a", {}, multitask_strategy="rollback"), claim=None
        )
    await store.runs.settle("r1", fence=1, outcome=Outcome("success"), state=None)
    await store.runs.request_cancel("s2", "rollback")
    await store.runs.request_cancel("s3", "interrupt")
    await store.runs.claim(OWNER, limit=1)
    await store.threads.delete("t0")
    await store.runs.delete("r3")


def test_labels_and_totals_follow_the_rows(path: Path) -> None:
    database = SqliteDatabase(Address(path))
    store = SqliteResourceStore(database, clock=ManualClock())
    database.setup_now()
    asyncio.run(use(store))
    database.close()
    check(path)


def test_rows_of_a_file_of_before_are_labelled_and_counted(path: Path, tmp_path: Path) -> None:
    database = SqliteDatabase(Address(path))
    store = SqliteResourceStore(database, clock=ManualClock())
    database.setup_now()
    asyncio.run(use(store))
    database.close()
    before = tmp_path / "before.db"
    shutil.copy(path, before)
    with sqlite3.connect(before) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in names.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for sql in (
            "DROP TABLE thread_labels",
            "DROP TABLE resource_totals",
            "DROP INDEX runs_of_status",
            "DROP INDEX runs_of_assistant",
            "DELETE FROM threadkeep_migrations WHERE number >= 6",
        ):
            connection.execute(sql)
    connection.close()
    database = SqliteDatabase(Address(before))
    database.setup_now()
    database.close()
    check(before)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": "z"}, ["copy"]),
        ({"a": "plain"}, ["t1"]),
        ({"a": "x"}, []),
        ({"new": True}, ["copy"]),
        ({"new": 1}, []),
        ({"c": 0}, ["copy"]),
        ({"c": False}, []),
        ({"b": 1}, ["t2"]),
        ({"i": 1.5}, ["copy"]),
        ({"long": "x" * 1000}, ["t2"]),
        ({"k" * 1000: 1}, ["t2"]),
        ({"": "empty"}, ["t1"]),
        ({"a.b": 1, 'q"': "q"}, ["t1"]),
        ({"h": ["x"]}, ["copy"]),
        ({"a": "\ud800"}, ["t2"]),
        ({"\0": 1}, ["t1"]),
    ],
)
def test_a_label_finds_what_the_rule_finds(
    path: Path, wanted: dict[str, Any], found: list[str]
) -> None:
    async def search() -> None:
        await store.setup()
        await use(store)
        for query in (ThreadQuery(metadata=wanted), ThreadQuery(enforced_metadata=wanted)):
            assert [row.thread_id for row in (await store.threads.search(query)).rows] == found
            assert await store.threads.count(query) == len(found)

    database = SqliteDatabase(Address(path))
    store = SqliteResourceStore(database, clock=ManualClock())
    asyncio.run(search())
    database.close()
