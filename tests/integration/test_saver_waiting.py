"""Who waits for the database, and what is held meanwhile: no loop waits, no reader holds a lock."""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from threadkeep import DocumentCheckpointSaver
from threadkeep.drivers import postgres
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.testing.saver_steps import checkpoint, config, conversation, found, put

pytestmark = pytest.mark.anyio

WAIT_SECONDS = 20.0  # for what must come; a test that is right waits for none of it

TABLES = (
    "threadkeep_migrations",
    "document_threads",
    "checkpoint_documents",
    "document_leases",
)


async def listed(saver: DocumentCheckpointSaver) -> None:
    assert len([one async for one in saver.alist(config())]) == 3


async def leased(saver: DocumentCheckpointSaver) -> None:
    async with saver.lease("t1"):
        pass


async def put_more(saver: DocumentCheckpointSaver) -> None:
    await put(saver, {"m": conversation(9)}, {"m": 9}, (await found(saver)).config)


async def put_writes(saver: DocumentCheckpointSaver) -> None:
    await saver.aput_writes(config(checkpoint_id="x"), [("m", conversation(1))], "task")


async def history(saver: DocumentCheckpointSaver) -> None:
    at = (await found(saver)).config
    await saver.aget_delta_channel_history(config=at, channels=["log"])


CALLS: dict[str, Callable[[DocumentCheckpointSaver], Awaitable[object]]] = {
    "asetup": DocumentCheckpointSaver.asetup,
    "aget_tuple": lambda saver: saver.aget_tuple(config()),
    "alist": listed,
    "aput": put_more,
    "aput_writes": put_writes,
    "aget_delta_channel_history": history,
    "lease": leased,
    "acopy_thread": lambda saver: saver.acopy_thread("t1", "t2"),
    "aprune": lambda saver: saver.aprune(["t1"]),
    "asweep": lambda saver: saver.asweep(),
    "adelete_for_runs": lambda saver: saver.adelete_for_runs(["r"]),
    "adelete_thread": lambda saver: saver.adelete_thread("t1"),
}


class SlowDisk:
    """Makes each statement of SQLite wait until the loop has turned once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self.statements = 0
        self.blocked: list[str] = []
        connect: Any = sqlite3.connect

        def slow_connect(*arguments: Any, **options: Any) -> Any:
            connection = connect(*arguments, **options)
            connection.set_trace_callback(self._wait)
            return connection

        monkeypatch.setattr(sqlite3, "connect", slow_connect)

    def _wait(self, statement: str) -> None:
        self.statements += 1
        turned = threading.Event()
        if threading.get_ident() == self._loop_thread:
            self.blocked.append(statement)
            return
        self._loop.call_soon_threadsafe(turned.set)
        if not turned.wait(WAIT_SECONDS):
            self.blocked.append(statement)


async def filled(driver: Driver) -> DocumentCheckpointSaver:
    """Return a saver that knows nothing of the thread of three steps that is stored."""
    first = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    await first.asetup()
    at = None
    for step in range(3):
        at = await put(first, {"m": conversation(step)}, {"m": step}, at, run_id="r", step=step)
    return DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())


@pytest.mark.parametrize("name", CALLS)
async def test_no_call_blocks_the_loop_on_a_slow_disk(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)
    driver = await asyncio.to_thread(open_driver, f"sqlite:///{tmp_path}/s.db")
    saver = await filled(driver)
    before = disk.statements
    await CALLS[name](saver)
    assert disk.blocked == []
    assert disk.statements > before
    await asyncio.to_thread(driver.close)


@pytest.mark.servers
@pytest.mark.parametrize("name", CALLS)
async def test_no_call_blocks_the_loop_while_the_server_makes_it_wait(
    name: str, postgres_url: str
) -> None:
    driver = postgres.open(postgres_url, DriverOptions())
    saver = await filled(driver)
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    holder = await psycopg.AsyncConnection.connect(postgres_url)
    watcher = await psycopg.AsyncConnection.connect(postgres_url, autocommit=True)
    async with holder, watcher:
        await holder.execute(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE".encode())
        call = asyncio.ensure_future(CALLS[name](saver))
        async with asyncio.timeout(WAIT_SECONDS):
            while (await (await watcher.execute(waiting)).fetchone()) == (0,):
                assert not call.done()
                await asyncio.sleep(0.005)
        assert not call.done()
        await holder.commit()
        await call
    await asyncio.to_thread(driver.close)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    if request.param == "postgresql":
        opened = postgres.open(request.getfixturevalue("postgres_url"), DriverOptions())
    else:
        url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"
        opened = open_driver(url)
    with closing(opened):
        yield opened


def held(request: pytest.FixtureRequest, tmp_path: Path) -> Sequence[object]:
    """Name what the database holds for anybody: open reads, transactions, locks."""
    if "postgresql" in request.node.name:
        asked = """SELECT state, query FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
                AND datname = current_database() AND state <> 'idle'"""
        with psycopg.connect(request.getfixturevalue("postgres_url")) as connection:
            return connection.execute(asked).fetchall()
    if "sqlite" in request.node.name:
        with closing(sqlite3.connect(tmp_path / "s.db", timeout=0.1)) as connection:
            # It is busy while anybody reads from the log, or writes.
            ((is_busy, _, left),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return [each for each in (is_busy, left) if each]
    return []


async def test_nothing_is_held_while_a_list_is_read_row_by_row(
    driver: Driver, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    saver = await filled(driver)
    rows, awaited = saver.list(config()), saver.alist(config())
    for read in (lambda: next(rows), lambda: anext(awaited)):
        first = read()
        if not hasattr(first, "config"):
            first = await first
        assert held(request, tmp_path) == []
        at = await put(saver, {"m": conversation(5)}, {"m": 5}, first.config)
        assert await saver.aget_tuple(at) is not None
    await saver.adelete_thread("t1")
    assert held(request, tmp_path) == []
    # What was read of a page before is told still; the next page finds nothing.
    assert len(list(rows)) <= 2
    assert len([one async for one in awaited]) <= 3


def test_one_saver_serves_several_loops_and_threads_at_once(driver: Driver) -> None:
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    saver.setup()
    failures: list[BaseException] = []

    async def converse(name: str) -> None:
        at = None
        for step in range(8):
            values = {"m": conversation(step)}
            made = checkpoint(values, {"m": step})
            at = await saver.aput(at or config(name), made, {"step": step}, {"m": step})
            await saver.aput_writes(at, [("m", conversation(1))], "task")
        read = await saver.aget_tuple(config(name))
        assert read is not None
        assert read.checkpoint["channel_values"] == {"m": conversation(7)}

    async def several(first: int) -> None:
        await asyncio.gather(*(converse(f"{first} {number}") for number in range(3)))

    def work(first: int) -> None:
        try:
            asyncio.run(several(first))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(list(saver.list(None))) == 9 * 8
