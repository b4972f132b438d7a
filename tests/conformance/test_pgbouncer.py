"""PostgreSQL behind PgBouncer in transaction mode: documents, savers on both faces, resources."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.postgres_resources import empty
from tests.postgres_savers import aopened_saver, opened_saver
from tests.servers.pgbouncer import is_installed, pooled
from threadkeep.drivers.postgres.address import DIRECT_URL, parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import (
    AsyncPostgresDocumentStore,
    PostgresDocumentStore,
)
from threadkeep.drivers.postgres.migrating import MIGRATIONS
from threadkeep.drivers.postgres.resources import PostgresResourceStore
from threadkeep.drivers.sql import migrate
from threadkeep.ports.documents import ITEMS, AsyncDocumentStore, Batch, Find, Scope
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing import resources as suites
from threadkeep.testing.blocking_face import BlockingFace
from threadkeep.testing.builders import item
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.documents import DocumentStoreSuite
from threadkeep.testing.faces import Awaited
from threadkeep.testing.resources import PAGE_SIZE
from threadkeep.testing.savers import SaverSuite

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not is_installed(), reason="no PgBouncer on this machine"),
]

SCOPE = Scope("tests", "agent.v1")


@pytest.fixture(scope="module")
def pooled_url(postgres_module_url: str) -> Iterator[str]:
    with pooled(postgres_module_url) as url:
        yield url


class TestDocuments(DocumentStoreSuite):
    @pytest.fixture
    def store(self, pooled_url: str) -> AsyncDocumentStore:
        return Awaited(PostgresDocumentStore(PostgresDatabase(parse(pooled_url, {}))))


class TestAsyncDocuments(DocumentStoreSuite):
    @pytest.fixture
    def store(self, pooled_url: str) -> AsyncDocumentStore:
        return AsyncPostgresDocumentStore(PostgresDatabase(parse(pooled_url, {})))


class TestSavers(SaverSuite):
    @pytest.fixture
    def saver(self, pooled_url: str) -> Iterator[BlockingFace]:
        with opened_saver(pooled_url) as saver:
            yield BlockingFace(saver)


class Pooled:
    """Overrides the fixture that the suites of resources leave open."""

    @pytest.fixture
    def store(
        self, clock: ManualClock, pooled_url: str, postgres_module_url: str
    ) -> Iterator[ResourceStore]:
        database = PostgresDatabase(parse(pooled_url, {DIRECT_URL: postgres_module_url}))
        database.setup()
        empty(postgres_module_url)
        yield PostgresResourceStore(database, clock=clock, max_page_size=PAGE_SIZE)
        database.close()


class TestThreads(Pooled, suites.ThreadSuite): ...


class TestQueue(Pooled, suites.QueueSuite): ...


class TestItems(Pooled, suites.ItemSuite): ...


class TestPaging(Pooled, suites.PagingSuite): ...


def test_twenty_threads_and_a_loop_share_three_sessions(
    pooled_url: str, postgres_module_url: str
) -> None:
    address = parse(
        f"{pooled_url}?schema=shared&pool_max_size=20", {DIRECT_URL: postgres_module_url}
    )
    database = PostgresDatabase(address)
    database.setup()
    blocking, awaiting = PostgresDocumentStore(database), AsyncPostgresDocumentStore(database)

    async def several() -> None:
        batches = [Batch([item(1000 + number)]) for number in range(200)]
        await asyncio.gather(*(awaiting.insert(SCOPE, batch) for batch in batches))

    with ThreadPoolExecutor(21) as threads:
        loop = threads.submit(asyncio.run, several())
        batches = [Batch([item(number), item(number + 1)]) for number in range(400)]
        assert all(
            each.written for each in threads.map(lambda b: blocking.insert(SCOPE, b), batches)
        )
        loop.result()
    assert blocking.count(SCOPE, Find(ITEMS)) == 601
    database.close()


def test_processes_set_up_through_it_at_once(pooled_url: str) -> None:
    databases = [PostgresDatabase(parse(f"{pooled_url}?schema=fresh", {})) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(PostgresDatabase.setup, databases))
    with psycopg.connect(pooled_url) as connection:
        rows = connection.execute("select count(*) from fresh.threadkeep_migrations").fetchone()
    assert rows == (len(migrate.load(MIGRATIONS)),)


async def _read(url: str) -> bool:
    async with aopened_saver(url) as saver:
        return await saver.aget_tuple({"configurable": {"thread_id": "none"}}) is None


def test_a_saver_opens_and_closes_behind_it(pooled_url: str) -> None:
    assert asyncio.run(_read(pooled_url))
