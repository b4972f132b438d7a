"""The saver that ``checkpointer.path`` of langgraph.json names is the server's, or refused."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.http_server import serve_plan
from threadkeep.config.langgraph_json import read_project
from threadkeep.config.settings import Settings
from threadkeep.errors import ConfigError
from threadkeep.wiring import Plan, open_runtime

GRAPH = """
from langgraph.graph import MessagesState, StateGraph, START

def answer(state):
    return {"messages": [("ai", "hello")]}

graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
"""
SAVERS = """
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

ready = InMemorySaver()
log = Path(__file__).with_name("log.txt")

def made():
    return InMemorySaver()

@asynccontextmanager
async def opened():
    log.write_text("opened")
    yield ready
    log.write_text("closed")

class Partial(BaseCheckpointSaver):
    async def aget_tuple(self, config):
        return None

partial = Partial()
nothing = 5

def broken():
    raise ValueError("no such database")
"""


def plan(folder: Path, checkpointer: Any) -> Plan:
    (folder / "graph_of_saver.py").write_text(GRAPH)
    (folder / "savers_of_test.py").write_text(SAVERS)
    file = folder / "langgraph.json"
    graphs = {"chat": "./graph_of_saver.py:graph"}
    file.write_text(json.dumps({"graphs": graphs, "checkpointer": checkpointer}))
    settings = Settings(database_url=f"sqlite:///{folder / 'threadkeep.db'}")
    return Plan(settings, project=read_project(file))


@pytest.mark.parametrize("name", ["ready", "made", "opened"])
def test_conversations_are_kept_by_the_saver_that_is_named(tmp_path: Path, name: str) -> None:
    asked = plan(tmp_path, {"path": f"./savers_of_test.py:{name}"})
    with serve_plan(asked) as url, httpx.Client(base_url=url, timeout=30) as http:
        thread_id = http.post("/threads", json={}).json()["thread_id"]
        body = {"assistant_id": "chat", "input": {"messages": [["user", "hi"]]}}
        for _ in range(2):
            answer = http.post(f"/threads/{thread_id}/runs/wait", json=body)
            assert answer.status_code == 200
        values = http.get(f"/threads/{thread_id}/state").json()["values"]
        assert len(values["messages"]) == 4
        if name == "opened":
            assert (tmp_path / "log.txt").read_text() == "opened"
    if name == "opened":
        assert (tmp_path / "log.txt").read_text() == "closed"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("partial", "Partial has no alist, aput, aput_writes, adelete_thread"),
        ("nothing", "a int; expected a BaseCheckpointSaver"),
        ("absent", "has no 'absent'"),
        ("broken", "cannot be opened: ValueError: no such database"),
    ],
)
async def test_what_cannot_serve_is_refused_at_the_start(
    tmp_path: Path, name: str, says: str
) -> None:
    asked = plan(tmp_path, {"path": f"./savers_of_test.py:{name}"})
    with pytest.raises(ConfigError) as caught:
        async with open_runtime(asked):
            pass
    assert str(caught.value).startswith("langgraph.json: checkpointer.path: ")
    assert says in str(caught.value)
