"""What a page is, the same on every list of every store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.model.assistants import AssistantPatch
from threadkeep.model.items import ItemQuery, NamespaceQuery
from threadkeep.model.queries import (
    AssistantQuery,
    CronQuery,
    DeliveryQuery,
    Listing,
    RunQuery,
    ThreadQuery,
    VersionQuery,
)
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.builders import add_thread, enqueue, new_assistant
from threadkeep.testing.resources.crons import add_cron
from threadkeep.testing.resources.deliveries import new_delivery
from threadkeep.testing.resources.suite import PAGE_SIZE, ResourceSuite

Lister = Callable[..., Awaitable[Listing[Any]]]
TOTAL = PAGE_SIZE + 5


@dataclass(frozen=True)
class Listed:
    """One list of a store: how to fill it with ``TOTAL`` rows, and how to read a page."""

    name: str
    fill: Callable[[ResourceStore], Awaitable[None]]
    page: Callable[[ResourceStore], Lister]

    def __str__(self) -> str:
        return self.name


async def _assistants(store: ResourceStore) -> None:
    await store.assistants.ensure([new_assistant(f"a{number:03}") for number in range(TOTAL)])


async def _versions(store: ResourceStore) -> None:
    await store.assistants.create(new_assistant("a1"))
    for _ in range(TOTAL - 1):
        await store.assistants.update("a1", AssistantPatch())


async def _threads(store: ResourceStore) -> None:
    for number in range(TOTAL):
        await add_thread(store, f"t{number:03}")


async def _runs(store: ResourceStore) -> None:
    await add_thread(store)
    for number in range(TOTAL):
        await enqueue(store, f"r{number:03}")


async def _items(store: ResourceStore) -> None:
    for number in range(TOTAL):
        await store.items.put((f"n{number:03}",), "k", {"x": 1})


async def _crons(store: ResourceStore) -> None:
    for number in range(TOTAL):
        await add_cron(store, f"c{number:03}")


async def _deliveries(store: ResourceStore) -> None:
    for number in range(TOTAL):
        await store.deliveries.add(new_delivery(f"d{number:03}"))


LISTS = [
    Listed(
        "assistants",
        _assistants,
        lambda store: lambda **cut: store.assistants.search(AssistantQuery(**cut)),
    ),
    Listed(
        "versions",
        _versions,
        lambda store: lambda **cut: store.assistants.list_versions("a1", VersionQuery(**cut)),
    ),
    Listed(
        "threads",
        _threads,
        lambda store: lambda **cut: store.threads.search(ThreadQuery(**cut)),
    ),
    Listed(
        "runs",
        _runs,
        lambda store: lambda **cut: store.runs.search(RunQuery(**cut)),
    ),
    Listed(
        "a thread's runs",
        _runs,
        lambda store: lambda **cut: store.runs.search(RunQuery(thread_id="t1", **cut)),
    ),
    Listed(
        "active runs",
        _runs,
        lambda store: lambda **cut: store.runs.search(RunQuery(statuses=["pending"], **cut)),
    ),
    Listed(
        "items",
        _items,
        lambda store: lambda **cut: store.items.search(ItemQuery(filter={"x": 1}, **cut)),
    ),
    Listed(
        "crons",
        _crons,
        lambda store: lambda **cut: store.crons.search(CronQuery(**cut)),
    ),
    Listed(
        "deliveries",
        _deliveries,
        lambda store: lambda **cut: store.deliveries.search(DeliveryQuery(run_id="r1", **cut)),
    ),
    Listed(
        "namespaces",
        _items,
        lambda store: lambda **cut: store.items.list_namespaces(NamespaceQuery(**cut)),
    ),
]


@pytest.mark.parametrize("listed", LISTS, ids=str)
class PagingSuite(ResourceSuite):
    """One case per promise of ``Listing`` and the page bound."""

    async def test_without_a_limit_a_page_has_the_bound(
        self, store: ResourceStore, listed: Listed
    ) -> None:
        await listed.fill(store)
        page = await listed.page(store)()
        assert (len(page.rows), page.total, page.next_offset) == (PAGE_SIZE, TOTAL, PAGE_SIZE)
        assert store.max_page_size == PAGE_SIZE

    async def test_a_larger_limit_is_clamped(self, store: ResourceStore, listed: Listed) -> None:
        await listed.fill(store)
        page = await listed.page(store)(limit=10 * TOTAL)
        assert (len(page.rows), page.total, page.next_offset) == (PAGE_SIZE, TOTAL, PAGE_SIZE)

    async def test_pages_meet_without_gap_or_overlap(
        self, store: ResourceStore, listed: Listed
    ) -> None:
        await listed.fill(store)
        lister = listed.page(store)
        whole = [*(await lister()).rows, *(await lister(offset=PAGE_SIZE)).rows]
        seen: list[Any] = []
        offset: int | None = 0
        while offset is not None:
            page = await lister(limit=7, offset=offset)
            assert page.total == TOTAL
            seen += page.rows
            offset = page.next_offset
        assert seen == whole
        assert len(seen) == TOTAL

    async def test_an_offset_needs_no_limit(self, store: ResourceStore, listed: Listed) -> None:
        await listed.fill(store)
        page = await listed.page(store)(offset=TOTAL - 3)
        assert (len(page.rows), page.total, page.next_offset) == (3, TOTAL, None)

    async def test_a_page_that_ends_with_the_rows_names_no_next(
        self, store: ResourceStore, listed: Listed
    ) -> None:
        await listed.fill(store)
        page = await listed.page(store)(limit=5, offset=TOTAL - 5)
        assert (len(page.rows), page.total, page.next_offset) == (5, TOTAL, None)

    async def test_beyond_the_rows_a_page_is_empty_and_still_counts(
        self, store: ResourceStore, listed: Listed
    ) -> None:
        await listed.fill(store)
        for offset in (TOTAL, TOTAL + 1, 2**31, 2**70):
            page = await listed.page(store)(offset=offset)
            assert (list(page.rows), page.total, page.next_offset) == ([], TOTAL, None)

    async def test_a_limit_of_zero_only_counts(self, store: ResourceStore, listed: Listed) -> None:
        await listed.fill(store)
        page = await listed.page(store)(limit=0)
        assert (list(page.rows), page.total, page.next_offset) == ([], TOTAL, None)

    async def test_an_empty_list_is_an_empty_page(
        self, store: ResourceStore, listed: Listed
    ) -> None:
        page = await listed.page(store)()
        assert (list(page.rows), page.total, page.next_offset) == ([], 0, None)

    async def test_negative_limits_and_offsets_are_refused(
        self, store: ResourceStore, listed: Listed
    ) -> None:
        for cut in ({"limit": -1}, {"offset": -1}, {"limit": -(2**70)}):
            with pytest.raises(InvalidRequestError):
                await listed.page(store)(**cut)


class CountSuite(ResourceSuite):
    """What a count is: of everything, whatever the page bound."""

    async def test_a_count_is_not_bounded(self, store: ResourceStore) -> None:
        for fill in (_assistants, _threads, _crons):
            await fill(store)
        await enqueue(store, "r", "t000")
        for number in range(TOTAL - 1):
            await enqueue(store, f"r{number:03}", "t001")
        assert await store.assistants.count(AssistantQuery()) == TOTAL
        assert await store.threads.count(ThreadQuery(limit=0)) == TOTAL
        assert await store.runs.count(RunQuery(statuses=["pending"])) == TOTAL
        assert await store.runs.count(RunQuery(thread_id="t000")) == 1
        assert await store.crons.count(CronQuery(offset=TOTAL)) == TOTAL
