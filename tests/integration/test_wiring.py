"""The composition root: apps made from graphs or a file, alone or mounted, on one database."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp
from typing_extensions import TypedDict

import threadkeep
from tests.acceptance.dev import eventually
from threadkeep import create_app, create_checkpointer
from threadkeep.background.sweepers import sweep
from threadkeep.config.langgraph_json import read_project
from threadkeep.config.settings import Settings
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.errors import ConfigError
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.server.entrance import Entrance
from threadkeep.wiring import Plan, open_runtime

pytestmark = pytest.mark.anyio

MODULE = """
from typing_extensions import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    text: str

def node(state: State) -> State:
    return {"text": "WORD " + state["text"]}

graph = StateGraph(State).add_node("node", node).add_edge(START, "node")
"""


class State(TypedDict):
    text: str


def shout(state: State) -> State:
    get_store().put(("said",), state["text"], {"text": state["text"]})
    return {"text": state["text"].upper()}


GRAPH = StateGraph(State).add_node("shout", shout).add_edge(START, "shout").compile()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("THREADKEEP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", "memory://")


@asynccontextmanager
async def client(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=30) as http:
        yield http


async def answer(http: httpx.AsyncClient, graph_id: str = "shout", prefix: str = "") -> Any:
    body = {"assistant_id": graph_id, "input": {"text": "a"}}
    answered = await http.post(f"{prefix}/runs/wait", json=body)
    return answered.json()


async def test_an_app_serves_graphs_given_in_code() -> None:
    app = create_app(graphs={"shout": GRAPH}, max_page_size=1)
    async with app.lifespan(), client(app) as http:
        assert await answer(http) == {"text": "A"}
        item = (await http.get("/store/items", params={"namespace": "said", "key": "a"})).json()
        assert item["value"] == {"text": "a"}
        for _ in range(2):
            await http.post("/threads", json={})
        page = await http.post("/threads/search", json={"limit": 10})
        assert len(page.json()) == 1
        assert page.headers["X-Pagination-Total"] == "2"


async def test_a_mounted_app_opens_at_its_first_request() -> None:
    app = create_app(graphs={"shout": GRAPH})
    async with client(Starlette(routes=[Mount("/agents", app)])) as http:
        assert await answer(http, prefix="/agents") == {"text": "A"}
    await app.close()


async def test_a_host_passes_its_lifespan_on() -> None:
    app = create_app(graphs={"shout": GRAPH})
    host = Starlette(routes=[Mount("/agents", app)], lifespan=app.lifespan)
    async with host.router.lifespan_context(host), client(host) as http:
        assert await answer(http, prefix="/agents") == {"text": "A"}


async def test_a_saver_and_a_store_given_in_code_are_used() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    app = create_app(graphs={"shout": GRAPH}, checkpointer=saver, store=store)
    async with app.lifespan(), client(app) as http:
        thread_id = (await http.post("/threads", json={})).json()["thread_id"]
        body = {"assistant_id": "shout", "input": {"text": "b"}}
        await http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert saver.get({"configurable": {"thread_id": thread_id}}) is not None
    assert store.get(("said",), "b") is not None


async def test_a_graph_module_that_asks_for_a_checkpointer_gets_the_servers() -> None:
    app = create_app(graphs={"shout": GRAPH})
    async with app.lifespan():
        assert isinstance(create_checkpointer(), DocumentCheckpointSaver)


async def test_words_that_make_no_app_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="graphs="):
        create_app()
    with pytest.raises(ConfigError, match="graphs="):
        create_app(graphs={"shout": GRAPH}, config=tmp_path / "langgraph.json")
    with pytest.raises(ConfigError, match="auth"):
        await create_app(graphs={"shout": GRAPH}, database="memory://", auth=object()).open()
    for size in (0, -1):
        with pytest.raises(ConfigError, match="MAX_PAGE_SIZE"):
            create_app(graphs={"shout": GRAPH}, max_page_size=size)
    with pytest.raises(ConfigError, match="no driver serves"):
        await create_app(graphs={"shout": GRAPH}, database="mysql://x").open()
    assert threadkeep.create_app is create_app


def write_project(folder: Path, **keys: Any) -> Path:
    (folder / "agent.py").write_text(MODULE)
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": {"agent": "./agent.py:graph"}} | keys))
    return file


async def test_a_file_is_served_with_its_prefix_environment_and_cors(tmp_path: Path) -> None:
    http_keys = {"mount_prefix": "/agents", "cors": {"allow_origins": ["https://here"]}}
    file = write_project(tmp_path, http=http_keys, env={"FROM_THE_PROJECT": "1"})
    app = create_app(config=file)
    try:
        assert os.environ["FROM_THE_PROJECT"] == "1"
    finally:
        del os.environ["FROM_THE_PROJECT"]
    async with app.lifespan(), client(app) as http:
        assert await answer(http, "agent", "/agents") == {"text": "WORD a"}
        assert (await http.get("/ok")).status_code == 200
        outside = await http.post("/threads/search", json={})
        assert (outside.status_code, outside.json()["status"]) == (404, 404)
        assert "/agents" in outside.json()["detail"]
        for origin, allowed in [("https://here", True), ("https://there", False)]:
            got = await http.get("/agents/info", headers={"Origin": origin})
            assert ("access-control-allow-origin" in got.headers) is allowed


async def test_graphs_are_replaced_while_everything_stored_stays(tmp_path: Path) -> None:
    file = write_project(tmp_path)
    settled: list[tuple[str, bool]] = []
    plan = Plan(Settings("memory://"), read_project(file))

    def on_graph(graph_id: str, seconds: float, error: Exception | None) -> None:
        settled.append((graph_id, error is None))

    async with open_runtime(plan, on_graph=on_graph) as runtime, client(runtime.app) as http:
        assert await answer(http, "agent") == {"text": "WORD a"}
        await http.put("/store/items", json={"namespace": ["n"], "key": "k", "value": {}})
        (tmp_path / "agent.py").write_text(MODULE.replace("WORD", "TERM"))
        (tmp_path / "other.py").write_text(MODULE)
        graphs = {"agent": "./agent.py:graph", "other": "./other.py:graph", "bad": "./no.py:g"}
        file.write_text(json.dumps({"graphs": graphs}))
        await runtime.reload(read_project(file), [tmp_path / "agent.py"])
        assert await answer(http, "agent") == {"text": "TERM a"}
        assert await answer(http, "other") == {"text": "WORD a"}
        assert "no such file" in json.dumps(await answer(http, "bad"))
        kept = await http.get("/store/items", params={"namespace": "n", "key": "k"})
        assert kept.status_code == 200
    assert settled == [("agent", True), ("agent", True), ("other", True), ("bad", False)]


PATIENT = """
import asyncio
from pathlib import Path
from typing_extensions import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    text: str

