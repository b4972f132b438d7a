"""The app inside another one: what it tells clients leads back to where it is mounted."""

from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.integration.http_graphs import graphs
from threadkeep import create_app

pytestmark = pytest.mark.anyio


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(graphs=graphs(), database="memory://")
    host = Starlette(routes=[Mount("/agents", app)])
    transport = httpx.ASGITransport(host)
    async with httpx.AsyncClient(transport=transport, base_url="http://test/agents") as client:
        yield client
    await app.close()


async def test_an_answer_leads_back_to_where_the_app_is_mounted(http: httpx.AsyncClient) -> None:
    thread_id = (await http.post("/threads", json={})).json()["thread_id"]
    body = {"assistant_id": "echo", "input": {"tag": "a"}}
    answer = await http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert answer.json() == {"log": ["echo:a"], "tag": "a"}
    place = answer.headers["content-location"]
    assert place.startswith(f"/agents/threads/{thread_id}/runs/")
    assert answer.headers["location"] == f"{place}/join"
    joined = await http.get(f"http://test{answer.headers['location']}")
    assert joined.json() == answer.json()


async def test_an_unknown_route_below_it_is_json(http: httpx.AsyncClient) -> None:
    answer = await http.get("/nope")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
