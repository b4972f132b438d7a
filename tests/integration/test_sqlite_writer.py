"""The writer that all of a process shares on one SQLite file."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from threadkeep.drivers.sql import jobs
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import AsyncSqliteDocumentStore, SqliteDocumentStore
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.errors import InvalidRequestError, StorageError, UnavailableError
from threadkeep.ports.documents import ITEMS, Batch, Find, Scope
from threadkeep.testing.builders import address, checkpoint, item

pytestmark = pytest.mark.anyio

SCOPE = Scope("tests", "agent.v1")
NEVER_SECONDS = 3600.0  # a linger that does not end within a test


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(Address(tmp_path / "d.db"), wait_seconds=0.2)
    opened.setup_now()
    yield opened
    opened.close()


@pytest.fixture
def blocking(database: SqliteDatabase) -> SqliteDocumentStore:
    return SqliteDocumentStore(database)


@pytest.fixture
def awaiting(database: SqliteDatabase) -> AsyncSqliteDocumentStore:
    return AsyncSqliteDocumentStore(database)


@pytest.fixture
def transactions(database: SqliteDatabase) -> list[str]:
    """The transactions ended since, as COMMIT or ROLLBACK."""
    ended: list[str] = []

    def trace(statement: str) -> None:
        if statement in ("COMMIT", "ROLLBACK"):
            ended.append(statement)

    def watch(session: Session) -> None:
        session._connection.set_trace_callback(trace)

    database.write_now(watch)
    ended.clear()
    return ended


@pytest.fixture
def other_process(tmp_path: Path, database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    """A connection that SQLite takes for another process's; its file is made by then."""
    connection = sqlite3.connect(tmp_path / "d.db", isolation_level=None, check_same_thread=False)
    yield connection
    connection.close()


def count_of(store: SqliteDocumentStore) -> int:
    return store.count(SCOPE, Find(ITEMS))


async def test_staged_batches_leave_with_the_next_write_in_one_transaction(
    awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore, transactions: list[str]
) -> None:
    staged = [
        awaiting.stage(SCOPE, Batch([item(number)]), within_seconds=NEVER_SECONDS)
        for number in range(3)
    ]
    await awaiting.insert(SCOPE, Batch([item(9)]))
    for each in staged:
        assert (await each.committed()).written
    assert transactions == ["COMMIT"]
    assert count_of(blocking) == 4


async def test_staged_batches_leave_with_a_blocking_write_in_one_transaction(
    awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore, transactions: list[str]
) -> None:
    awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    blocking.insert(SCOPE, Batch([item(2)]))
    assert transactions == ["COMMIT"]


async def test_writes_handed_over_together_share_a_transaction(
    database: SqliteDatabase, awaiting: AsyncSqliteDocumentStore, transactions: list[str]
) -> None:
    with database._writer._gate:  # the writer's thread waits until all have been handed over
        inserts = [
            asyncio.ensure_future(awaiting.insert(SCOPE, Batch([item(number)])))
            for number in range(20)
        ]
        await asyncio.sleep(0)
    await asyncio.gather(*inserts)
    assert transactions == ["COMMIT"]


async def test_a_thousand_waiting_jobs_commit_by_the_hundred(
    awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore, transactions: list[str]
) -> None:
    for number in range(1000):
        awaiting.stage(SCOPE, Batch([item(number)]), within_seconds=NEVER_SECONDS)
    assert count_of(blocking) == 1000
    assert transactions == ["COMMIT"] * 4


async def test_more_than_a_bound_of_waiting_writes_is_refused(
    awaiting: AsyncSqliteDocumentStore,
    blocking: SqliteDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "MAX_WAITING", 3)
    for number in range(3):
        awaiting.stage(SCOPE, Batch([item(number)]), within_seconds=NEVER_SECONDS)
    with pytest.raises(UnavailableError, match="waiting"):
        awaiting.stage(SCOPE, Batch([item(4)]), within_seconds=NEVER_SECONDS)
    assert count_of(blocking) == 3
    awaiting.stage(SCOPE, Batch([item(5)]), within_seconds=NEVER_SECONDS)
    assert count_of(blocking) == 4


