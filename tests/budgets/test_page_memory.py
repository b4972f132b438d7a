"""What a full page of large rows takes in memory: a few times its bytes, and never more rows."""

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.model.items import ItemQuery
from threadkeep.model.queries import ThreadQuery
from threadkeep.model.threads import NewThread
from threadkeep.ports.resources import ResourceStore

PAGE = 16  # rows; one of 1,000 takes so many times more
ROW_BYTES = 1_000_000
MOST = 3.0  # times the bytes of a page: rows as the database gives them, and what they stand for
LEAST = 0.05  # of a page of which nothing large is selected


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ResourceStore]:
    if request.param == "memory":
        yield MemoryResourceStore(max_page_size=PAGE)
        return
    database = SqliteDatabase(Address(tmp_path / "pages.db"))
    database.setup_now()
    yield SqliteResourceStore(database, max_page_size=PAGE)
    database.close()


async def fill(store: ResourceStore) -> None:
    for number in range(PAGE + 4):
        large = {"text": "x" * ROW_BYTES, "n": number}
        await store.items.put(("n",), f"k{number}", large)
        await store.threads.create(NewThread(f"t{number}", large))


def peak_of(store: ResourceStore, search: Callable[[], Awaitable[Any]]) -> float:
    """Return the most memory a search takes at once, in times the bytes of a full page."""

    async def measure() -> int:
        tracemalloc.start()
        page = await search()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (len(page.rows), page.total, page.next_offset) == (PAGE, PAGE + 4, PAGE)
        return peak

    asyncio.run(fill(store))
    return asyncio.run(measure()) / (PAGE * ROW_BYTES)


def test_a_page_of_large_items_takes_little_more_than_they_do(store: ResourceStore) -> None:
    assert peak_of(store, lambda: store.items.search(ItemQuery())) < MOST


def test_a_page_of_large_threads_takes_little_more_than_they_do(store: ResourceStore) -> None:
    assert peak_of(store, lambda: store.threads.search(ThreadQuery())) < MOST


def test_what_is_not_selected_is_not_read(store: ResourceStore) -> None:
    assert peak_of(store, lambda: store.threads.search(ThreadQuery(select=[]))) < LEAST
