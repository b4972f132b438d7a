"""The writer that the event loops of a process share on a PostgreSQL database.

Rows that one transaction wrote have one ``xmin``. Its gate, held by the test, keeps the writer from
beginning until all have been handed over.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import (
    AsyncPostgresDocumentStore,
    PostgresDocumentStore,
)
from threadkeep.drivers.postgres.resources import PostgresResourceStore
from threadkeep.drivers.sql import jobs
from threadkeep.errors import AlreadyExistsError, StorageError, UnavailableError
from threadkeep.model.runs import Claim, NewRun, Outcome
from threadkeep.model.threads import NewThread, Thread
from threadkeep.ports.documents import ITEMS, Batch, Find, Scope
from threadkeep.testing.builders import THREAD, item

pytestmark = pytest.mark.anyio

SCOPE = Scope("tests", "agent.v1")
NEVER_SECONDS = 3600.0  # a linger that does not end within a test
OWNER = Claim("owner", 60)


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(parse(postgres_url, {}))
    opened.setup()
    yield opened
    opened.close()


@pytest.fixture
def resources(database: PostgresDatabase) -> PostgresResourceStore:
    return PostgresResourceStore(database)


@pytest.fixture
def awaiting(database: PostgresDatabase) -> AsyncPostgresDocumentStore:
    return AsyncPostgresDocumentStore(database)


@asynccontextmanager
async def held(database: PostgresDatabase) -> AsyncIterator[None]:
    """Keep the writer from beginning; what is handed over meanwhile waits together."""
    with database._writer._gate:
        yield


def transactions(url: str, *tables: str) -> set[Any]:
    """Return which transactions wrote the rows of some tables."""
    with psycopg.connect(url) as connection:
        rows = [connection.execute(f"SELECT xmin::text FROM {table}") for table in tables]
        return {row[0] for found in rows for row in found.fetchall()}


async def started(resources: PostgresResourceStore, number: int) -> None:
    await resources.threads.create(NewThread(f"t{number}", {}))
    await resources.runs.admit(NewRun(f"r{number}", f"t{number}", "a", {}), claim=OWNER)


async def test_what_waits_together_is_one_transaction(
    database: PostgresDatabase, resources: PostgresResourceStore, postgres_url: str
) -> None:
    async with held(database):
        creations = [
            asyncio.create_task(resources.threads.create(NewThread(f"t{number}", {})))
            for number in range(20)
        ]
        await asyncio.sleep(0)
    await asyncio.gather(*creations)
    assert len(transactions(postgres_url, "threads", "thread_search")) <= 2


async def test_an_error_is_its_own_jobs_only(
    database: PostgresDatabase, resources: PostgresResourceStore
) -> None:
    await started(resources, 1)

    def refuse() -> None:
        raise UnavailableError("not yet")

    settle = resources.runs.settle
    async with held(database):
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(resources.threads.create(NewThread("before", {}))),
            asyncio.create_task(resources.threads.create(NewThread("t1", {}))),
            asyncio.create_task(
                settle("r1", fence=1, outcome=Outcome("success"), state=None, check=refuse)
            ),
            asyncio.create_task(resources.threads.create(NewThread("behind", {}))),
        ]
        await asyncio.sleep(0)
    before, taken, refused, behind = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(before, Thread)
    assert isinstance(behind, Thread)
    assert isinstance(taken, AlreadyExistsError)
    assert isinstance(refused, UnavailableError)
    run = await resources.runs.get("r1")
    assert run is not None
    assert run.status == "running"


async def test_what_a_run_staged_is_committed_with_its_settle(
    awaiting: AsyncPostgresDocumentStore, resources: PostgresResourceStore, postgres_url: str
) -> None:
    await started(resources, 1)
    first = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    second = awaiting.stage(SCOPE, Batch([item(2)]), within_seconds=NEVER_SECONDS, after=first)
    seen: list[Any] = []

    def check() -> None:
        seen.extend([first.so_far(), second.so_far()])

    await resources.runs.settle("r1", fence=1, outcome=Outcome("success"), state=None, check=check)
    assert [each.written for each in seen] == [True, True]
    assert len(transactions(postgres_url, "addressed_documents", "runs", "threads")) == 1


async def test_a_blocking_reader_sees_what_was_staged(
    database: PostgresDatabase, awaiting: AsyncPostgresDocumentStore
) -> None:
    awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    blocking = PostgresDocumentStore(database)
    assert blocking.count(SCOPE, Find(ITEMS, THREAD)) == 1, "on the loop's own thread"
    awaiting.stage(SCOPE, Batch([item(2)]), within_seconds=NEVER_SECONDS)
    counted = await asyncio.to_thread(blocking.count, SCOPE, Find(ITEMS, THREAD))
    assert counted == 2


async def test_a_resource_reader_sees_what_was_staged(
    awaiting: AsyncPostgresDocumentStore, resources: PostgresResourceStore
) -> None:
    staged = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    assert await resources.threads.get("t") is None
    assert staged.so_far() is not None


async def test_closing_commits_what_was_staged(
    database: PostgresDatabase, awaiting: AsyncPostgresDocumentStore, postgres_url: str
) -> None:
    staged = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    await awaiting.close()
    assert (await staged.committed()).written
    with pytest.raises(StorageError, match="closed"):
        awaiting.stage(SCOPE, Batch([item(2)]), within_seconds=NEVER_SECONDS)
    assert len(transactions(postgres_url, "addressed_documents")) == 1


async def test_more_than_the_queue_holds_is_refused(
    database: PostgresDatabase,
    awaiting: AsyncPostgresDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "MAX_WAITING", 3)
    for number in range(3):
        awaiting.stage(SCOPE, Batch([item(number)]), within_seconds=NEVER_SECONDS)
    with pytest.raises(UnavailableError, match="3 writes are waiting"):
        awaiting.stage(SCOPE, Batch([item(4)]), within_seconds=NEVER_SECONDS)
    assert (
        await asyncio.to_thread(PostgresDocumentStore(database).count, SCOPE, Find(ITEMS, THREAD))
        == 3
    )


async def test_a_deadlock_with_another_process_is_run_apart(
    database: PostgresDatabase, resources: PostgresResourceStore, postgres_url: str
) -> None:
    for number in (1, 2):
        await resources.threads.create(NewThread(f"t{number}", {}))
    lock = "SELECT FROM threads WHERE thread_id = %s FOR UPDATE"
    with psycopg.connect(postgres_url) as other:
        other.execute("SET deadlock_timeout = '1h'")  # so that the writer is the one undone
        other.execute(lock, ["t2"])
        async with held(database):
            updates = [
                asyncio.create_task(resources.threads.update(name, metadata={"a": 1}))
                for name in ("t1", "t2")
            ]
            await asyncio.sleep(0)
        await asyncio.to_thread(_meet, other, lock)
        other.commit()
    assert [thread.metadata for thread in await asyncio.gather(*updates)] == [{"a": 1}] * 2


def _meet(other: psycopg.Connection[Any], lock: str) -> None:
    """Wait until the writer waits for this transaction, then wait for it."""
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with psycopg.connect(other.info.dsn, password=other.info.password) as watcher:
        watcher.autocommit = True
        while watcher.execute(waits).fetchone() == (0,):
            pass
    other.execute(lock, ["t1"])
