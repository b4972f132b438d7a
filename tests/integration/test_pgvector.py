"""What only PostgreSQL has: pgvector exact and by HNSW, made, mended and taken back."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from threadkeep.drivers.postgres import item_ranking
from threadkeep.errors import NotSupportedError
from threadkeep.model.item_index import IndexSpec, Passage
from threadkeep.model.items import ItemQuery, PutItem
from threadkeep.ports.drivers import open_driver
from threadkeep.ports.resources import ResourceStore

DIMS = 16
EXACT = IndexSpec("it", DIMS)
HNSW = IndexSpec("it", DIMS, hnsw=True)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[ResourceStore]:
    driver = open_driver(postgres_url)
    resources = driver.resources()
    await resources.setup()
    yield resources
    await asyncio.to_thread(driver.close)


def vectors(count: int) -> list[list[float]]:
    """Return vectors around a few topics, as sentences have them."""
    chance = random.Random(7)
    topics = [[chance.gauss(0, 1) for _ in range(DIMS)] for _ in range(12)]
    return [[each + chance.gauss(0, 0.6) for each in chance.choice(topics)] for _ in range(count)]


async def fill(store: ResourceStore, count: int) -> None:
    puts = [
        PutItem(
            ("a" if n % 10 else "rare",),
            f"{n:05}",
            {"tenth": n % 10, "hundredth": n % 100},
            passages=[Passage(f"text {n}", vector)],
        )
        for n, vector in enumerate(vectors(count))
    ]
    await store.items.apply(puts)


async def found(store: ResourceStore, **query: Any) -> list[str]:
    rows = (await store.items.search(ItemQuery(**query))).rows
    return [item.key for item in rows]


def executed(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


HNSW_INDEXES = """
    SELECT relname::text, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE relname LIKE 'item_vectors_hnsw%'