async def node(state: State) -> State:
    Path(__file__).with_name("begun").touch()
    while not Path(__file__).with_name("go").exists():
        await asyncio.sleep(0.005)
    return {"text": "OLD " + state["text"]}

graph = StateGraph(State).add_node("node", node).add_edge(START, "node")
"""


async def test_a_run_under_way_ends_with_the_code_it_began_with(tmp_path: Path) -> None:
    file = write_project(tmp_path)
    (tmp_path / "agent.py").write_text(PATIENT)
    plan = Plan(Settings("memory://"), read_project(file))
    async with open_runtime(plan) as runtime, client(runtime.app) as http:
        first = asyncio.create_task(answer(http, "agent"))
        await asyncio.to_thread(eventually, (tmp_path / "begun").exists, wanted=True)
        (tmp_path / "agent.py").write_text(PATIENT.replace("OLD", "NEW"))
        await runtime.reload(read_project(file), [tmp_path / "agent.py"])
        second = asyncio.create_task(answer(http, "agent"))
        (tmp_path / "go").touch()
        assert [await first, await second] == [{"text": "OLD a"}, {"text": "NEW a"}]


async def test_a_loop_that_ended_does_not_keep_an_app_closed() -> None:
    app = create_app(graphs={"shout": GRAPH})

    async def ask(app: Entrance) -> Any:
        async with client(app) as http:
            return await answer(http)

    for _ in range(2):
        assert await asyncio.to_thread(asyncio.run, ask(app)) == {"text": "A"}


class Hours:
    """A clock that is an hour later at each look."""

    def __init__(self) -> None:
        self.hour = 0

    def now(self) -> datetime:
        self.hour += 1
        return datetime(2030, 1, 1 + self.hour // 24, self.hour % 24, tzinfo=UTC)


async def test_expired_items_are_deleted_in_the_background() -> None:
    resources = MemoryResourceStore(clock=Hours())
    await resources.items.put(("n",), "short", {}, ttl_minutes=1)
    await resources.items.put(("n",), "ever", {})
    sweeping = asyncio.create_task(
        sweep(
            "items",
            lambda limit: resources.items.sweep(limit=limit),
            at_once=10,
            every_seconds=60,
        )
    )
    await asyncio.sleep(0)
    sweeping.cancel()
    assert await resources.items.sweep(limit=10) == 0
    assert await resources.items.get(("n",), "ever") is not None
