"""A declared scope: each caller has a memory of their own, and cannot name another's."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp
from langgraph.store.memory import InMemoryStore

from tests.integration.embed import embed
from threadkeep.config.langgraph_json import read_project
from threadkeep.errors import ConfigError, InvalidRequestError, UnauthenticatedError
from threadkeep.model.identity import current_user
from threadkeep.ports.drivers import open_driver
from threadkeep.savers.adapter import adapted
from threadkeep.savers.store import ItemStore

SCOPE = ("users", "{identity}")
INDEX: dict[str, Any] = {"embed": embed, "dims": 3}


@contextmanager
def called_by(identity: str, **more: Any) -> Iterator[None]:
    token = current_user.set({"identity": identity, **more})
    try:
        yield
    finally:
        current_user.reset(token)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        return found
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'items.db'}"


@pytest.fixture
def store(url: str) -> Iterator[ItemStore]:
    store = ItemStore(url=url, scope=SCOPE, index=INDEX)
    yield store
    store.close()


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def test_callers_share_nothing_and_see_no_scope(store: ItemStore) -> None:
    with called_by("ada"):
        store.put(("facts",), "k", {"text": "tea"})
        store.put(("facts", "old"), "deep", {"text": "tea"})
    with called_by("bela"):
        assert store.get(("facts",), "k") is None
        assert store.search((), query="tea") == store.search(()) == []
        assert store.list_namespaces() == []
        store.put(("facts",), "k", {"text": "coffee"})
        store.delete(("facts",), "deep")
        assert store.get(("users", "ada", "facts"), "k") is None
        assert store.search(("users", "ada")) == []
        assert store.list_namespaces(prefix=("*", "*")) == []
        assert store.list_namespaces(suffix=("ada", "facts")) == []
    with called_by("ada"):
        item = store.get(("facts",), "k")
        assert item is not None
        assert (item.namespace, item.value) == (("facts",), {"text": "tea"})
        assert [found.namespace for found in store.search((), query="tea", mode="hybrid")] == [
            ("facts",),
            ("facts", "old"),
        ]
        assert store.list_namespaces() == [("facts",), ("facts", "old")]
        assert store.list_namespaces(max_depth=1) == [("facts",)]
        assert store.list_namespaces(prefix=("*",), suffix=("old",)) == [("facts", "old")]
        assert store.list_namespaces(suffix=("*", "old")) == [("facts", "old")]
        several = tuple(MatchCondition("suffix", path) for path in (("old",), ("facts", "*")))
        assert store.batch([ListNamespacesOp(several)]) == [[("facts", "old")]]
        with pytest.raises(InvalidRequestError, match="namespace is empty"):
            store.batch([PutOp((), "k", {"v": 1})])


def test_nobody_has_no_memory(store: ItemStore) -> None:
    for user in (None, {"identity": ""}, {"identity": None}, {"identity": True}):
        token = current_user.set(user)
        with pytest.raises(UnauthenticatedError, match="identity"):
            store.put(("facts",), "k", {})
        with pytest.raises(UnauthenticatedError):
            store.search(())
        current_user.reset(token)


def test_an_identity_is_one_label_whatever_stands_in_it(store: ItemStore) -> None:
    identities = ["a", "a.b", "a%2Eb", "*", "%", "_", "a\\", "ada@example.com", "\x01", "ü"]
    for identity in identities:
        with called_by(identity):
            store.put(("n",), "k", {"who": identity})
    for identity in identities:
        with called_by(identity):
            assert [item.value["who"] for item in store.search(())] == [identity]
            assert store.list_namespaces() == [("n",)]


@pytest.mark.anyio
async def test_it_holds_inside_graphs_in_nodes_of_any_kind() -> None:
    from langgraph.config import get_store  # noqa: PLC0415 - as a node does

    def blocking(state: MessagesState) -> Any:
        get_store().put(("n",), "blocking", {"v": 1})
        return {}

    async def awaiting(state: MessagesState) -> Any:
        await get_store().aput(("n",), "awaiting", {"v": 1})
        return {}

    driver = open_driver("memory://")
    store = ItemStore(driver.resources(), scope=SCOPE)
    builder = StateGraph(MessagesState).add_node(blocking).add_node(awaiting)
    graph = builder.add_edge(START, "blocking").add_edge(START, "awaiting").compile(store=store)
    with called_by("ada"):
        await graph.ainvoke({"messages": []})
        assert sorted(keys(await store.asearch(()))) == ["awaiting", "blocking"]
    with called_by("bela"):
        assert await store.asearch(()) == []
    found = await ItemStore(driver.resources()).alist_namespaces()
    assert found == [("users", "ada", "n")]


def test_other_fields_of_the_caller_may_stand_in_it() -> None:
    store = ItemStore(url="memory://", scope=("org-{org_id}", "{identity}"))
    with called_by("ada", org_id=7):
        store.put(("n",), "k", {})
    with called_by("ada", org_id=8):
        assert store.search(()) == []
    with called_by("ada"), pytest.raises(UnauthenticatedError, match="org_id"):
        store.search(())
    store.close()


@pytest.mark.anyio
async def test_an_adapted_store_has_it_too() -> None:
    theirs = InMemoryStore()
    async with adapted(theirs, named="it", scope=SCOPE) as (store, _):
        with called_by("ada"):
            await store.aput(("n",), "k", {"v": 1})
            assert await asyncio.to_thread(store.list_namespaces) == [("n",)]
        assert keys(theirs.search(("users", "ada", "n"))) == ["k"]
        with called_by("bela"):
            assert await store.asearch(()) == []
    with pytest.raises(ConfigError, match="make it with the scope"):
        async with adapted(ItemStore(url="memory://"), named="it", scope=SCOPE):
            pass


@pytest.mark.parametrize(
    "scope",
    [
        "users",
        [],
        [1],
        [""],
        ["a.b"],
        ["*"],
        ["{}"],
        ["{a.b}"],
        ["langgraph", "{identity}"],
        ["a{"],
    ],
)
def test_a_wrong_scope_is_named(tmp_path: Path, scope: Any) -> None:
    file = tmp_path / "langgraph.json"
    text = '{"graphs": {"g": "./g.py:g"}, "store": {"scope": %s}}'
    file.write_text(text % str(scope).replace("'", '"') if scope != "users" else text % '"users"')
    with pytest.raises(ConfigError, match=r"store\.scope"):
        read_project(file)


def test_a_scope_of_the_caller_needs_callers(tmp_path: Path) -> None:
    file = tmp_path / "langgraph.json"
    text = '{"graphs": {"g": "./g.py:g"}, "store": {"scope": ["users", "{identity}"]}}'
    file.write_text(text)
    with pytest.raises(ConfigError, match="expected auth beside it"):
        read_project(file)
    file.write_text(text.replace(', "{identity}"', ""))
    assert read_project(file).store_scope == ("users",)
