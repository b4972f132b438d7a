"""The benchmark measures what it says: the chat is dense and whole, and counts are exact."""

import asyncio
import json
import sqlite3
import sys
import zlib
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from benchmarks import chat, checkpoints, resources
from benchmarks.apart import EntrantApart
from benchmarks.counting import Counter, Counts, counted_connections
from benchmarks.counting_postgres import counted_databases
from benchmarks.entrant import Entrant
from benchmarks.entrants import KINDS, NAMES, OURS_PG, PEER
from benchmarks.tables import Lines
from threadkeep.ports.resources import ResourceStore


def written_by(work: list[tuple[str, tuple[Any, ...]]], path: Path) -> Counts:
    counter = Counter()
    with counted_connections({path: counter}):
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("CREATE TABLE t (k, v)")
        for sql, values in work:
            connection.execute(sql, values)
        connection.close()
    return counter.read()


def test_the_text_of_the_chat_does_not_repeat_itself() -> None:
    texts = [chat.prose(f"result {turn}", chat.RESULT_BYTES) for turn in range(100)]
    assert {len(text.encode()) for text in texts} == {chat.RESULT_BYTES}
    lengths = [len(zlib.compress(text.encode(), 9)) for text in texts]
    assert min(lengths) > 0.45 * chat.RESULT_BYTES
    sentences = [part for text in texts for part in text.split(". ")[1:-1]]
    assert len(set(sentences)) == len(sentences)


def test_a_turn_is_five_checkpoints_and_four_batches_of_writes(tmp_path: Path) -> None:
    entrant = Entrant(KINDS[PEER], str(tmp_path / "x.db"))
    entrant.open()
    for turn in range(3):
        entrant.begin()
        entrant.take_turn(turn)
        figures = entrant.written(1, turn + 1)
        assert figures["puts"] == chat.PUTS_PER_TURN
        assert len(entrant._writes.samples) == chat.WRITES_PER_TURN
    entrant.warm(3)
    with pytest.raises(AssertionError, match="does not give back"):
        entrant.warm(4)
    entrant.close()


@pytest.mark.servers
def test_what_is_bound_on_postgresql_is_counted_once(postgres_url: str) -> None:
    counter = Counter()
    with (
        counted_databases({postgres_url.rpartition("/")[2]: counter}),
        psycopg.connect(postgres_url) as connection,
    ):
        connection.execute("CREATE TABLE t (k bytea, v jsonb)")
        values = {"k": b"k" * 30, "v": Jsonb({"a": 1})}
        connection.execute("INSERT INTO t VALUES (%(k)s, %(v)s)", values)
        insert = "INSERT INTO t SELECT unnest(%s::bytea[])"
        connection.cursor().executemany(insert, [([b"x" * 5, None],), ([b"y"],)])
        connection.execute(b"SELECT k FROM t").fetchall()
    assert counter.read() == Counts(
        handed_bytes=30 + 8 + 5 + 1, payload_bytes=30, statements=2, queries=1
    )


def test_every_value_bound_in_a_transaction_that_writes_is_counted_once(tmp_path: Path) -> None:
    counts = written_by(
        [
            ("BEGIN", ()),
            ("SELECT v FROM t WHERE k = ?", ("four",)),
            ("INSERT INTO t VALUES (?, ?)", (b"k" * 12, b"v" * 100)),
            ("-- a comment\nUPDATE t SET v = ?", (None,)),
            ("COMMIT", ()),
        ],
        tmp_path / "x.db",
    )
    assert counts == Counts(
        handed_bytes=4 + 12 + 100, payload_bytes=100, rows=2, statements=2, transactions=1
    )


def test_reads_are_counted_as_queries_only(tmp_path: Path) -> None:
    reads = [("BEGIN", ()), ("SELECT ?", ("text",)), ("SELECT 1", ()), ("COMMIT", ())]
    assert written_by(reads, tmp_path / "x.db") == Counts(queries=2)


def test_a_statement_of_its_own_is_a_transaction(tmp_path: Path) -> None:
    writes: list[tuple[str, tuple[Any, ...]]] = [("INSERT INTO t VALUES (?, 1)", (7,))] * 2
    counts = written_by(writes, tmp_path / "x.db")
    assert counts == Counts(handed_bytes=16, rows=2, statements=2, transactions=2)


def test_another_database_is_not_counted(tmp_path: Path) -> None:
    counter = Counter()
    with counted_connections({tmp_path / "a.db": counter}):
        connection = sqlite3.connect(tmp_path / "b.db")
        connection.execute("CREATE TABLE t (k)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.close()
    assert counter.read() == Counts()


@pytest.mark.servers
@pytest.mark.timeout(400)
def test_a_quick_run_measures_every_saver_at_every_point(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "lines.jsonl"
    here = [name for name in NAMES if KINDS[name].requirement is None]
    words = [word for name in here for word in ("--only", name)]
    assert checkpoints.main(["--quick", "--out", str(out), *words]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    points = {(line["turn"], line["saver"]) for line in lines if line["turn"]}
    assert points == {(turn, name) for turn in (6, 12, 60) for name in here}
    assert {tuple(line["conditions"]) for line in lines} == {
        (
            *("postgresql", "date", "versions", "python", "sqlite", "system", "cpus", "nice"),
            *("gc", "dont_write_bytecode", "bare_commit_ms", "load", "settings"),
        )
    }
    settings = {line["saver"]: line["conditions"]["settings"] for line in lines}
    assert settings["PostgresSaver"] == "synchronous_commit on, fsync on"
    assert (settings["threadkeep"], settings["SqliteSaver"]) == ("normal", "full")
    assert Lines(lines).value(12, "threadkeep on PostgreSQL", "prune_nothing_queries") == 2
    assert str(tmp_path) not in out.read_text()
    assert "| 60   | get_tuple, fresh saver" in capsys.readouterr().out


def test_an_entrant_in_an_environment_of_its_own_answers_like_one_here(postgres_url: str) -> None:
    apart = EntrantApart(KINDS[OURS_PG], postgres_url, Path(sys.executable))
    apart.open()
    apart.begin()
    for turn in range(2):
        apart.take_turn(turn)
    figures = apart.written(2, 2)
    assert figures["puts"] == chat.PUTS_PER_TURN
    assert 0 < figures["handed_bytes"] < 10_000
    _, queries = apart.cold(2) or (None, 0)
    assert queries <= 3
    with pytest.raises(RuntimeError, match="does not give back"):
        apart.warm(3)
    apart.close()


@pytest.mark.parametrize(
    "database", ["SQLite", pytest.param("PostgreSQL", marks=pytest.mark.servers)]
)
def test_every_question_about_resources_finds_something(database: str, tmp_path: Path) -> None:
    plan = resources.Plan(threads=1_100, runs=3_000, items=1_100, calls=1)

    async def ask(store: ResourceStore) -> dict[str, Any]:
        # About the first row; of those by status, one in 1,000 there is.
        return {name: await each(store, 0) for name, each in resources.QUESTIONS.items()}

    with resources.filled(database, plan, tmp_path) as (driver, _):
        found = asyncio.run(ask(driver.resources()))
    far = found.pop("threads, page 1,000")
    assert (far.rows, far.total) == ([], plan.threads)
    for question, answer in found.items():
        assert getattr(answer, "rows", answer), question


def test_lines_about_resources_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert resources.main(["--scale", "0.001", "--only", "SQLite"]) == 0
    table = capsys.readouterr().out
    assert [name for name in resources.QUESTIONS if f"| {name} " not in table] == []
    assert "300 threads, 1,000 runs, 100 items." in table
