"""How much of what exact search finds HNSW finds, over sentences embedded by the bundled model."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.memory import embedded
from benchmarks.memory_corpus import sentences
from threadkeep.drivers.postgres import item_ranking
from threadkeep.model.item_index import IndexSpec, Passage
from threadkeep.model.items import ItemQuery, PutItem
from threadkeep.ports.drivers import open_driver
from threadkeep.ports.resources import ResourceStore
from threadkeep.savers.embedding import DEFAULT, DEFAULT_DIMS

EXACT = IndexSpec(DEFAULT, DEFAULT_DIMS)
HNSW = IndexSpec(DEFAULT, DEFAULT_DIMS, hnsw=True)
QUESTIONS = 20
TOP = 10
BATCH = 500
# What each filter leaves of all items, as one in so many.
LEFT = (1, 2, 10, 100, 1000)

pytestmark = pytest.mark.anyio


async def filled(store: ResourceStore, count: int) -> list[Sequence[float]]:
    """Put sentences, and return vectors of others to ask by."""
    texts = list(sentences(count + QUESTIONS))
    vectors = embedded(texts)
    for start in range(0, count, BATCH):
        await store.items.apply(
            [
                PutItem(
                    ("notes",),
                    f"{n:06}",
                    {f"in{left}": n % left for left in LEFT},
                    passages=[Passage(texts[n], vectors[texts[n]])],
                )
                for n in range(start, min(start + BATCH, count))
            ]
        )
    return [vectors[text] for text in texts[count:]]


async def answers(
    store: ResourceStore, questions: Sequence[Sequence[float]], filter: Any
) -> list[set[str]]:
    """Return what a search finds for each question."""
    found = []
    for vector in questions:
        listing = await store.items.search(ItemQuery(vector=vector, filter=filter, limit=TOP))
        found.append({item.key for item in listing.rows})
    return found


async def check_recall(url: str, count: int) -> None:
    driver = open_driver(url)
    try:
        store = driver.resources()
        await store.setup()
        await store.items.use_index(EXACT)
        questions = await filled(store, count)
        await store.items.use_index(HNSW)
        for left in LEFT:
            filter = {f"in{left}": 0} if left > 1 else {}
            near = await answers(store, questions, filter)
            await store.items.use_index(EXACT)
            exact = await answers(store, questions, filter)
            await store.items.use_index(HNSW)
            wanted = min(TOP, count // left)
            assert {len(each) for each in (*near, *exact)} == {wanted}, left
            hits = sum(len(each & best) for each, best in zip(near, exact, strict=True))
            assert hits / (wanted * QUESTIONS) >= 0.95, left
    finally:
        await asyncio.to_thread(driver.close)


@pytest.mark.servers
@pytest.mark.timeout(600)
async def test_hnsw_finds_what_exact_search_finds_in_5000_sentences(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_ranking, "FEW", 20)  # so that filters do not make it exact
    await check_recall(postgres_url, 5_000)


@pytest.mark.servers
@pytest.mark.soak
async def test_hnsw_finds_what_exact_search_finds_in_100000_sentences(postgres_url: str) -> None:
    await check_recall(postgres_url, 100_000)
