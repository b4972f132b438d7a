"""The example of long-term memory remembers across threads, and keeps users apart."""

from typing import Any

import pytest

from examples.memory.graph import graph
from tests.architecture.tree import ROOT
from threadkeep.config.langgraph_json import read_project
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.savers.store import ItemStore

FOLDER = ROOT / "examples" / "memory"


@pytest.mark.anyio
async def test_what_one_thread_is_told_another_one_knows() -> None:
    index = read_project(FOLDER / "langgraph.json").item_index
    graph.store = ItemStore(MemoryResourceStore(), index=index)
    async with DocumentCheckpointSaver.from_url("memory://") as saver:
        graph.checkpointer = saver

        async def say(thread: str, user: str, text: str) -> str:
            config: Any = {"configurable": {"thread_id": thread, "user_id": user}}
            given: Any = {"messages": [("user", text)]}
            state = await graph.ainvoke(given, config)
            return str(state["messages"][-1].content)

        assert await say("1", "ada", "My name is Ada") == "Ada, noted."
        assert await say("1", "ada", "I drink green tea in the morning") == "Ada, noted."
        await say("1", "ada", "My dog is called Rex")
        answer = await say("2", "ada", "What do I like to drink?")
        assert answer.startswith("Ada, you told me: I drink green tea in the morning")
        answer = await say("3", "bela", "What do I like to drink?")
        assert answer == "you told me: nothing about that yet"
    graph.store = graph.checkpointer = None
