"""Another store in place of ours: LangGraph's own in memory and on PostgreSQL, with our rules."""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.store.base import BaseStore
from langgraph.store.base import InvalidNamespaceError as TheirRefusal
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.aio import AsyncPostgresStore

from tests.integration.embed import embed
from threadkeep import create_app
from threadkeep.config.langgraph_json import read_project
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.errors import (
    ConfigError,
    InvalidNamespaceError,
    InvalidRequestError,
    NotSupportedError,
    StorageError,
)
from threadkeep.model.items import ItemQuery
from threadkeep.ports.resources import ItemHolder
from threadkeep.savers import adapted as adapted_items
from threadkeep.savers.adapted import AdaptedItems
from threadkeep.savers.adapter import adapted
from threadkeep.savers.store import ItemStore
from threadkeep.testing.resources import FilterSuite, NamespaceSuite

pytestmark = pytest.mark.anyio

INDEX: Any = {"embed": embed, "dims": 3, "fields": ["text"]}
FILES = {"graphs": {"a": "./a.py:a"}}


@pytest.fixture
def theirs_on_postgres(postgres_url: str) -> Iterator[PostgresStore]:
    with PostgresStore.from_conn_string(postgres_url, index=INDEX) as store:
        store.setup()
        yield store


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.servers)])
def theirs(request: pytest.FixtureRequest) -> BaseStore:
    if request.param == "memory":
        return InMemoryStore(index=INDEX)
    found: BaseStore = request.getfixturevalue("theirs_on_postgres")
    return found


class InTheirMemory:
    """The suites whose promises do not rest on a clock or on pages of ours."""

    @pytest.fixture
    def store(self) -> ItemHolder:
        return AdaptedItems(InMemoryStore(), max_page_size=25)


class OnTheirPostgres:
    """The same on PostgreSQL, whose store holds no NUL and no lone surrogate in a value."""

    @pytest.fixture
    def store(self, theirs_on_postgres: PostgresStore) -> ItemHolder:
        return AdaptedItems(theirs_on_postgres, max_page_size=25)


class TestFilters(InTheirMemory, FilterSuite): ...


class TestNamespaces(InTheirMemory, NamespaceSuite): ...


class TestNamespacesOnPostgres(OnTheirPostgres, NamespaceSuite): ...


class TestFiltersOnPostgres(OnTheirPostgres, FilterSuite):
    async def test_keys_are_literal_and_of_the_top_level(self, store: Any) -> None:
        for name in ("a.b", 'quo"te', "a[0]", "", "back\\slash", "a'b"):
            await store.put(("n",), "k", {name: 1})
            assert (await store.search(ItemQuery(filter={name: 1}))).total == 1
        with pytest.raises(StorageError, match="UntranslatableCharacter"):
            await store.put(("n",), "k", {"\0": 1})

    async def test_text_is_compared_exactly(self, store: Any) -> None:
        for text in ("a", "A", "a ", "é", "e\u0301", "\U0001f642"):
            await store.put(("n",), "k", {"x": text})
            assert (await store.search(ItemQuery(filter={"x": text}))).total == 1
        with pytest.raises(StorageError, match="UntranslatableCharacter"):
            await store.put(("n",), "k", {"x": "a\0"})


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


@contextlib.asynccontextmanager
async def opened(brought: Any, **more: Any) -> AsyncIterator[ItemStore]:
    async with adapted(brought, named="it", **more) as (store, _):
        yield store


async def test_our_filter_order_and_paging_hold_on_top(theirs: BaseStore) -> None:
    async with opened(theirs) as store:
        for n in range(12):
            await store.aput(("a",), f"{n:02}", {"n": n, "text": "tea"})
        await store.aput(("ab",), "other", {"n": 5})
        found = await store.asearch(("a",), filter={"n": {"$in": [2, 3, 4]}}, limit=2)
        assert keys(found) == ["04", "03"]
        assert keys(await store.asearch(("a",), limit=3, offset=10)) == ["01", "00"]
        assert len(await store.asearch((), limit=50)) == 13
        assert await store.alist_namespaces() == [("a",), ("ab",)]
        await store.adelete(("ab",), "other")
        assert await store.alist_namespaces() == [("a",)]


