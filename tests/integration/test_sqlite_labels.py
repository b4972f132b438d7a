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
from threadkeep.model.items import ItemQuery
from threadkeep.model.queries import RunQuery, ThreadQuery
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


def check_labels(connection: sqlite3.Connection, rows: str, labels: str) -> None:
    """Compare the labels of rows without odd text with what is in them."""
    for row, text in connection.execute(rows).fetchall():
        found = set(connection.execute(labels, [row]))
        if not text.startswith(" ") and "\\u0000" not in text:
            assert found == labels_of(decode_json(text)), text


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
        check_labels(
            connection,
            "SELECT position, metadata FROM runs",
            "SELECT label_key, label_value FROM run_labels WHERE label_position = ?",
        )
        check_labels(
            connection,
            "SELECT item_id, value FROM items",
            "SELECT label_key, label_value FROM item_labels WHERE label_item = ?",
        )
        for orphans in (
            "SELECT count(*) FROM run_labels WHERE (label_at, label_position) "
            "NOT IN (SELECT created_at, position FROM runs)",
            "SELECT count(*) FROM item_labels WHERE (label_path, label_item) "
            "NOT IN (SELECT path, item_id FROM items)",
        ):
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
        new = NewRun(
            f"r{number}",
            f"t{number}",
            "a",
            {},
            metadata=ODD[number],
            thread_metadata={"graph_id": "g"},
        )
        await store.runs.admit(new, claim=OWNER if number % 2 else None)
        await store.items.put(("n", str(number)), "k", ODD[number])
        await store.items.put(("n", str(number)), "gone", ODD[number], ttl_minutes=5)
        await store.runs.admit(
            NewRun(f"s{number}", f"t{number}", "a", {}, multitask_strategy="rollback"), claim=None
        )
    await store.runs.settle("r1", fence=1, outcome=Outcome("success"), state=None)
    await store.runs.request_cancel("s2", "rollback")
    await store.runs.request_cancel("s3", "interrupt")
    await store.runs.claim(OWNER, limit=1)
    await store.threads.delete("t0")
    await store.runs.delete("r3")
    await store.runs.admit(NewRun("last", "copy", "a", {}, metadata=ODD[2]), claim=None)
    await store.items.put(("n", "0"), "k", {"a": "z", "c": True, "i": 1.5, "rank": 7})
    await store.items.put(("n", "1"), "k", ODD[1])
    await store.items.delete(("n", "2"), "gone")


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
            "DROP TABLE run_labels",
            "DROP TABLE item_labels",
            "DROP TABLE resource_totals",
            "DROP INDEX runs_of_status",
            "DROP INDEX runs_of_assistant",
            "DROP INDEX document_nodes",
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
def test_a_label_of_a_thread_finds_what_the_rule_finds(
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


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": "x"}, []),
        ({"b": 1}, ["last"]),
        ({"b": 1.0}, ["last"]),
        ({"b": True}, []),
        ({"c": "1", "": "empty"}, ["r1"]),
        ({"c": 1}, []),
        ({"b": 2**70}, ["r1"]),
        ({"long": "x" * 1000, "b": 1}, ["last"]),
        ({"a": "\ud800"}, ["last"]),
        ({"\0": 1}, ["r1"]),
        ({"absent": "x"}, []),
    ],
)
def test_a_label_of_a_run_finds_what_the_rule_finds(
    path: Path, wanted: dict[str, Any], found: list[str]
) -> None:
    async def search() -> None:
        await store.setup()
        await use(store)
        for query in (
            RunQuery(metadata=wanted),
            RunQuery(metadata=wanted, assistant_id="a"),
            RunQuery(metadata=wanted, statuses=["pending", "success", "running", "interrupted"]),
        ):
            assert [row.run_id for row in (await store.runs.search(query)).rows] == found
            assert await store.runs.count(query) == len(found)

    database = SqliteDatabase(Address(path))
    store = SqliteResourceStore(database, clock=ManualClock())
    asyncio.run(search())
    database.close()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": "z"}, ["0/k"]),
        ({"a": "x"}, ["0/gone"]),
        ({"a": {"$in": ["z", "x"]}}, ["0/gone", "0/k"]),
        ({"a": {"$in": ["z", None]}}, ["0/k"]),
        ({"a": {"$in": []}}, []),
        ({"c": True}, ["0/gone", "0/k"]),
        ({"c": {"$in": [True, "1"]}}, ["0/gone", "0/k", "1/gone", "1/k"]),
        ({"c": 1}, []),
        ({"b": {"$eq": 1}}, ["0/gone", "2/k"]),
        ({"b": {"$gt": 1}}, ["1/gone", "1/k"]),
        ({"b": {"$gte": 2**70}}, ["1/gone", "1/k"]),
        ({"b": {"$gte": 1, "$lt": 2.5}}, ["0/gone", "2/k"]),
        ({"i": {"$lte": 1.5}}, ["0/gone", "0/k"]),
        ({"i": {"$lt": 1.5}}, []),
        ({"i": {"$gt": 1.4999999999999998}}, ["0/gone", "0/k"]),
        ({"i": 1.5, "rank": {"$gte": 7}}, ["0/k"]),
        ({"a": {"$gt": 0}}, []),
        ({"b": 2**70}, ["1/gone", "1/k"]),
        ({"long": "x" * 1000}, ["2/k"]),
        ({"a": "\ud800"}, ["2/k"]),
        ({"\0": 1}, ["1/gone", "1/k"]),
        ({"a.b": 1, 'q"': "q"}, ["1/gone", "1/k"]),
    ],
)
def test_a_label_of_an_item_finds_what_the_rule_finds(
    path: Path, wanted: dict[str, Any], found: list[str]
) -> None:
    async def search() -> None:
        await store.setup()
        await use(store)
        for prefix in ((), ("n",), ("n", "0")):
            rows = (await store.items.search(ItemQuery(prefix, wanted))).rows
            expected = [each for each in found if prefix != ("n", "0") or each.startswith("0")]
            assert sorted(f"{row.namespace[1]}/{row.key}" for row in rows) == expected

    database = SqliteDatabase(Address(path))
    store = SqliteResourceStore(database, clock=ManualClock())
    asyncio.run(search())
    database.close()