async def test_what_was_staged_commits_within_its_time(
    awaiting: AsyncSqliteDocumentStore, transactions: list[str]
) -> None:
    staged = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=0.01)
    async with asyncio.timeout(10):
        assert (await staged.committed()).written
    assert transactions == ["COMMIT"]


async def test_an_earlier_due_batch_takes_those_before_it_along(
    awaiting: AsyncSqliteDocumentStore, transactions: list[str]
) -> None:
    late = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    soon = awaiting.stage(SCOPE, Batch([item(2)]), within_seconds=0.01)
    async with asyncio.timeout(10):
        await soon.committed()
        await late.committed()
    assert transactions == ["COMMIT"]


async def test_every_read_sees_what_was_staged_before_it(
    awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore
) -> None:
    awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    assert (await awaiting.fetch(SCOPE, "thread-1", [address(1)])).documents
    awaiting.stage(SCOPE, Batch([item(2)]), within_seconds=NEVER_SECONDS)
    assert await awaiting.count(SCOPE, Find(ITEMS)) == 2
    awaiting.stage(SCOPE, Batch([item(3)]), within_seconds=NEVER_SECONDS)
    assert count_of(blocking) == 3
    awaiting.stage(SCOPE, Batch([item(4)]), within_seconds=NEVER_SECONDS)
    assert blocking.measure(SCOPE, "thread-1")[ITEMS].documents == 4


async def test_staged_batches_and_writes_commit_in_the_order_they_were_handed_over(
    awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore
) -> None:
    awaiting.stage(SCOPE, Batch([checkpoint(1, b"first")]), within_seconds=NEVER_SECONDS)
    second = asyncio.ensure_future(awaiting.insert(SCOPE, Batch([checkpoint(1, b"second")])))
    await asyncio.sleep(0)  # the insert is handed over
    third = blocking.insert(SCOPE, Batch([checkpoint(1, b"third")]))
    assert len((await second).present) == 1
    assert len(third.present) == 1
    (found,) = blocking.find(SCOPE, Find(checkpoint(1).collection)).documents
    assert found.body == b"first"


async def test_a_refused_batch_is_refused_when_it_is_staged(
    awaiting: AsyncSqliteDocumentStore,
) -> None:
    wrong = Batch([item(1), item(2, thread_id="thread-2")])
    with pytest.raises(InvalidRequestError):
        awaiting.stage(SCOPE, wrong, within_seconds=0)


async def test_a_staged_failure_surfaces_where_it_is_awaited(tmp_path: Path) -> None:
    database = SqliteDatabase(Address(tmp_path / "no tables.db"))
    store = AsyncSqliteDocumentStore(database)
    staged = store.stage(SCOPE, Batch([item(1)]), within_seconds=0)
    with pytest.raises(StorageError, match="setup"):
        await staged.committed()
    await store.close()


async def test_a_staged_requirement_that_fails_is_answered_where_it_is_awaited(
    awaiting: AsyncSqliteDocumentStore,
) -> None:
    requires = [(ITEMS, (address(1),))]
    staged = awaiting.stage(SCOPE, Batch([item(2)], [], requires), within_seconds=0)
    assert not (await staged.committed()).written


async def test_a_job_that_fails_in_a_shared_transaction_fails_alone(
    database: SqliteDatabase, awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore
) -> None:
    def fail(session: Session) -> None:
        session.run("erase_documents", (1,))
        raise ValueError("this job only")

    before = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    failing = database.stage(fail, within_seconds=NEVER_SECONDS)
    behind = awaiting.stage(SCOPE, Batch([item(2)]), within_seconds=NEVER_SECONDS)
    await awaiting.insert(SCOPE, Batch([item(3)]))
    assert (await before.committed()).written
    with pytest.raises(ValueError, match="this job only"):
        await failing.future
    assert (await behind.committed()).written
    assert count_of(blocking) == 3