async def test_their_ranking_is_kept(theirs: BaseStore) -> None:
    async with opened(theirs) as store:
        await store.aput(("n",), "tea", {"text": "tea", "n": 1})
        await store.aput(("n",), "dog", {"text": "dog", "n": 2})
        await store.aput(("m",), "cat", {"text": "cat and tea", "n": 3})
        await store.aput(("n",), "no", {"text": "dog"}, index=False)
        found = await store.asearch((), query="animal", filter={"n": {"$gte": 1}})
        assert keys(found) == ["dog", "cat", "tea"]
        assert found[0].score is not None
        with pytest.raises(NotSupportedError, match="ranks in its own way"):
            await store.asearch((), query="dog", mode="text")


async def test_a_put_reads_back(theirs: BaseStore) -> None:
    repo = AdaptedItems(theirs)
    item = await repo.put(("n",), "k", {"v": (1, 2)})
    assert item.value == {"v": [1, 2]}
    assert item.created_at.tzinfo is not None
    assert datetime.datetime.now(datetime.UTC) - item.updated_at < datetime.timedelta(minutes=5)


async def test_a_value_is_never_shared(theirs: BaseStore) -> None:
    async with opened(theirs) as store:
        value = {"likes": ["tea"]}
        await store.aput(("n",), "k", value)
        value["likes"].append("rum")
        item = await store.aget(("n",), "k")
        assert item is not None
        item.value["likes"].append("ale")
        again = await store.aget(("n",), "k")
        assert again is not None
        assert again.value == {"likes": ["tea"]}


async def test_blocking_calls_work_from_another_thread(theirs: BaseStore) -> None:
    async with opened(theirs) as store:
        await asyncio.to_thread(store.put, ("n",), "k", {"v": 1})
        assert keys(await asyncio.to_thread(store.search, ("n",))) == ["k"]


class Prefixed(InMemoryStore):
    """Takes no empty prefix."""

    async def abatch(self, ops: Any) -> Any:
        ops = list(ops)
        if any(getattr(op, "namespace_prefix", "x") == () for op in ops):
            raise TheirRefusal("a prefix is needed")
        return await super().abatch(ops)


async def test_a_search_of_everything_asks_each_namespace() -> None:
    async with opened(Prefixed(index=INDEX)) as store:
        for label, text in (("a", "dog"), ("b", "tea"), ("c", "cat animal")):
            await store.aput((label,), label, {"text": text})
        assert sorted(keys(await store.asearch(()))) == ["a", "b", "c"]
        assert keys(await store.asearch((), query="animal"))[-1] == "b"


class Strict(InMemoryStore):
    """Refuses, or fails."""

    async def abatch(self, ops: Any) -> Any:
        for op in list(ops):
            match getattr(op, "key", None):
                case "refused":
                    raise ValueError("not this key")
                case "namespace":
                    raise TheirRefusal("not this namespace")
                case "broken":
                    raise OSError("gone")
        return await super().abatch(ops)


async def test_their_own_rules_are_told_in_our_words() -> None:
    async with opened(Strict()) as store:
        for key, kind, words in (
            ("refused", InvalidRequestError, "not this key"),
            ("namespace", InvalidNamespaceError, "not this namespace"),
            ("broken", StorageError, "Strict, failed.*gone"),
        ):
            with pytest.raises(kind, match=words):
                await store.aput(("n",), key, {})
        with pytest.raises(NotSupportedError, match="no lifetimes"):
            await store.aput(("n",), "k", {}, ttl=5)


async def test_more_than_can_be_put_in_order_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapted_items, "PAGE", 5)
    monkeypatch.setattr(adapted_items, "MAX_CANDIDATES", 10)
    async with opened(InMemoryStore()) as store:
        for n in range(12):
            await store.aput(("n", str(n % 2)), str(n), {})
        assert len(await store.asearch(("n", "0"))) == 6
        with pytest.raises(NotSupportedError, match="longer prefix"):
            await store.asearch(("n",))


async def test_lifetimes_are_the_stores_own_or_refused(postgres_url: str) -> None:
    with pytest.raises(ConfigError, match=r"InMemoryStore.*deletes nothing"):
        async with opened(InMemoryStore(), ttl={"default_ttl": 1.0}):
            pass
    lifetimes: Any = {"default_ttl": 60}
    with PostgresStore.from_conn_string(postgres_url, ttl=lifetimes) as theirs:
        theirs.setup()
        with pytest.raises(ConfigError, match="refresh_on_read to false"):
            async with opened(theirs, ttl={"default_ttl": 1.0}):
                pass
        ttl = {"default_ttl": 1.0, "refresh_on_read": False}
        async with adapted(theirs, named="it", ttl=ttl) as (store, repo):
            await store.aput(("n",), "k", {"v": 1})
            with theirs._cursor() as cursor:
                cursor.execute("SELECT ttl_minutes FROM store")
                assert cursor.fetchall() == [{"ttl_minutes": 1}]
                cursor.execute("UPDATE store SET expires_at = now() - interval '1 hour'")
            assert await repo.sweep(limit=10) == 1
            assert await store.aget(("n",), "k") is None


