"""Documents on PostgreSQL: connections that end, event loops, processes, schemas, and errors."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.postgres_resources import tables as tables_made
from threadkeep.drivers import postgres
from threadkeep.drivers.postgres import pools
from threadkeep.drivers.postgres.address import DIRECT_URL, parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import (
    AsyncPostgresDocumentStore,
    PostgresDocumentStore,
)
from threadkeep.drivers.postgres.migrating import MIGRATIONS
from threadkeep.drivers.sql import migrate
from threadkeep.errors import (
    SchemaTooNewError,
    StorageError,
    UnavailableError,
)
from threadkeep.ports.documents import CHECKPOINTS, ITEMS, Batch, Find, Pruned, Pruning, Scope
from threadkeep.ports.drivers import DriverOptions
from threadkeep.testing.builders import THREAD, address, checkpoint, item

SCOPE = Scope("tests", "agent.v1")
ENDS = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
    and application_name = 'threadkeep'
"""


def opened(url: str) -> PostgresDatabase:
    return PostgresDatabase(parse(url, {}))


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    made = opened(postgres_url)
    made.setup()
    yield made
    made.close()


@pytest.fixture
def ended(postgres_url: str) -> Iterator[Callable[[], int]]:
    """End all connections of stores; say how many there were."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:

        def end() -> int:
            row = connection.execute(ENDS).fetchone()
            assert row is not None
            return int(row[0])

        yield end


def test_four_processes_set_up_a_fresh_schema_at_once(postgres_url: str) -> None:
    script = """
        import sys
        from threadkeep.drivers import postgres
        from threadkeep.ports.documents import Batch, Scope
        from threadkeep.ports.drivers import DriverOptions
        from threadkeep.testing.builders import item

        driver = postgres.open(sys.argv[1], DriverOptions())
        driver.documents().setup()
        driver.documents().insert(Scope("tests", "agent.v1"), Batch([item(int(sys.argv[2]))]))
        driver.close()
    """
    url = f"{postgres_url}?schema=fresh"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), url, str(number)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    store = PostgresDocumentStore(opened(url))
    assert store.count(SCOPE, Find(ITEMS)) == 4
    store.close()


def test_eight_threads_set_up_at_once(postgres_url: str) -> None:
    databases = [opened(postgres_url) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(PostgresDatabase.setup, databases))
    for each in databases:
        each.close()


def test_connections_that_the_server_ended_are_replaced(
    database: PostgresDatabase, ended: Callable[[], int]
) -> None:
    store = PostgresDocumentStore(database)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: store.insert(SCOPE, Batch([item(n)])), range(20)))
    assert ended()
    assert store.count(SCOPE, Find(ITEMS)) == 20
    assert ended()
    assert store.insert(SCOPE, Batch([item(20)])).written
    assert ended()
    assert store.erase(SCOPE, item(1).thread_id) == 21


@pytest.mark.anyio
async def test_connections_of_a_loop_that_the_server_ended_are_replaced(
    database: PostgresDatabase, ended: Callable[[], int]
) -> None:
    store = AsyncPostgresDocumentStore(database)
    await asyncio.gather(*(store.insert(SCOPE, Batch([item(n)])) for n in range(20)))
    assert ended()
    counted = await asyncio.gather(*(store.count(SCOPE, Find(ITEMS)) for _ in range(8)))
    assert counted == [20] * 8
    assert ended()
    assert (await store.insert(SCOPE, Batch([item(20)]))).written
    await store.close()


def test_nothing_is_lost_while_the_server_ends_connections_all_the_time(
    database: PostgresDatabase, ended: Callable[[], int]
) -> None:
    store = PostgresDocumentStore(database)
    stop = threading.Event()
    ends = 0

    def interfere() -> None:
        nonlocal ends
        while not stop.wait(0.05):
            ends += ended()

    interfering = threading.Thread(target=interfere)
    interfering.start()
    written = []
    try:
        for number in range(200):
            try:
                store.insert(SCOPE, Batch([item(number)], [checkpoint(number)]))
            except UnavailableError:
                continue  # five attempts met five ends: the caller knows
            written.append(number)
    finally:
        stop.set()
        interfering.join()
    assert ends
    assert len(written) > 100
    found = store.fetch(SCOPE, item(0).thread_id, [address(number) for number in written])
    assert len(found.documents) == len(written)
    assert store.count(SCOPE, Find(CHECKPOINTS)) >= len(written)


def test_one_store_serves_threads_and_event_loops_at_once(database: PostgresDatabase) -> None:
    blocking, awaiting = PostgresDocumentStore(database), AsyncPostgresDocumentStore(database)

    async def several(first: int) -> None:
        numbers = range(first, first + 20)
        await asyncio.gather(*(awaiting.insert(SCOPE, Batch([item(n)])) for n in numbers))

    with ThreadPoolExecutor(4) as threads:
        loops = [threads.submit(asyncio.run, several(first)) for first in (0, 20, 40)]
        for number in range(60, 80):
            blocking.insert(SCOPE, Batch([item(number)]))
        for loop in loops:
            loop.result()
    assert blocking.count(SCOPE, Find(ITEMS)) == 80


def test_the_connections_of_a_loop_end_with_it(
    database: PostgresDatabase, postgres_url: str
) -> None:
    store = AsyncPostgresDocumentStore(database)
    with psycopg.connect(postgres_url, autocommit=True) as connection:

        def count() -> int:
            row = connection.execute(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and application_name = 'threadkeep'"
            ).fetchone()
            assert row is not None
            return int(row[0])

        async def use() -> int:
            await store.count(SCOPE, Find(ITEMS))
            return count()

        before = count()
        for _ in range(3):
            assert asyncio.run(use()) == before + 1
        assert _soon(lambda: count() == before)


def _soon(holds: Callable[[], bool]) -> bool:
    """Say whether something holds within a moment: the server notices an end a little later."""
    wait = threading.Event()
    return any(holds() or wait.wait(0.02) for _ in range(250))


@pytest.mark.anyio
async def test_a_store_closes_from_its_own_loop_and_from_a_thread(postgres_url: str) -> None:
    for close in (_close_here, _close_in_a_thread, _close_awaiting):
        made = opened(postgres_url)
        store = AsyncPostgresDocumentStore(made)
        await store.setup()
        await store.insert(SCOPE, Batch([item(1)]))
        await close(made)
        with pytest.raises(StorageError, match="closed"):
            await store.count(SCOPE, Find(ITEMS))
        await asyncio.sleep(0)


async def _close_here(database: PostgresDatabase) -> None:
    database.close()


async def _close_in_a_thread(database: PostgresDatabase) -> None:
    await asyncio.to_thread(database.close)


async def _close_awaiting(database: PostgresDatabase) -> None:
    await database.aclose()


@pytest.mark.anyio
async def test_a_caller_that_stops_waiting_leaves_a_usable_store(
    database: PostgresDatabase, postgres_url: str
) -> None:
    store = AsyncPostgresDocumentStore(database)
    await store.insert(SCOPE, Batch([item(1)]))
    with psycopg.connect(postgres_url) as holder:
        holder.execute("select from document_threads for update")
        waiting = [
            asyncio.create_task(store.insert(SCOPE, Batch([item(number)])))
            for number in range(2, 12)
        ]
        await asyncio.sleep(0.1)
        for task in waiting[::2]:
            task.cancel()
        await asyncio.wait(waiting[::2])
        holder.rollback()
        done = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(each, asyncio.CancelledError) for each in done] == [True, False] * 5
    assert await store.count(SCOPE, Find(ITEMS)) == 11, "what was handed over is written"
    await store.close()


def test_who_gets_no_connection_in_time_is_told(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "WAIT_SECONDS", 0.05)
    made = opened(f"{postgres_url}?pool_max_size=1")

    async def count() -> int:
        async with made._pools.awaiting().connection():
            return await AsyncPostgresDocumentStore(made).count(SCOPE, Find(ITEMS))

    busy = pytest.raises(UnavailableError, match="all 1 connections")
    with made._pools.blocking().connection(), busy:
        PostgresDocumentStore(made).count(SCOPE, Find(ITEMS))
    with pytest.raises(UnavailableError, match="all 1 connections"):
        asyncio.run(count())
    made.close()


def test_a_forked_child_is_told_to_open_the_store_itself(database: PostgresDatabase) -> None:
    store = PostgresDocumentStore(database)
    child = os.fork()
    if child == 0:
        try:
            store.count(SCOPE, Find(ITEMS))
        except StorageError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert store.count(SCOPE, Find(ITEMS)) == 0


@pytest.mark.parametrize("schema", ["one", 'Odd "name"; x', "ünï"])
def test_schemas_of_one_database_are_apart(postgres_url: str, schema: str) -> None:
    here = PostgresDocumentStore(opened(f"{postgres_url}?schema={schema}"))
    there = PostgresDocumentStore(opened(postgres_url))
    here.setup()
    with pytest.raises(StorageError, match="not set up"):
        there.count(SCOPE, Find(ITEMS))
    there.setup()
    here.insert(SCOPE, Batch([item(1)]))
    assert (here.count(SCOPE, Find(ITEMS)), there.count(SCOPE, Find(ITEMS))) == (1, 0)
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute(
            "select count(*) from pg_tables where schemaname = %s", [schema]
        ).fetchone()
    assert tables == (len(tables_made()) + 1,)  # and the ledger
    here.close()
    there.close()


def test_a_schema_of_a_newer_release_is_refused_and_left_alone(
    database: PostgresDatabase, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("insert into threadkeep_migrations values (99, 'later')")
        with pytest.raises(SchemaTooNewError, match="schema 99"):
            database.setup()
        with pytest.raises(SchemaTooNewError, match="schema 99"):
            asyncio.run(database.asetup())
        rows = connection.execute("select count(*) from threadkeep_migrations").fetchone()
    assert rows == (len(migrate.load(MIGRATIONS)) + 1,)


def test_a_schema_of_an_older_release_is_migrated_with_what_it_holds(
    database: PostgresDatabase, postgres_url: str
) -> None:
    store = PostgresDocumentStore(database)
    store.insert(SCOPE, Batch([item(1), checkpoint(1)]))
    with psycopg.connect(postgres_url) as connection:
        connection.execute("drop table document_erasures, document_leases")
        connection.execute("delete from threadkeep_migrations where number = 2")
    with pytest.raises(StorageError, match="not set up"):
        store.lease(SCOPE, THREAD, 1)
    store.setup()
    assert store.prune(SCOPE, THREAD, Pruning([])) == Pruned(True, 0, 0, 1)
    assert store.erase(SCOPE, THREAD) == 1
    assert store.lease(SCOPE, THREAD, 1) is not None


def test_migrations_use_the_direct_address(postgres_url: str) -> None:
    nowhere = urlsplit(postgres_url)._replace(netloc="postgres@127.0.0.1:1").geturl()
    made = PostgresDatabase(parse(nowhere, {DIRECT_URL: postgres_url}))
    made.setup()
    asyncio.run(made.asetup())
    made.close()
    opened(postgres_url).close()


def test_no_error_names_a_password() -> None:
    made = opened("postgresql://someone:verysecret@127.0.0.1:1/nowhere?connect_timeout=1")
    failures: list[BaseException] = []
    calls: list[Callable[[], None]] = [made.setup, lambda: asyncio.run(made.asetup())]
    for call in calls:
        with pytest.raises(UnavailableError) as caught:
            call()
        failures.append(caught.value)
    made.close()
    for failure in failures:
        assert "verysecret" not in f"{failure} {failure!r} {failure.__cause__!r}"


def test_a_key_longer_than_an_index_takes_is_named(database: PostgresDatabase) -> None:
    store = PostgresDocumentStore(database)
    ident = os.urandom(4000).hex()
    with pytest.raises(StorageError, match="a key is longer"):
        store.insert(SCOPE, Batch([checkpoint(ident)]))
    assert store.count(SCOPE, Find(CHECKPOINTS)) == 0


def test_a_driver_answers_with_the_same_objects(postgres_url: str) -> None:
    driver = postgres.open(postgres_url, DriverOptions(max_page_size=3))
    assert driver.documents() is driver.documents()
    assert driver.async_documents() is driver.async_documents()
    assert driver.resources() is driver.resources()
    assert driver.resources().max_page_size == 3
    driver.close()
    driver.close()


def test_statements_are_prepared_where_the_address_says_so(postgres_url: str) -> None:
    store = PostgresDocumentStore(opened(f"{postgres_url}?prepared_statements=on"))
    store.setup()
    for number in range(10):
        assert store.insert(SCOPE, Batch([item(number)], [checkpoint(number)])).written
        assert store.count(SCOPE, Find(ITEMS)) == number + 1
    store.close()