def test_a_number_given_in_an_undone_transaction_is_not_remembered(
    database: SqliteDatabase, blocking: SqliteDocumentStore
) -> None:
    def write_and_fail(session: Session) -> None:
        for number in (1, 2):  # the second finds, and remembers, the thread of the first
            work = blocking._documents.insert(SCOPE, Batch([item(number, thread_id="a")]))
            assert work is not None
            work(session)
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        database.write_now(write_and_fail)
    blocking.insert(SCOPE, Batch([item(3, thread_id="b")]))  # under the number that "a" had
    blocking.insert(SCOPE, Batch([item(4, thread_id="a")]))
    assert blocking.find(SCOPE, Find(ITEMS, "a")).documents == [item(4, thread_id="a")]
    assert blocking.find(SCOPE, Find(ITEMS, "b")).documents == [item(3, thread_id="b")]


async def test_a_lock_of_another_process_does_not_stop_the_loop(
    tmp_path: Path, other_process: sqlite3.Connection
) -> None:
    database = SqliteDatabase(Address(tmp_path / "d.db"), wait_seconds=30)
    store = AsyncSqliteDocumentStore(database)
    other_process.execute("BEGIN IMMEDIATE")
    insert = asyncio.ensure_future(store.insert(SCOPE, Batch([item(1)])))
    staged = store.stage(SCOPE, Batch([item(2)]), within_seconds=0)
    reading = asyncio.ensure_future(store.count(SCOPE, Find(ITEMS)))
    longest = 0.0
    for _ in range(20):
        started = time.perf_counter()
        await asyncio.sleep(0.005)
        longest = max(longest, time.perf_counter() - started)
    assert not insert.done()
    assert not reading.done(), "it is to see what was handed over before it"
    assert longest < 1, "the loop went on while the writer waited"
    other_process.execute("COMMIT")
    async with asyncio.timeout(30):
        assert (await insert).written
        assert (await staged.committed()).written
        assert await reading == 2
    await store.close()


async def test_reads_go_on_beside_a_lock_of_another_process(
    awaiting: AsyncSqliteDocumentStore, other_process: sqlite3.Connection
) -> None:
    await awaiting.insert(SCOPE, Batch([item(1)]))
    other_process.execute("BEGIN IMMEDIATE")
    async with asyncio.timeout(10):
        assert await awaiting.count(SCOPE, Find(ITEMS)) == 1


async def test_a_lock_held_too_long_is_an_error_that_a_retry_may_help(
    awaiting: AsyncSqliteDocumentStore,
    blocking: SqliteDocumentStore,
    other_process: sqlite3.Connection,
) -> None:
    other_process.execute("BEGIN IMMEDIATE")
    staged = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    with pytest.raises(UnavailableError):
        await awaiting.insert(SCOPE, Batch([item(2)]))
    with pytest.raises(UnavailableError):
        await staged.committed()
    with pytest.raises(UnavailableError):
        blocking.insert(SCOPE, Batch([item(3)]))
    other_process.execute("ROLLBACK")
    assert blocking.insert(SCOPE, Batch([item(4)])).written
    assert count_of(blocking) == 1


async def test_giving_up_waiting_does_not_take_a_write_back(
    awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore
) -> None:
    staged = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    waiting = asyncio.ensure_future(staged.committed())
    insert = asyncio.ensure_future(awaiting.insert(SCOPE, Batch([item(2)])))
    await asyncio.sleep(0)
    waiting.cancel()
    insert.cancel()
    await asyncio.gather(waiting, insert, return_exceptions=True)
    assert count_of(blocking) == 2


