"""Graphs that others wrote, from the package index, with a scripted model."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, body, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from tests.integration.models import ScriptedModel, call
from threadkeep.model.requests import RunRequest

__all__ = ["backend"]
pytestmark = pytest.mark.anyio


@tool
def weather(city: str) -> str:
    """Say what the weather is."""
    return f"sunny in {city}"


def agent(name: str = "agent", *, script: list[AIMessage] | None = None, tools: Any = ()) -> Any:
    script = script or [call("weather", city="Bern"), AIMessage("It is sunny.")]
    return create_react_agent(ScriptedModel(script=script), [weather, *tools], name=name)


def supervisor() -> Any:
    script = [call("transfer_to_agent"), AIMessage("The agent says it is sunny.")]
    workers = [agent()]
    return create_supervisor(workers, model=ScriptedModel(script=script)).compile()


def swarm() -> Any:
    to_bob = create_handoff_tool(agent_name="bob")
    alice = agent("alice", script=[call("transfer_to_bob")], tools=[to_bob])
    bob = agent("bob", script=[AIMessage("Bob here.")])
    return create_swarm([alice, bob], default_active_agent="alice").compile()


GRAPHS = {"agent": agent(), "supervisor": supervisor(), "swarm": swarm()}


@pytest.fixture
async def site(backend: Backend) -> AsyncIterator[Deployment]:
    async with deployed(GRAPHS, backend.resources, backend.saver, store_on(backend)) as running:
        yield running


async def test_an_agent_calls_its_tool(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("agent", thread_id, input=made.ALICE))
    said = [message["content"] for message in body(result)["messages"]]
    assert said == ["I am Alice", "", "sunny in Bern", "It is sunny."]


async def test_a_supervisor_hands_over_and_gets_back(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("supervisor", thread_id, input=made.ALICE))
    assert result.run.error is None
    assert body(result)["messages"][-1]["content"] == "The agent says it is sunny."


async def test_a_swarm_remembers_who_is_active(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("swarm", thread_id, input=made.ALICE))
    assert body(result)["messages"][-1]["content"] == "Bob here."
    again = await site.runs.wait(RunRequest("swarm", thread_id, input=made.ALICE))
    assert body(again)["active_agent"] == "bob"
