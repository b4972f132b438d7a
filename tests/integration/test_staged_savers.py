"""A staged saver: its writes return at once, are seen at once, and are durable after a flush."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from benchmarks import chat
from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import NotFoundError
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


async def test_staged_writes_of_one_task_add_up(tmp_path: Path) -> None:
    async with DocumentCheckpointSaver.from_url(f"sqlite:///{tmp_path}/s.db") as saver:
        staged = saver.staged()
        made = checkpoint({"m": [1]}, {"m": 1})
        at = await staged.aput(config("t"), made, {"source": "loop"}, {"m": 1})
        await staged.aput_writes(at, [("m", "first")], "task")
        await staged.aput_writes(at, [("m", "other"), ("m", "more")], "task")
        await staged.flush()
        found = await saver.aget_tuple(at)
    assert found is not None
    assert [value for _, _, value in found.pending_writes or ()] == ["first", "more"]


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


async def test_a_saver_without_staging_is_its_own_view() -> None:
    with DocumentCheckpointSaver.from_url("memory://") as opened:
        saver = DocumentCheckpointSaver(opened._documents)
        staged = saver.staged()
        made = checkpoint({"m": [1]}, {"m": 1})
        await staged.aput(config("t"), made, {"source": "loop"}, {"m": 1})
        await staged.flush()
        assert await asyncio.to_thread(saver.get_tuple, config("t")) is not None
