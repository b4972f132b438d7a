"""Which index answers which question for documents on SQLite."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from threadkeep.drivers.sqlite import document_reads
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import SqliteDocumentStore
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    ITEMS,
    WRITES,
    Below,
    Find,
    HasEntry,
    In,
    Is,
    Scope,
)
from threadkeep.testing.builders import address, checkpoint_id

SCOPE = Scope("tests", "agent.v1")
ROOT = Is("checkpoint_ns", "")
KEY = ("", checkpoint_id(1))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(Address(tmp_path_factory.mktemp("plans") / "d.db"))
    SqliteDocumentStore(opened).setup()
    yield opened
    opened.close()


@pytest.fixture
def plans(database: SqliteDatabase) -> "Plans":
    return Plans(database)


class Plans:
    """Asks SQLite how it would answer."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def of(self, find: Find) -> list[str]:
        """Return the steps of a question's plan."""
        asked: list[str] = []
        path: Path = self._database._address.path

        def watch(session: Session) -> None:
            session._connection.set_trace_callback(asked.append)
            document_reads.find(session, SCOPE, find)
            session._connection.set_trace_callback(None)

        self._database.read_now(watch)
        (statement,) = [text for text in asked if text.startswith("SELECT")]
        connection = sqlite3.connect(path)
        connection.create_function("has_entry", 3, lambda *_: True, deterministic=True)
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        connection.close()
        return steps


SEEKS = {
    "newest of a namespace": (
        Find(CHECKPOINTS, "t", [ROOT], newest_first=True, limit=1),
        "SEARCH d USING PRIMARY KEY (tid=? AND ns=?)",
    ),
    "newest before another": (
        Find(CHECKPOINTS, "t", [ROOT, Below("checkpoint_id", checkpoint_id(1))], newest_first=True),
        "SEARCH d USING PRIMARY KEY (tid=? AND ns=? AND id<?)",
    ),
    "next page of a namespace": (
        Find(CHECKPOINTS, "t", [ROOT], newest_first=True, after=("t", KEY)),
        "SEARCH d USING PRIMARY KEY (tid=? AND ns=? AND id<?)",
    ),
    "one checkpoint": (
        Find(CHECKPOINTS, "t", [ROOT, Is("checkpoint_id", checkpoint_id(1))], newest_first=True),
        "SEARCH d USING PRIMARY KEY (tid=? AND ns=? AND id=?)",
    ),
    "several checkpoints": (
        Find(CHECKPOINTS, "t", [ROOT, In("checkpoint_id", [checkpoint_id(1), checkpoint_id(2)])]),
        "SEARCH d USING PRIMARY KEY (tid=? AND ns=? AND id=?)",
    ),
    "a thread's next page": (
        Find(CHECKPOINTS, "t", after=("t", KEY)),
        "SEARCH d USING PRIMARY KEY (tid=? AND (ns,id)>(?,?) AND ns<?)",
    ),
    "a thread's next writes": (
        Find(WRITES, "t", after=("t", (*KEY, "task", 0))),
        "SEARCH d USING PRIMARY KEY (tid=? AND (ns,id,task,part)>(?,?,?,?) AND ns<?)",
    ),
    "a thread's next items": (
        Find(ITEMS, "t", after=("t", (address(1),))),
        "SEARCH d USING INDEX documents_by_ref (tid=? AND ref>?)",
    ),
    "all checkpoints of a scope": (
        Find(CHECKPOINTS),
        "SEARCH d USING PRIMARY KEY (tid=? AND ns<?)",
    ),
    "an entry of a thread": (
        Find(BLOBS, "t", [HasEntry("metadata", "run_id", '"r"')]),
        "SEARCH m USING PRIMARY KEY (tid=?)",
    ),
    "an entry of a scope": (
        Find(BLOBS, None, [HasEntry("metadata", "run_id", '"r"')]),
        "SEARCH m USING PRIMARY KEY (tid=?)",
    ),
}


@pytest.mark.parametrize(("find", "step"), SEEKS.values(), ids=SEEKS)
def test_an_index_finds_it_and_has_its_order(plans: Plans, find: Find, step: str) -> None:
    steps = plans.of(find)
    assert step in steps
    assert not [each for each in steps if "TEMP B-TREE" in each or each.startswith("SCAN")]


def test_a_newest_page_over_namespaces_is_sorted_without_its_bodies(plans: Plans) -> None:
    steps = plans.of(Find(CHECKPOINTS, "t", newest_first=True))
    assert "SEARCH d USING PRIMARY KEY (tid=? AND ns<?)" in steps
    assert "USE TEMP B-TREE FOR ORDER BY" in steps


def test_the_newest_of_a_namespace_comes_with_its_writes_in_one_statement(plans: Plans) -> None:
    steps = plans.of(Find(CHECKPOINTS, "t", [ROOT], newest_first=True, limit=1, children=WRITES))
    assert "SEARCH d USING PRIMARY KEY (tid=? AND ns=?)" in steps
    assert "SEARCH w USING PRIMARY KEY (tid=? AND ns=? AND id=?) LEFT-JOIN" in steps
    assert not [each for each in steps if each.startswith(("SCAN d", "SCAN t", "SCAN w"))]
