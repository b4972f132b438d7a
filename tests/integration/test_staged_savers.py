"""A staged saver: its writes return at once, are seen at once, and are durable after a flush."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from benchmarks import chat
from threadkeep import DocumentCheckpointSaver
from threadkeep.checkpoints.writes import NULL_TASK
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import AsyncSqliteDocumentStore, SqliteDocumentStore
from threadkeep.errors import NotFoundError, UnavailableError
from threadkeep.testing.saver_steps import checkpoint, config

pytestmark = pytest.mark.anyio


async def test_a_run_on_a_staged_saver_is_there_after_the_flush(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    async with DocumentCheckpointSaver.from_url(url) as saver:
        staged = saver.staged()
        graph = chat.build(staged)
        for turn in range(5):
            await graph.ainvoke(chat.turn_input(turn), config("t"), durability="async")
        seen = await saver.aget_tuple(config("t"))  # the same process sees what is staged
        await staged.flush()
        await saver.flush()
    async with DocumentCheckpointSaver.from_url(url) as again:
        found = await again.aget_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == chat.history(5)
    assert seen is not None
    assert seen.checkpoint["id"] == found.checkpoint["id"]


async def test_staged_writes_of_one_task_are_those_of_its_first_attempt(tmp_path: Path) -> None:
    async with DocumentCheckpointSaver.from_url(f"sqlite:///{tmp_path}/s.db") as saver:
        staged = saver.staged()
        made = checkpoint({"m": [1]}, {"m": 1})
        at = await staged.aput(config("t"), made, {"source": "loop"}, {"m": 1})
        for task in ("task", NULL_TASK):
            await staged.aput_writes(at, [("m", "first")], task)
            await staged.aput_writes(at, [("m", "other"), ("m", "more")], task)
        await staged.flush()
        found = await saver.aget_tuple(at)
    assert found is not None
    written = [(task, value) for task, _, value in found.pending_writes or ()]
    assert written == [(NULL_TASK, "first"), (NULL_TASK, "more"), ("task", "first")]


async def test_a_flush_tells_of_a_thread_that_was_deleted_meanwhile(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    async with (
        DocumentCheckpointSaver.from_url(url) as saver,
        DocumentCheckpointSaver.from_url(url) as other,
    ):
        staged = saver.staged()
        values: dict[str, Any] = {"m": [HumanMessage("x" * 99)]}
        at = await staged.aput(config("t"), checkpoint(values, {"m": 1}), {}, {"m": 1})
        await staged.flush()
        await other.adelete_thread("t")
        await staged.aput(at, checkpoint(values, {"m": 1}), {}, {})
        with pytest.raises(NotFoundError):
            await staged.flush()
        assert await saver.aget_tuple(config("t")) is None


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[DocumentCheckpointSaver]:
    """Return a saver that gives a lock of another process up at once."""
    database = SqliteDatabase(Address(tmp_path / "s.db"), wait_seconds=0.05)
    with closing(database):
        saver = DocumentCheckpointSaver(
            SqliteDocumentStore(database), async_documents=AsyncSqliteDocumentStore(database)
        )
        saver.setup()
        yield saver


async def lose(saver: DocumentCheckpointSaver, tmp_path: Path, work: Awaitable[Any]) -> None:
    """Let what is staged meet a lock that is held too long."""
    with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await work
        await saver.aget_tuple(config("t"))  # the read commits what was staged before it
        other.execute("ROLLBACK")


@pytest.mark.parametrize("size", [90, 3_000_000])
async def test_nothing_that_follows_a_lost_batch_is_written(
    impatient: DocumentCheckpointSaver, tmp_path: Path, size: int
) -> None:
    old, new = HumanMessage("a" * 90), HumanMessage("".join(map(chr, range(200, 200 + size % 999))))
    large = "".join(chr(33 + (number * number) % 9000) for number in range(size))
    staged = impatient.staged()
    made = checkpoint({"m": [old]}, {"m": 1})
    head = await staged.aput(config("t"), made, {"source": "input"}, {"m": 1})
    await staged.flush()
    await lose(impatient, tmp_path, staged.aput_writes(head, [("m", [new]), ("s", large)], "task"))
    made = checkpoint({"m": [old, new], "s": large}, {"m": 2, "s": 2})
    with pytest.raises(UnavailableError):
        await staged.aput(head, made, {"source": "loop"}, {"m": 2, "s": 2})
    with pytest.raises(UnavailableError):
        await staged.flush()
    for reader in (impatient, DocumentCheckpointSaver(impatient._documents)):
        found = await reader.aget_tuple(config("t"))
        assert found is not None
        assert (found.config, found.pending_writes) == (head, [])


async def test_what_was_lost_is_not_taken_for_stored_by_another_run(
    impatient: DocumentCheckpointSaver, tmp_path: Path
) -> None:
    old, new = HumanMessage("a" * 90), HumanMessage("b" * 90)
    made = checkpoint({"m": [old]}, {"m": 1})
    head = await impatient.aput(config("t"), made, {"source": "input"}, {"m": 1})
    staged = impatient.staged()
    await lose(impatient, tmp_path, staged.aput_writes(head, [("m", [new])], "task"))
    with pytest.raises(UnavailableError):
        await staged.flush()
    made = checkpoint({"m": [old, new]}, {"m": 2})
    await impatient.aput(head, made, {"source": "loop"}, {"m": 2})
    found = await DocumentCheckpointSaver(impatient._documents).aget_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"m": [old, new]}


async def test_a_saver_without_staging_is_its_own_view() -> None:
    with DocumentCheckpointSaver.from_url("memory://") as opened:
        saver = DocumentCheckpointSaver(opened._documents)
        staged = saver.staged()
        made = checkpoint({"m": [1]}, {"m": 1})
        await staged.aput(config("t"), made, {"source": "loop"}, {"m": 1})
        await staged.flush()
        assert await asyncio.to_thread(saver.get_tuple, config("t")) is not None
