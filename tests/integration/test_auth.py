"""Authentication and the deployment's own rules, over HTTP and through LangGraph's client."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import Auth, get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.integration import engine_graphs as made
from tests.integration.http_server import serve
from tests.integration.test_identity import looking
from tests.servers.postgres import Databases
from threadkeep.auth.filters import enforced, stamped
from threadkeep.auth.rules import AuthRules
from threadkeep.config.langgraph_json import read_project
from threadkeep.errors import ConfigError
from threadkeep.server.guard import OPEN, asked_of
from threadkeep.server.routes import ROUTES

GRAPHS = {"looking": looking(), "steps": made.steps(1), "remembering": made.remembering()}
TOKENS = {"Bearer alice": "alice", "Bearer bob": "bob"}


def rules() -> Auth:
    auth = Auth()

    @auth.authenticate
    async def authenticate(authorization: str | None, method: str, path: str) -> Any:
        assert method
        assert path.startswith("/")
        if authorization == "Bearer broken":
            raise RuntimeError("the token service is away")
        if authorization == "Bearer teapot":
            raise Auth.exceptions.HTTPException(418, "short and stout", {"X-Tea": "yes"})
        if authorization not in TOKENS:
            raise Auth.exceptions.HTTPException(401, "who are you?")
        name = TOKENS[authorization]
        return {"identity": name, "permissions": ["p"], "session_token": "hidden-token-1"}

    _decide(auth)
    return auth


def _decide(auth: Auth) -> None:
    @auth.on
    async def owned(ctx: Any, value: Any) -> Any:
        filters = {"owner": ctx.user.identity}
        value.setdefault("metadata", {}).update(filters)
        return filters

    @auth.on.assistants
    async def shared(ctx: Any, value: Any) -> Any:
        return None

    @auth.on.crons
    async def no_crons(ctx: Any, value: Any) -> Any:
        return ctx.action != "create" or ctx.user.identity == "alice"

    @auth.on.threads.delete
    async def never(ctx: Any, value: Any) -> Any:
        return False if ctx.user.identity == "bob" else {"owner": {"$eq": "alice"}}

    @auth.on.store
    async def own_memory(ctx: Any, value: Any) -> None:
        value["namespace"] = (ctx.user.identity, *(value["namespace"] or ()))


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.servers)]
)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        database = f"sqlite:///{tmp_path_factory.mktemp('auth') / 'threadkeep.db'}"
        with serve(GRAPHS, database, auth=rules()) as served:
            yield served
        return
    databases: Databases = request.getfixturevalue("postgres_databases")
    with databases.new() as database, serve(GRAPHS, database, auth=rules()) as served:
        yield served


def client(url: str, name: str) -> SyncLangGraphClient:
    return get_sync_client(url=url, api_key=None, headers={"Authorization": f"Bearer {name}"})


@pytest.fixture
def alice(url: str) -> SyncLangGraphClient:
    return client(url, "alice")


@pytest.fixture
def bob(url: str) -> SyncLangGraphClient:
    return client(url, "bob")


@contextlib.contextmanager
def refused(status: int) -> Iterator[None]:
    with pytest.raises(httpx.HTTPStatusError) as caught:
        yield
    assert caught.value.response.status_code == status


def test_ok_is_open_and_all_else_is_closed(url: str) -> None:
    with httpx.Client(base_url=url) as http:
        assert http.get("/ok").json() == {"ok": True}
        for method, path in (("POST", "/threads"), ("GET", "/store/items"), ("POST", "/runs/wait")):
            answer = http.request(method, path, json={})
            assert (answer.status_code, answer.json()["detail"]) == (401, "who are you?")


def test_a_refusal_keeps_its_status_and_headers(url: str) -> None:
    with httpx.Client(base_url=url) as http:
        answer = http.post("/threads", json={}, headers={"Authorization": "Bearer teapot"})
        assert (answer.status_code, answer.headers["X-Tea"]) == (418, "yes")
        assert answer.json()["detail"] == "short and stout"
        answer = http.post("/threads", json={}, headers={"Authorization": "Bearer broken"})
        assert answer.status_code == 401
        assert "away" not in answer.text


def test_threads_are_their_owners(alice: SyncLangGraphClient, bob: SyncLangGraphClient) -> None:
    thread = alice.threads.create(metadata={"owner": "bob", "topic": "tea"})
    thread_id = thread["thread_id"]
    assert thread["metadata"] == {"owner": "alice", "topic": "tea"}
    assert alice.threads.get(thread_id)["thread_id"] == thread_id
    for ask in (
        lambda: bob.threads.get(thread_id),
        lambda: bob.threads.update(thread_id, metadata={"x": 1}),
        lambda: bob.threads.get_state(thread_id),
        lambda: bob.threads.get_history(thread_id),
        lambda: bob.threads.copy(thread_id),
        lambda: bob.threads.update_state(thread_id, {"log": []}),
        lambda: bob.runs.create(thread_id, "steps", input={}),
        lambda: bob.runs.wait(thread_id, "steps", input={}),
        lambda: bob.threads.create(thread_id=thread_id, if_exists="do_nothing"),
    ):
        with refused(404):
            ask()
    alice.threads.update(thread_id, metadata={"owner": "bob", "topic": "milk"})
    kept: Any = alice.threads.get(thread_id)
    assert kept["metadata"] == {"owner": "alice", "topic": "milk"}
    assert [t["thread_id"] for t in alice.threads.search(ids=[thread_id])] == [thread_id]
    assert bob.threads.search(ids=[thread_id]) == []
    assert bob.threads.search(metadata={"owner": "alice"}) == []
    assert bob.threads.count(metadata={"topic": "milk"}) == 0


def test_runs_are_their_threads_owners(
    alice: SyncLangGraphClient, bob: SyncLangGraphClient
) -> None:
    thread_id = alice.threads.create()["thread_id"]
    run = alice.runs.create(thread_id, "steps", input={"log": []})
    alice.runs.join(thread_id, run["run_id"])
    assert run["metadata"] == {"owner": "alice"}
    for ask in (
        lambda: bob.runs.list(thread_id),
        lambda: bob.runs.get(thread_id, run["run_id"]),
        lambda: bob.runs.join(thread_id, run["run_id"]),
        lambda: bob.runs.cancel(thread_id, run["run_id"]),
        lambda: list(bob.runs.join_stream(thread_id, run["run_id"])),
    ):
        with refused(404):
            ask()
    assert alice.runs.get(thread_id, run["run_id"])["status"] == "success"


def test_the_most_specific_rule_answers(
    alice: SyncLangGraphClient, bob: SyncLangGraphClient
) -> None:
    of_bob = bob.threads.create()["thread_id"]
    with refused(403):
        bob.threads.delete(of_bob)
    of_alice = alice.threads.create()["thread_id"]
    alice.threads.delete(of_alice)
    with refused(404):
        alice.threads.get(of_alice)
    with refused(404):
        alice.threads.delete(of_bob)
    assert bob.threads.get(of_bob)["thread_id"] == of_bob
    with refused(403):
        bob.crons.create("steps", schedule="0 0 1 1 *", input={})
    cron: Any = alice.crons.create("steps", schedule="0 0 1 1 *", input={})
    assert "hidden-token-1" not in json.dumps(cron)


def test_a_run_knows_its_caller_and_nothing_of_it_comes_back(
    alice: SyncLangGraphClient, bob: SyncLangGraphClient, url: str
) -> None:
    thread_id = alice.threads.create()["thread_id"]
    forged: Any = {"configurable": {"langgraph_auth_user": {"identity": "root"}}}
    answer = alice.runs.wait(thread_id, "looking", input={"configured": ""}, config=forged)
    assert answer == {"configured": "alice", "surrounding": "alice"}
    assert bob.runs.wait(None, "looking", input={"configured": ""}) == {
        "configured": "bob",
        "surrounding": "bob",
    }
    shown = json.dumps(
        [
            alice.threads.get(thread_id),
            alice.threads.get_state(thread_id),
            alice.threads.get_history(thread_id),
            alice.runs.list(thread_id),
        ]
    )
    assert "hidden-token-1" not in shown


def test_events_of_a_thread_are_its_owners(alice: SyncLangGraphClient, url: str) -> None:
    thread_id = alice.threads.create()["thread_id"]
    path = f"/threads/{thread_id}/stream/events"
    as_bob = {"Authorization": "Bearer bob"}
    with httpx.Client(base_url=url, headers=as_bob) as http:
        assert http.post(path, json={"channels": ["values"]}).status_code == 404
        assert http.get(f"/threads/{thread_id}/stream").status_code == 404
        command = {"id": 1, "method": "run.start", "params": {"assistant_id": "steps"}}
        assert http.post(f"/threads/{thread_id}/commands", json=command).status_code == 404
    address = url.replace("http", "ws", 1) + path
    for headers in (as_bob, {}):
        with (
            pytest.raises(InvalidStatus) as caught,
            connect(address, additional_headers=headers, proxy=None),
        ):
            pass
        assert caught.value.response.status_code == 403
    with connect(
        address, additional_headers={"Authorization": "Bearer alice"}, proxy=None
    ) as socket:
        socket.send(json.dumps({"id": 1, "method": "nothing"}))
        assert json.loads(socket.recv())["id"] == 1


def test_long_term_memory_is_each_callers_own(
    alice: SyncLangGraphClient, bob: SyncLangGraphClient
) -> None:
    alice.store.put_item(["notes"], "k", {"text": "of alice"})
    with refused(404):
        bob.store.get_item(["notes"], "k")
    found: Any = alice.store.get_item(["notes"], "k")
    assert (found["namespace"], found["value"]) == (["alice", "notes"], {"text": "of alice"})
    assert bob.store.search_items(["notes"])["items"] == []
    assert len(alice.store.search_items(["notes"])["items"]) == 1
    assert bob.store.list_namespaces()["namespaces"] == []
    bob.store.delete_item(["notes"], "k")
    assert alice.store.get_item(["notes"], "k")["key"] == "k"


def test_every_route_is_known_to_the_guard_or_open() -> None:
    unknown = [
        (route.method, route.path)
        for route in ROUTES
        if route.path not in OPEN and asked_of(route.method, route.path) is None
    ]
    assert unknown == []


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("POST", "/threads", ("threads", "create")),
        ("POST", "/threads/search", ("threads", "search")),
        ("POST", "/threads/prune", ("threads", "delete")),
        ("PATCH", "/threads/{thread_id}", ("threads", "update")),
        ("POST", "/threads/{thread_id}/state", ("threads", "update")),
        ("POST", "/threads/{thread_id}/state/checkpoint", ("threads", "read")),
        ("POST", "/threads/{thread_id}/history", ("threads", "read")),
        ("POST", "/threads/{thread_id}/runs/stream", ("threads", "create_run")),
        ("POST", "/threads/{thread_id}/commands", ("threads", "create_run")),
        ("POST", "/threads/{thread_id}/stream/events", ("threads", "read")),
        ("GET", "/threads/{thread_id}/runs/{run_id}/stream", ("threads", "read")),
        ("POST", "/threads/{thread_id}/runs/{run_id}/cancel", ("threads", "update")),
        ("POST", "/runs/batch", ("threads", "create_run")),
        ("POST", "/runs/search", ("threads", "search")),
        ("POST", "/runs/crons", ("crons", "create")),
        ("POST", "/threads/{thread_id}/runs/crons", ("crons", "create")),
        ("POST", "/runs/crons/search", ("crons", "search")),
        ("DELETE", "/runs/crons/{cron_id}", ("crons", "delete")),
        ("POST", "/assistants", ("assistants", "create")),
        ("POST", "/assistants/{assistant_id}/versions", ("assistants", "read")),
        ("POST", "/invoke/{graph_id}", ("threads", "create_run")),
        ("GET", "/store/items", ("store", "")),
        ("GET", "/admin/jobs", None),
    ],
)
def test_what_a_route_asks_for(method: str, path: str, asked: Any) -> None:
    assert asked_of(method, path) == asked


def test_filters_become_what_metadata_contains() -> None:
    wanted = enforced({"a": 1, "b": {"$eq": "x"}, "c": {"$contains": "y"}, "d": {"$contains": [1]}})
    assert wanted == {"a": 1, "b": "x", "c": ["y"], "d": [1]}
    assert stamped({"c": ["z"], "e": 2}, wanted) == {**wanted, "c": ["z", "y"], "e": 2}
    with pytest.raises(ConfigError, match="expected a value"):
        enforced({"a": {"$gt": 1}})


@dataclasses.dataclass
class Person:
    identity: str
    display_name: str = "A"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "user"),
    [
        ("a", {"identity": "a"}),
        (Person("a"), {"identity": "a", "display_name": "A"}),
        ({"identity": "a", "permissions": ("x",)}, {"identity": "a", "permissions": ["x"]}),
        ({"identity": "a", "client": object()}, {"identity": "a"}),
    ],
)
async def test_a_user_may_be_of_many_kinds(answer: Any, user: Any) -> None:
    auth = Auth()
    auth.authenticate(lambda headers: answer)
    assert await AuthRules(auth).authenticate({"headers": {}}) == user


def test_what_is_no_auth_object_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="expected an Auth object"):
        AuthRules(object())
    with pytest.raises(ConfigError, match=r"@auth\.authenticate"):
        AuthRules(Auth())
    odd = Auth()
    odd.authenticate(lambda token: token)
    with pytest.raises(ConfigError, match="authenticate takes 'token'"):
        AuthRules(odd)


def test_the_file_names_the_auth_object(tmp_path: Path) -> None:
    file = tmp_path / "langgraph.json"
    file.write_text(json.dumps({"graphs": {"a": "./a.py:g"}, "auth": {"path": "./x.py:auth"}}))
    assert read_project(file).auth == "./x.py:auth"
    file.write_text(json.dumps({"graphs": {"a": "./a.py:g"}, "auth": {}}))
    with pytest.raises(ConfigError, match=r"auth\.path: found null"):
        read_project(file)
