"""``ItemStore``: LangGraph's store over each driver, from any thread and any loop."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from threadkeep.errors import (
    ConfigError,
    InvalidFilterError,
    InvalidRequestError,
    StorageError,
    ValueNotStorableError,
)
from threadkeep.ports.drivers import open_driver
from threadkeep.ports.resources import ResourceStore
from threadkeep.savers.store import ItemStore


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        return found
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'items.db'}"


@pytest.fixture
def store(url: str) -> Iterator[ItemStore]:
    with ItemStore.from_url(url) as store:
        yield store


@contextlib.asynccontextmanager
async def open_resources(url: str) -> AsyncIterator[ResourceStore]:
    driver = open_driver(url)
    try:
        resources = driver.resources()
        await resources.setup()
        yield resources
    finally:
        await asyncio.to_thread(driver.close)


def test_what_was_put_is_read_and_none_deletes_it(store: ItemStore) -> None:
    store.put(("users", "ada"), "likes", {"what": ["tea"]})
    item = store.get(("users", "ada"), "likes")
    assert item is not None
    assert (item.namespace, item.key) == (("users", "ada"), "likes")
    assert item.value == {"what": ["tea"]}
    assert item.created_at.tzinfo is not None
    store.batch([PutOp(("users", "ada"), "likes", None)])
    assert store.get(("users", "ada"), "likes") is None
    store.delete(("users", "ada"), "likes")


def test_a_search_filters_and_answers_ten_unless_told_otherwise(store: ItemStore) -> None:
    for n in range(15):
        store.put(("n",), f"{n:02}", {"n": n})
    store.put(("other",), "x", {"n": 3})
    assert [item.key for item in store.search(("n",))] == [f"{n:02}" for n in range(14, 4, -1)]
    assert len(store.search(("n",), limit=100)) == 15
    found = store.search(("n",), filter={"n": {"$gte": 3, "$lt": 6}}, limit=2, offset=1)
    assert [item.value["n"] for item in found] == [4, 3]
    assert store.search(("n",), query="three")[0].score is None
    with pytest.raises(InvalidFilterError):
        store.search(("n",), filter={"n": {"$like": 1}})


def test_a_limit_above_the_page_bound_is_read_in_pages(store: ItemStore) -> None:
    store.batch([PutOp(("n",), str(n), {"n": n}) for n in range(2100)])
    found = store.search((), limit=2050)
    assert len({item.key for item in found}) == 2050
    assert len(store.search((), limit=10_000)) == 2100
    assert len(store.list_namespaces(limit=10_000)) == 1


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: ItemStore) -> None:
    for namespace in [("a", "b", "c"), ("a", "x", "c"), ("a2", "b", "c"), ("a", "b")]:
        store.put(namespace, "k", {})
    assert store.list_namespaces(prefix=("a",)) == [("a", "b"), ("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(prefix=("a", "*"), suffix=("c",)) == [
        ("a", "b", "c"),
        ("a", "x", "c"),
    ]
    assert store.list_namespaces(max_depth=1) == [("a",), ("a2",)]


def test_every_condition_on_namespaces_holds(store: ItemStore) -> None:
    for namespace in [("a", "b", "c"), ("a", "x", "c"), ("b", "x", "c"), ("a", "x", "d")]:
        store.put(namespace, "k", {})

    def listed(*conditions: tuple[Any, tuple[str, ...]]) -> Any:
        matches = tuple(MatchCondition(kind, path) for kind, path in conditions)
        return store.batch([ListNamespacesOp(match_conditions=matches)])[0]

    assert listed(("prefix", ("a",)), ("prefix", ("*", "x"))) == [("a", "x", "c"), ("a", "x", "d")]
    assert listed(("suffix", ("c",)), ("suffix", ("x", "*")), ("prefix", ("a",))) == [
        ("a", "x", "c")
    ]
    assert listed(("prefix", ("a",)), ("prefix", ("b",))) == []
    with pytest.raises(InvalidRequestError, match="'middle'"):
        listed(("middle", ("x",)))


def test_reads_of_a_batch_see_the_state_before_it_and_the_last_put_wins(store: ItemStore) -> None:
    store.put(("n",), "k", {"v": 0})
    results = store.batch(
        [
            PutOp(("n",), "k", {"v": 1}),
            GetOp(("n",), "k"),
            PutOp(("n",), "k", {"v": 2}),
            SearchOp(("n",)),
            ListNamespacesOp(),
            GetOp(("gone",), "k"),
        ]
    )
    assert results[0] is results[2] is results[5] is None
    assert results[1].value == results[3][0].value == {"v": 0}  # type: ignore[union-attr, index]
    assert results[4] == [("n",)]
    assert store.get(("n",), "k").value == {"v": 2}  # type: ignore[union-attr]
    assert store.batch([]) == []


def test_a_batch_with_a_wrong_operation_writes_nothing(store: ItemStore) -> None:
    with pytest.raises(ValueNotStorableError):
        store.batch([PutOp(("n",), "a", {"v": 1}), PutOp(("n",), "b", {"v": object()})])
    assert store.search(("n",)) == []


@pytest.mark.parametrize(
    "value", [{"v": {1, 2}}, {"v": float("nan")}, {"v": b"bytes"}, {1: "number"}, ["no object"]]
)
def test_a_value_that_is_no_json_object_is_refused_in_our_words(
    store: ItemStore, value: Any
) -> None:
    with pytest.raises(ValueNotStorableError):
        store.put(("n",), "k", value)


def test_a_namespace_that_is_no_address_is_refused(store: ItemStore) -> None:
    for namespace in [(), ("",), ("a.b",), ("langgraph", "x")]:
        with pytest.raises((InvalidNamespaceError, InvalidRequestError)):
            store.put(namespace, "k", {})
    with pytest.raises(InvalidRequestError):
        store.batch([PutOp((), "k", {})])


def test_a_lifetime_ends_and_a_default_applies(url: str) -> None:
    with ItemStore.from_url(url, ttl={"default_ttl": 0.002, "refresh_on_read": False}) as store:
        store.put(("n",), "short", {})
        store.put(("n",), "long", {}, ttl=10)
        store.put(("n",), "ever", {}, ttl=None)
        assert store.get(("n",), "short") is not None
        ended = threading.Event()
        for _ in range(100):
            if store.get(("n",), "short") is None:
                break
            ended.wait(0.01)
        assert {item.key for item in store.search(("n",))} == {"long", "ever"}


@pytest.mark.parametrize("minutes", [0, -1, "ten", True, float("nan")])
def test_a_wrong_default_lifetime_is_refused(minutes: Any) -> None:
    with pytest.raises(ConfigError, match="default_ttl"):
        ItemStore.from_url("memory://", ttl={"default_ttl": minutes})


def test_threads_write_at_the_same_time(store: ItemStore) -> None:
    def write(writer: int) -> None:
        for n in range(10):
            store.put(("n", str(writer)), str(n), {"n": n})

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.search(("n",), limit=100)) == 80


def test_a_store_can_be_used_without_a_block_and_closed(url: str) -> None:
    store = ItemStore.from_url(url)
    store.put(("n",), "k", {"v": 1})
    store.close()
    store.close()
    with pytest.raises(StorageError, match="closed"):
        store.get(("n",), "k")


def test_setting_up_many_times_at_once_is_safe(url: str) -> None:
    stores = [ItemStore.from_url(url) for _ in range(4)]
    errors: list[Exception] = []

    def setup(store: ItemStore) -> None:
        try:
            store.setup()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=setup, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert errors == []


@pytest.mark.anyio
async def test_a_store_of_an_address_serves_any_loop(url: str) -> None:
    async with ItemStore.from_url(url) as store:
        await store.aput(("n",), "k", {"v": 1})
        store.put(("n",), "from-a-loop", {"v": 2})  # its own loop runs in another thread
        found = await asyncio.to_thread(store.search, ("n",))
        assert {item.key for item in found} == {"k", "from-a-loop"}
        other = await asyncio.to_thread(lambda: asyncio.run(store.aget(("n",), "k")))
        assert other is not None
        assert other.value == {"v": 1}


@pytest.mark.anyio
async def test_on_the_loop_that_serves_it_only_awaiting_calls_work(url: str) -> None:
    async with open_resources(url) as resources:
        store = ItemStore(resources)
        await store.aput(("n",), "k", {"v": 1})
        with pytest.raises(InvalidRequestError, match=r"await store\.aget"):
            store.get(("n",), "k")
        with pytest.raises(InvalidRequestError, match=r"await store\.aput"):
            store.put(("n",), "k", {"v": 2})
        item = await asyncio.to_thread(store.get, ("n",), "k")
        assert item is not None
        assert item.value == {"v": 1}


@pytest.mark.anyio
async def test_a_store_handed_in_is_not_closed(url: str) -> None:
    async with open_resources(url) as resources:
        async with ItemStore(resources) as store:
            await store.aput(("n",), "k", {"v": 1})
        assert await resources.items.get(("n",), "k") is not None


def test_what_one_holds_is_never_what_the_store_holds(store: ItemStore) -> None:
    value = {"likes": ["tea"]}
    store.put(("n",), "k", value)
    value["likes"].append("coffee")
    item = store.get(("n",), "k")
    assert item is not None
    item.value["likes"].append("water")
    store.search(("n",))[0].value["likes"].clear()
    again = store.get(("n",), "k")
    assert again is not None
    assert again.value == {"likes": ["tea"]}


def test_neither_or_both_of_store_and_address_is_refused() -> None:
    with pytest.raises(ConfigError):
        ItemStore()


@pytest.mark.parametrize("verb", ["get", "put", "search", "list"])
def test_a_text_is_no_namespace(store: ItemStore, verb: str) -> None:
    wrong: Any = "ab"
    operations: dict[str, Any] = {
        "get": GetOp(wrong, "k"),
        "put": PutOp(wrong, "k", {"v": 1}),
        "search": SearchOp(wrong),
        "list": ListNamespacesOp((MatchCondition("prefix", wrong),)),
    }
    with pytest.raises(InvalidRequestError, match="tuple of labels"):
        store.batch([operations[verb]])
    assert store.search(()) == []


@pytest.mark.parametrize("limit", [1.5, None, "3"])
def test_a_limit_is_a_whole_number(store: ItemStore, limit: Any) -> None:
    with pytest.raises(InvalidRequestError, match="limit is"):
        store.search(("a",), limit=limit)


def test_a_forked_child_is_told_to_open_its_own(store: ItemStore) -> None:
    store.put(("a",), "k", {"v": 1})
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            store.get(("a",), "k")
        except StorageError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as told:
        assert b"open it again" in told.read()
    os.waitpid(child, 0)
    assert store.get(("a",), "k") is not None


def test_calls_under_way_when_it_is_closed_are_answered(url: str) -> None:
    store = ItemStore.from_url(url)
    store.setup()
    begun, answers = threading.Semaphore(0), list[Exception]()

    def put_on() -> None:
        try:
            for number in range(10**6):
                store.put(("a",), str(number), {"v": number})
                begun.release()
        except Exception as error:
            answers.append(error)

    threads = [threading.Thread(target=put_on, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in threads:
        begun.acquire()
    store.close()
    for thread in threads:
        thread.join(10)
    assert [type(answer) for answer in answers] == [StorageError] * 4