async def test_an_interrupted_caller_leaves_the_jobs_of_others(
    database: SqliteDatabase, awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore
) -> None:
    attempts: list[Session] = []

    def interrupt(session: Session) -> None:
        attempts.append(session)
        if len(attempts) == 1:
            raise KeyboardInterrupt

    staged = awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    with pytest.raises(KeyboardInterrupt):
        database.write_now(interrupt)
    assert (await staged.committed()).written
    assert blocking.insert(SCOPE, Batch([item(2)])).written
    assert count_of(blocking) == 2


async def test_closing_commits_what_was_staged(tmp_path: Path) -> None:
    store = AsyncSqliteDocumentStore(SqliteDatabase(Address(tmp_path / "d.db")))
    await store.setup()
    staged = store.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)
    await store.close()
    assert (await staged.committed()).written
    again = SqliteDocumentStore(SqliteDatabase(Address(tmp_path / "d.db")))
    assert count_of(again) == 1
    again.close()


def test_what_a_loop_staged_outlives_the_loop(
    awaiting: AsyncSqliteDocumentStore, blocking: SqliteDocumentStore
) -> None:
    async def stage() -> None:
        awaiting.stage(SCOPE, Batch([item(1)]), within_seconds=NEVER_SECONDS)

    asyncio.run(stage())
    assert count_of(blocking) == 1


@pytest.mark.parametrize("awaited", [False, True])
def test_closing_while_writes_arrive_loses_none_that_was_taken(
    tmp_path: Path, awaited: bool
) -> None:
    database = SqliteDatabase(Address(tmp_path / "d.db"))
    database.setup_now()
    blocking, awaiting = SqliteDocumentStore(database), AsyncSqliteDocumentStore(database)
    written: list[int] = []
    refusals: list[str] = []
    begun = threading.Barrier(5)

    def write(first: int) -> None:
        begun.wait()
        for number in range(first, first + 10_000):
            try:
                if awaited:
                    asyncio.run(awaiting.insert(SCOPE, Batch([item(number)])))
                else:
                    blocking.insert(SCOPE, Batch([item(number)]))
            except StorageError as error:
                refusals.append(str(error))
                return
            written.append(number)

    threads = [threading.Thread(target=write, args=(n * 10_000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    begun.wait()
    while len(written) < 40:
        time.sleep(0.001)
    database.close()
    for thread in threads:
        thread.join()
    assert refusals == ["sqlite: the store is closed"] * 4
    again = SqliteDatabase(Address(tmp_path / "d.db"))
    stored = SqliteDocumentStore(again)
    fetched = stored.fetch(SCOPE, "thread-1", [address(number) for number in written])
    assert len(fetched.documents) == len(written)
    assert stored.count(SCOPE, Find(ITEMS)) == len(written)
    again.close()


def test_a_write_that_a_close_overtakes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = SqliteDatabase(Address(tmp_path / "d.db"))
    database.setup_now()
    check = database._writer.check_usable
    calls: list[str] = []

    def check_then_close() -> None:
        check()
        calls.append("checked")
        if len(calls) == 1:
            database.close()

    monkeypatch.setattr(database._writer, "check_usable", check_then_close)
    with pytest.raises(StorageError, match="closed"):
        SqliteDocumentStore(database).insert(SCOPE, Batch([item(1)]))


def test_several_loops_and_threads_share_one_store(
    database: SqliteDatabase, blocking: SqliteDocumentStore
) -> None:
    async def write_soon(first: int) -> None:
        store = AsyncSqliteDocumentStore(database)
        inserts = [store.insert(SCOPE, Batch([item(first + n)])) for n in range(25)]
        for each in await asyncio.gather(*inserts):
            assert each.written
        assert await store.count(SCOPE, Find(ITEMS)) >= 25

    def write_now(first: int) -> None:
        for number in range(25):
            blocking.insert(SCOPE, Batch([item(first + number)]))

    threads = [
        threading.Thread(target=lambda first=n * 100: asyncio.run(write_soon(first)))
        for n in range(4)
    ]
    threads += [threading.Thread(target=write_now, args=(1000 + n * 100,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count_of(blocking) == 200
