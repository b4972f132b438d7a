"""Several processes on one SQLite file: every claim and guard has exactly one winner."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_sqlite_queue import PROCESSES, run_in_processes
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.model.assistants import NewAssistant
from threadkeep.model.crons import NewCron
from threadkeep.model.deliveries import NewDelivery
from threadkeep.model.queries import RunQuery, ThreadQuery, VersionQuery
from threadkeep.model.threads import NewThread

COUNT = 15
PAST = datetime(2020, 1, 1, tzinfo=UTC)

# Goes for everything there is to win, over and over; prints what it won.
RIVAL = """
import asyncio, json, sys
from threadkeep.errors import AlreadyExistsError, ThreadBusyError
from threadkeep.model.assistants import AssistantPatch
from threadkeep.model.idempotency import IdempotencyClaim
from threadkeep.model.runs import NewRun
from threadkeep.model.threads import NewThread
from threadkeep.ports.drivers import open_driver

COUNT = 15

async def contend(store, owner, number):
    won = []
    cron = await store.crons.get(f"c{number}")
    run = NewRun(f"{owner}-{number}", f"t{number}", "a", {})
    if cron.token == 0 and await store.crons.fire(
        cron.cron_id, token=0, next_run_date=None, new=run
    ):
        won.append(f"fire {number}")
    if await store.idempotency.claim(IdempotencyClaim("s", f"k{number}", "f", owner, 600)) is None:
        won.append(f"key {number}")
    for row in await store.deliveries.claim(lease_seconds=600, limit=2):
        won.append(f"delivery {row.delivery_id}")
    try:
        await store.threads.create(NewThread(f"new{number}", {"by": owner}))
        won.append(f"thread {number}")
    except AlreadyExistsError:
        pass
    try:
        only = NewRun(f"only-{owner}-{number}", f"s{number}", "a", {}, multitask_strategy="reject")
        await store.runs.admit(only, claim=None)
        won.append(f"guard {number}")
    except ThreadBusyError:
        pass
    changed = await store.assistants.update("a1", AssistantPatch(metadata={f"{owner}{number}": 1}))
    won.append(f"version {changed.version}")
    await store.threads.update("shared", metadata={f"{owner}{number}": 1})
    return won

async def work(url, owner):
    driver = open_driver(url)
    store = driver.resources()
    won = []
    for number in range(COUNT):
        won += await contend(store, owner, number)
    driver.close()
    print(json.dumps(won))

asyncio.run(work(sys.argv[1], sys.argv[2]))
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(Address(tmp_path / "claims.db"))
    database.setup_now()
    yield database
    database.close()


async def fill(store: SqliteResourceStore) -> None:
    await store.threads.create(NewThread("shared", {}))
    await store.assistants.create(NewAssistant("a1", "g", "n", None, {}, {}, {}))
    for number in range(COUNT):
        await store.threads.create(NewThread(f"t{number}", {}))
        await store.threads.create(NewThread(f"s{number}", {}))
        await store.crons.create(NewCron(f"c{number}", "a", "* * * * *", next_run_date=PAST))
        new = NewDelivery(f"d{number}", "r", "t", "http://x", {}, "success", 0.000_001)
        await store.deliveries.add(new)


def test_processes_win_each_thing_once(database: SqliteDatabase, tmp_path: Path) -> None:
    store = SqliteResourceStore(database)
    asyncio.run(fill(store))
    printed: Any = run_in_processes(RIVAL, f"sqlite:///{tmp_path / 'claims.db'}")
    won = Counter(each for process in printed for each in process)
    assert {each for each, times in won.items() if times > 1} == set()
    kinds = Counter(each.split()[0] for each in won)
    once = dict.fromkeys(("fire", "key", "delivery", "thread", "guard"), COUNT)
    assert kinds == {**once, "version": PROCESSES * COUNT}
    asyncio.run(check(store))


async def check(store: SqliteResourceStore) -> None:
    changes = PROCESSES * COUNT
    shared = await store.threads.get("shared")
    assistant = await store.assistants.get("a1")
    assert shared is not None
    assert assistant is not None
    assert len(shared.metadata) == len(assistant.metadata) == changes
    assert assistant.version == changes + 1
    assert (await store.assistants.list_versions("a1", VersionQuery())).total == changes + 1
    assert await store.runs.count(RunQuery()) == 2 * COUNT
    assert await store.threads.count(ThreadQuery()) == 3 * COUNT + 1
