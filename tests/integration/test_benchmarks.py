"""The benchmark measures what it says: the chat is dense and whole, and counts are exact."""

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import chat, checkpoints
from benchmarks.counting import Counter, Counts, counted_connections
from benchmarks.entrants import NAMES, PEER, Entrant


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
    entrant = Entrant(PEER, tmp_path)
    entrant.open()
    for turn in range(3):
        entrant.forget_times()
        entrant.take_turn(turn)
        assert len(entrant.puts.seconds) == chat.PUTS_PER_TURN
        assert len(entrant.writes.seconds) == chat.WRITES_PER_TURN
    found = entrant.saver.get_tuple(entrant.config)
    entrant.close()
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == chat.history(3)


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


@pytest.mark.timeout(300)
def test_a_quick_run_measures_every_saver_at_every_point(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "lines.jsonl"
    assert checkpoints.main(["--quick", "--out", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    points = {(line["turn"], line["saver"]) for line in lines}
    assert points == {(turn, name) for turn in (6, 12, 60) for name in NAMES}
    assert {tuple(line["conditions"]) for line in lines} == {
        (
            *("date", "versions", "python", "sqlite", "system", "cpus", "nice", "gc"),
            *("dont_write_bytecode", "bare_commit_ms", "load", "synchronous"),
        )
    }
    assert str(tmp_path) not in out.read_text()
    assert "| 60   | get_tuple, fresh saver" in capsys.readouterr().out