async def test_what_a_factory_opens_is_closed(postgres_url: str) -> None:
    closed: list[str] = []

    class Closing(InMemoryStore):
        def close(self) -> None:
            closed.append("close")

    @contextlib.contextmanager
    def blocking() -> Iterator[BaseStore]:
        yield InMemoryStore()
        closed.append("with")

    @contextlib.asynccontextmanager
    async def awaiting() -> AsyncIterator[BaseStore]:
        yield InMemoryStore()
        closed.append("async with")

    async def coroutine() -> BaseStore:
        return Closing()

    def theirs() -> Any:
        return AsyncPostgresStore.from_conn_string(postgres_url)

    for factory in (Closing, blocking, awaiting, coroutine, blocking(), awaiting()):
        async with opened(factory) as store:
            await store.aput(("n",), "k", {})
            assert keys(await store.asearch(())) == ["k"]
    assert closed == ["close", "with", "async with", "close", "with", "async with"]
    async with opened(theirs) as store:
        with pytest.raises(StorageError):  # nobody has set it up
            await store.aput(("n",), "k", {})
    async with opened(given := Closing()):
        pass
    assert len(closed) == 6
    assert given is not None


async def test_our_own_repo_or_store_is_taken() -> None:
    repo = MemoryResourceStore().items
    async with opened(repo, ttl={"default_ttl": 1.0}) as store:
        await store.aput(("n",), "k", {})
        item = await repo.get(("n",), "k")
        assert item is not None
        assert item.ttl_minutes == 1
    own = ItemStore(MemoryResourceStore())
    async with opened(own) as store:
        assert store is own


@pytest.mark.parametrize(
    ("brought", "words"),
    [
        (5, "it is a int; expected LangGraph's BaseStore"),
        (dict, "it is a dict; expected"),
        (type("Half", (), {"batch": lambda self: None})(), r"Half without abatch\(\)"),
        (type("Repo", (), {"get": len, "apply": len})(), r"Repo without put\(\)"),
        (lambda: 1 / 0, "it failed to open: ZeroDivisionError"),
    ],
    ids=["a number", "a class", "half a store", "half a repo", "a factory that fails"],
)
async def test_what_is_no_store_is_refused_at_start_up(brought: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        async with opened(brought):
            pass


async def test_a_file_names_the_store_of_graphs_and_routes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from langgraph.store.memory import InMemoryStore\nstore = InMemoryStore()\n"
    )
    (tmp_path / "graph.py").write_text(
        "from langgraph.config import get_store\n"
        "from langgraph.graph import START, MessagesState, StateGraph\n"
        "def node(state):\n"
        "    get_store().put(('graph',), 'k', {'v': 1})\n"
        "    return {}\n"
        "graph = StateGraph(MessagesState).add_node(node).add_edge(START, 'node').compile()\n"
    )
    file = tmp_path / "langgraph.json"
    file.write_text(
        '{"graphs": {"g": "./graph.py:graph"}, "store": {"adapter": "./mine.py:store"}}'
    )
    (warning,) = read_project(file).warnings
    assert "snapshots leave them out" in warning
    app = create_app(config=file, database="memory://")
    transport = httpx.ASGITransport(app)
    async with (
        app.lifespan(app),
        httpx.AsyncClient(transport=transport, base_url="http://it") as client,
    ):
        body: dict[str, Any] = {"assistant_id": "g", "input": {"messages": []}}
        assert (await client.post("/runs/wait", json=body)).status_code == 200
        put = {"namespace": ["http"], "key": "k", "value": {"v": 2}}
        assert (await client.put("/store/items", json=put)).status_code == 204
        found = (await client.post("/store/items/search", json={})).json()["items"]
        assert sorted(item["namespace"][0] for item in found) == ["graph", "http"]
        search = {"query": "x", "mode": "text"}
        refused = await client.post("/store/items/search", json=search)
        assert refused.status_code == 501
