"""The app below a path, of another app or of its own: its answers lead back to itself."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp

from tests.integration.http_graphs import graphs
from threadkeep import create_app

pytestmark = pytest.mark.anyio

MODULE = 'from tests.integration.http_graphs import graphs\n\ngraph = graphs()["echo"]\n'
INPUT = {"tag": "a"}
VALUES = {"log": ["echo:a"], "tag": "a"}


def write_project(folder: Path) -> Path:
    (folder / "agent.py").write_text(MODULE)
    file = folder / "langgraph.json"
    served = {"graphs": {"echo": "./agent.py:graph"}, "http": {"mount_prefix": "/agents"}}
    file.write_text(json.dumps(served))
    return file


@pytest.fixture(params=["mounted in another app", "with a prefix of its own"])
async def http(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    if request.param == "mounted in another app":
        app = create_app(graphs=graphs(), database="memory://")
        outer: ASGIApp = Starlette(routes=[Mount("/agents", app)])
    else:
        outer = app = create_app(config=write_project(tmp_path), database="memory://")
    transport = httpx.ASGITransport(outer)
    async with httpx.AsyncClient(transport=transport, base_url="http://test/agents") as client:
        yield client
    await app.close()


async def test_an_answer_leads_back_below_the_path(http: httpx.AsyncClient) -> None:
    thread_id = (await http.post("/threads", json={})).json()["thread_id"]
    body = {"assistant_id": "echo", "input": INPUT}
    answer = await http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert answer.json() == VALUES
    place = answer.headers["content-location"]
    assert place.startswith(f"/threads/{thread_id}/runs/")
    assert answer.headers["location"] == f"{place}/join"
    joined = await http.get(answer.headers["location"])
    assert joined.json() == VALUES


async def test_langgraphs_client_finds_all_that_it_asks_for(http: httpx.AsyncClient) -> None:
    asked: list[tuple[str, int]] = []

    async def note(response: httpx.Response) -> None:
        asked.append((response.request.url.path, response.status_code))

    http.event_hooks["response"].append(note)
    client = LangGraphClient(http)
    thread_id = (await client.threads.create())["thread_id"]
    parts = [part async for part in client.runs.stream(thread_id, "echo", input=INPUT)]
    assert parts[-1].data == VALUES
    # It asks once more whether the run has ended, at the path of `Location`.
    run = f"/agents/threads/{thread_id}/runs/{parts[0].data['run_id']}"
    assert (run, 200) in asked
    assert {status for _, status in asked} == {200}


async def test_an_unknown_route_below_it_is_json(http: httpx.AsyncClient) -> None:
    answer = await http.get("/nope")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