"""


@pytest.mark.parametrize("few", [0, item_ranking.FEW], ids=["approximately", "exactly"])
async def test_hnsw_finds_nearly_all_and_never_too_few(
    store: ResourceStore, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_ranking, "FEW", few)
    await store.items.use_index(HNSW)
    await fill(store, 2000)
    hits = wanted = 0
    for question in vectors(2020)[2000:]:
        for more in (
            {},
            {"prefix": ("a",)},
            {"filter": {"tenth": 3}},
            {"filter": {"hundredth": 3}},
            {"prefix": ("rare",), "filter": {"hundredth": 30}},
        ):
            near = await found(store, vector=question, limit=10, **more)
            await store.items.use_index(EXACT)
            exact = await found(store, vector=question, limit=10, **more)
            await store.items.use_index(HNSW)
            assert len(near) == len(exact) == 10
            hits += len(set(near) & set(exact))
            wanted += 10
    assert hits / wanted >= 0.95


async def test_an_approximate_search_uses_the_index(
    store: ResourceStore, postgres_url: str
) -> None:
    await store.items.use_index(HNSW)
    await fill(store, 500)
    assert executed(postgres_url, HNSW_INDEXES) == [("item_vectors_hnsw_1", True)]
    scans = "SELECT idx_scan FROM pg_stat_all_indexes WHERE indexrelname = 'item_vectors_hnsw_1'"
    await found(store, vector=vectors(1)[0], limit=10)
    await asyncio.sleep(0)
    executed(postgres_url, "SELECT pg_stat_force_next_flush()")
    for _ in range(200):
        if executed(postgres_url, scans)[0][0]:
            break
        await asyncio.sleep(0.05)
    else:
        raise AssertionError("the index was never scanned")


async def test_hnsw_is_turned_off_by_tidying(store: ResourceStore, postgres_url: str) -> None:
    await store.items.use_index(HNSW)
    await fill(store, 50)
    await store.items.use_index(EXACT)
    before = await found(store, vector=vectors(1)[0])
    assert len(executed(postgres_url, HNSW_INDEXES)) == 1
    await store.items.tidy_index()
    assert executed(postgres_url, HNSW_INDEXES) == []
    assert await found(store, vector=vectors(1)[0]) == before
    await store.items.use_index(HNSW)
    await store.items.tidy_index()
    assert len(executed(postgres_url, HNSW_INDEXES)) == 1


async def test_an_index_whose_building_broke_off_is_made_anew(
    store: ResourceStore, postgres_url: str
) -> None:
    await store.items.use_index(HNSW)
    await fill(store, 50)
    executed(
        postgres_url,
        "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'item_vectors_hnsw_1'::regclass",
    )
    await store.items.use_index(HNSW)
    assert executed(postgres_url, HNSW_INDEXES) == [("item_vectors_hnsw_1", True)]
    assert len(await found(store, vector=vectors(1)[0], limit=10)) == 10


async def test_several_processes_may_make_an_index_at_once(
    store: ResourceStore, postgres_url: str
) -> None:
    drivers = [open_driver(postgres_url) for _ in range(4)]
    try:
        await asyncio.gather(*(each.resources().items.use_index(HNSW) for each in drivers))
        await asyncio.gather(*(fill(each.resources(), 20) for each in drivers))
    finally:
        for each in drivers:
            await asyncio.to_thread(each.close)
    await store.items.use_index(HNSW)
    assert len(await found(store, vector=vectors(1)[0], limit=100)) == 20
    assert len(executed(postgres_url, HNSW_INDEXES)) == 1


async def test_no_extension_is_made_without_an_index(postgres_url: str) -> None:
    executed(postgres_url, "DROP EXTENSION vector")
    driver = open_driver(postgres_url)
    resources = driver.resources()
    await resources.setup()
    await resources.items.put(("n",), "k", {})
    extensions = "SELECT extname FROM pg_extension WHERE extname = 'vector'"
    assert executed(postgres_url, extensions) == []
    await resources.items.use_index(EXACT)
    assert executed(postgres_url, extensions) == [("vector",)]
    await asyncio.to_thread(driver.close)


@pytest.mark.parametrize(
    ("installed", "is_available", "spec", "words"),
    [
        (None, False, EXACT, "which this PostgreSQL server does not have"),
        ("0.7.4", True, HNSW, "needs pgvector 0.8, and the server has 0.7.4"),
        ("0.8.0", True, IndexSpec("it", 2001, hnsw=True), "at most 2000 numbers"),
    ],
)
async def test_what_the_server_lacks_is_named(
    store: ResourceStore,
    installed: str | None,
    is_available: bool,
    spec: IndexSpec,
    words: str,
) -> None:
    ranker: Any = store.items._ranking._ranker  # type: ignore[attr-defined]
    claims = f"SELECT {installed!r} AS installed, {is_available} AS is_available"
    ranker._resources.define("vector_extension", claims.replace("None", "NULL::text"))
    with pytest.raises(NotSupportedError, match=words):
        await store.items.use_index(spec)


async def test_an_old_pgvector_searches_exactly(store: ResourceStore) -> None:
    ranker: Any = store.items._ranking._ranker  # type: ignore[attr-defined]
    ranker._resources.define(
        "vector_extension", "SELECT '0.5.1'::text AS installed, TRUE AS is_available"
    )
    await store.items.use_index(EXACT)
    await fill(store, 20)
    assert len(await found(store, vector=vectors(1)[0], limit=10)) == 10


async def test_who_may_not_make_the_extension_is_told(postgres_url: str) -> None:
    executed(postgres_url, "DROP EXTENSION vector")
    name = "reader_" + postgres_url.rsplit("_", 1)[1][:12]
    executed(postgres_url, f"CREATE ROLE {name} LOGIN")
    executed(postgres_url, f"CREATE SCHEMA own AUTHORIZATION {name}")
    driver = open_driver(postgres_url.replace("postgres@", f"{name}@") + "?schema=own")
    resources = driver.resources()
    await resources.setup()
    with pytest.raises(NotSupportedError, match="CREATE EXTENSION vector"):
        await resources.items.use_index(EXACT)
    await asyncio.to_thread(driver.close)
    executed(postgres_url, f"DROP OWNED BY {name} CASCADE")
    executed(postgres_url, f"DROP ROLE {name}")
