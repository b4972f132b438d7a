"""Faults that users of other stores met, held against ours on each driver."""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.store.base import Item

from tests.pains import store_factories
from threadkeep.errors import ThreadkeepError
from threadkeep.savers.store import ItemStore

StoreFactory = Callable[..., ItemStore]

SIBLINGS = [
    ("acme", "acme-corp"),
    ("john_doe", "john-doe"),
    ("100%", "100x"),
    ("a", "ab"),
    ("*", "anything"),
    ("a\\", "a\\b"),
    ("x?", "xy"),
    ("[a]", "a"),
]


@pytest.fixture(
    params=[
        "memory_store",
        "sqlite_store",
        pytest.param("postgres_store", marks=pytest.mark.servers),
    ]
)
def open_store(request: pytest.FixtureRequest) -> Iterator[StoreFactory]:
    """Opens clients of one storage, and closes them all after the test."""
    factory = getattr(store_factories, request.param)
    storage = uuid.uuid4().hex
    if request.param == "postgres_store":
        store_factories.SERVERS[storage] = request.getfixturevalue("postgres_module_url")
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(factory(storage, **options))
    store_factories.drop(storage)


def keys(items: list[Any]) -> list[str]:
    return sorted(item.key for item in items)


def value(item: Item | None) -> Any:
    assert item is not None
    return item.value


@pytest.mark.parametrize(("mine", "theirs"), SIBLINGS)
def test_p15_a_search_stays_inside_its_namespace(
    open_store: StoreFactory, mine: str, theirs: str
) -> None:
    store = open_store()
    try:
        store.put(("tenant", mine), "mine", {"v": 1})
    except ThreadkeepError:  # refused in our own words
        return
    store.put(("tenant", theirs), "theirs", {"v": 2})
    store.put(("tenant", mine, "deeper"), "deep", {"v": 3})
    assert keys(store.search(("tenant", mine))) == ["deep", "mine"]
    listed = store.list_namespaces(prefix=("tenant", mine))
    assert mine == "*" or ("tenant", theirs) not in listed
    assert store.get(("tenant", theirs), "mine") is None


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"n": {"$gt": 9}}, ["ten"]),
        ({"n": {"$lt": 10}}, ["minus", "nine"]),
        ({"n": {"$gte": 9, "$lte": 9}}, ["nine"]),
        ({"n": {"$gt": -5.5}}, ["nine", "ten"]),
        ({"n": 9}, ["nine"]),
        ({"n": {"$eq": 9.0}}, ["nine"]),
    ],
    ids=str,
)
def test_p17_numbers_compare_as_numbers_and_oddities_do_not_crash(
    open_store: StoreFactory, given: dict[str, Any], wanted: list[str]
) -> None:
    store = open_store()
    values = {"nine": 9, "ten": 10, "minus": -20, "text": "abc", "null": None, "list": [1]}
    for key, number in values.items():
        store.put(("n",), key, {"n": number})
    store.put(("n",), "absent", {"m": 1})
    assert keys(store.search(("n",), filter=given)) == sorted(wanted)


def test_p19_changing_a_value_you_hold_does_not_change_the_store(
    open_store: StoreFactory,
) -> None:
    store = open_store()
    held = {"likes": ["tea"]}
    store.put(("n",), "k", held)
    held["likes"].append("coffee")
    got = value(store.get(("n",), "k"))
    assert got == {"likes": ["tea"]}
    got["likes"].append("water")
    assert value(store.get(("n",), "k")) == {"likes": ["tea"]}
    store.search(("n",))[0].value["likes"].clear()
    assert value(store.get(("n",), "k")) == {"likes": ["tea"]}


def test_p19_writers_on_one_key_do_not_fail_and_one_wins(open_store: StoreFactory) -> None:
    store = open_store()

    def write(writer: int) -> None:
        for n in range(10):
            store.put(("n",), "k", {"by": writer, "n": n})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert value(store.get(("n",), "k"))["n"] == 9
    assert len(store.search(("n",))) == 1


def test_p27_four_clients_may_set_up_one_fresh_store(open_store: StoreFactory) -> None:
    clients = [open_store(setup=False) for _ in range(4)]
    gate, errors = threading.Barrier(4), list[Exception]()

    def setup(store: ItemStore) -> None:
        gate.wait(30)
        try:
            store.setup()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=setup, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    clients[0].put(("n",), "k", {"v": 1})
    assert value(clients[3].get(("n",), "k")) == {"v": 1}


def test_p39_a_five_megabyte_item(open_store: StoreFactory) -> None:
    store = open_store()
    text = "0123456789abcdef" * (5 * 1024 * 1024 // 16)
    store.put(("n",), "k", {"text": text})
    assert value(store.get(("n",), "k"))["text"] == text
    store.delete(("n",), "k")
    assert store.get(("n",), "k") is None
