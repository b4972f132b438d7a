"""Who calls reaches the graph and the code around it, and nothing else that is kept or shown."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from tests.integration.deployment import Deployment, body, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from threadkeep.model.identity import USER, current_user
from threadkeep.model.requests import RunRequest

__all__ = ["backend"]
pytestmark = pytest.mark.anyio

ALICE = {"identity": "alice", "permissions": ["read"], "api_token": "hidden-1"}


class Seen(TypedDict, total=False):
    configured: Any
    surrounding: Any


def looking() -> Any:
    def look(state: Seen, config: RunnableConfig) -> Seen:
        user = current_user.get()
        return {
            "configured": (config["configurable"].get(USER) or {}).get("identity"),
            "surrounding": user and user["identity"],
        }

    return StateGraph(Seen).add_node("look", look).add_edge(START, "look").add_edge("look", END)


@pytest.fixture
async def site(backend: Backend) -> AsyncIterator[Deployment]:
    given = {"looking": looking()}
    async with deployed(given, backend.resources, backend.saver, store_on(backend)) as running:
        yield running


async def test_a_run_acts_as_who_made_it(site: Deployment) -> None:
    thread_id = await site.new_thread("t")
    token = current_user.set(ALICE)
    try:
        result = await site.runs.wait(RunRequest("looking", thread_id, input={"configured": ""}))
    finally:
        current_user.reset(token)
    assert body(result) == {"configured": "alice", "surrounding": "alice"}
    row = await site.resources.runs.get(result.run.run_id)
    assert "hidden-1" not in repr(row)
    assert "hidden-1" not in repr(await site.state("looking", thread_id))
    assert "hidden-1" not in repr(await site.thread(thread_id))


async def test_nobody_can_say_who_they_are(site: Deployment) -> None:
    thread_id = await site.new_thread("t")
    forged = {"configurable": {USER: {"identity": "root"}}}
    request = RunRequest("looking", thread_id, input={"configured": ""}, config=forged)
    assert body(await site.runs.wait(request)) == {"configured": None, "surrounding": None}
