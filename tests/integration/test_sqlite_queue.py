"""One SQLite file as the queue of several processes, and what a settle costs it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.model.queries import RunQuery, ThreadQuery
from threadkeep.model.runs import NewRun
from threadkeep.model.threads import NewThread
from threadkeep.testing.resources.builders import OWNER, SUCCESS, start, state

THREADS = 12
RUNS_EACH = 5
PROCESSES = 4

# Claims and settles until nothing is left; prints each claim with the runs of it.
WORKER = """
import asyncio, json, sys
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import Claim, Outcome
from threadkeep.model.threads import ThreadState
from threadkeep.ports.drivers import open_driver

async def work(url, owner):
    driver = open_driver(url)
    store = driver.resources()
    await store.setup()
    taken = []
    while True:
        runs = await store.runs.claim(Claim(owner, 60), limit=2)
        for run in runs:
            taken.append([run.run_id, run.fence, run.owner])
            left = ThreadState("idle", {"by": owner}, run.run_id, {})
            done = await store.runs.settle(
                run.run_id, fence=run.fence, outcome=Outcome("success"), state=left
            )
            assert done is not None, run
        if not runs and not (await store.runs.search(RunQuery(statuses=["pending"]))).total:
            break
    driver.close()
    print(json.dumps(taken))

asyncio.run(work(sys.argv[1], sys.argv[2]))
"""

ADMITTER = """
import asyncio, json, sys
from threadkeep.errors import ThreadBusyError
from threadkeep.model.runs import Claim, NewRun
from threadkeep.ports.drivers import open_driver

async def work(url, owner):
    driver = open_driver(url)
    store = driver.resources()
    admitted = []
    for number in range(40):
        new = NewRun(f"{owner}-{number}", f"t{number % 8}", "a", {}, multitask_strategy="reject")
        try:
            admission = await store.runs.admit(new, claim=Claim(owner, 60))
        except ThreadBusyError:
            continue
        assert admission.run.status == "running"
        admitted.append(new.thread_id)
    driver.close()
    print(json.dumps(admitted))

asyncio.run(work(sys.argv[1], sys.argv[2]))
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(Address(tmp_path / "queue.db"))
    database.setup_now()
    yield database
    database.close()


def run_in_processes(script: str, url: str) -> list[list[object]]:
    """Start the script in several processes at once and return what each printed."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, url, f"owner-{number}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    printed = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * PROCESSES, printed
    return [json.loads(out) for out, _ in printed]


def test_processes_take_each_run_once_and_a_threads_runs_in_order(
    database: SqliteDatabase, tmp_path: Path
) -> None:
    store = SqliteResourceStore(database)

    async def fill() -> None:
        for number in range(THREADS):
            await store.threads.create(NewThread(f"t{number}", {}))
        for place in range(RUNS_EACH):
            for number in range(THREADS):
                new = NewRun(f"r{number}-{place}", f"t{number}", "a", {})
                await store.runs.admit(new, claim=None)

    asyncio.run(fill())
    printed = run_in_processes(WORKER, f"sqlite:///{tmp_path / 'queue.db'}")
    taken = [json.dumps(each) for claims in printed for each in claims]
    runs = sorted(json.loads(each)[0] for each in taken)
    expected = [f"r{number}-{place}" for number in range(THREADS) for place in range(RUNS_EACH)]
    assert runs == sorted(expected)
    assert {json.loads(each)[1] for each in taken} == {1}

    async def check() -> None:
        threads = (await store.threads.search(ThreadQuery())).rows
        assert {thread.status for thread in threads} == {"idle"}
        # The last admitted settled last.
        heads = {thread.thread_id: thread.head_checkpoint_id for thread in threads}
        last = RUNS_EACH - 1
        assert heads == {f"t{number}": f"r{number}-{last}" for number in range(THREADS)}
        assert (await store.runs.search(RunQuery(statuses=["success"]))).total == len(expected)

    asyncio.run(check())


def test_processes_admit_one_rejecting_run_to_a_thread(
    database: SqliteDatabase, tmp_path: Path
) -> None:
    store = SqliteResourceStore(database)

    async def fill() -> None:
        for number in range(8):
            await store.threads.create(NewThread(f"t{number}", {}))

    asyncio.run(fill())
    printed = run_in_processes(ADMITTER, f"sqlite:///{tmp_path / 'queue.db'}")
    admitted = sorted(str(thread_id) for threads in printed for thread_id in threads)
    assert admitted == [f"t{number}" for number in range(8)]


@pytest.mark.anyio
async def test_a_settle_shares_its_commit_with_what_waits(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteResourceStore(database)
    for number in range(8):
        await store.threads.create(NewThread(f"t{number}", {}))
    runs = [await start(store, f"r{number}", f"t{number}") for number in range(8)]
    commits = 0
    commit = Session.commit

    def counted(session: Session) -> None:
        nonlocal commits
        commits += 1
        commit(session)

    monkeypatch.setattr(Session, "commit", counted)
    staged = database.stage(
        lambda session: session.one("has_active_run", {"thread_id": "t0"}), within_seconds=30
    )
    settled = await store.runs.settle("r0", fence=runs[0].fence, outcome=SUCCESS, state=state())
    assert settled is not None
    assert (await staged.future) is not None
    assert commits == 1
    await asyncio.gather(
        *(
            store.runs.settle(run.run_id, fence=run.fence, outcome=SUCCESS, state=state())
            for run in runs[1:]
        )
    )
    assert commits <= 3


@pytest.mark.anyio
async def test_a_heartbeat_writes_to_the_leases_only(database: SqliteDatabase) -> None:
    store = SqliteResourceStore(database)
    await store.threads.create(NewThread("t1", {}))
    run = await start(store)
    before = await store.runs.get("r1")
    assert await store.runs.extend(OWNER, [run.run_id]) == {"r1": None}
    after = await store.runs.get("r1")
    assert before is not None
    assert after is not None
    assert after.updated_at == before.updated_at
    assert after.lease_expires_at is not None
    assert before.lease_expires_at is not None
    assert after.lease_expires_at > before.lease_expires_at


def test_expected_refusals_do_not_undo_their_neighbours(database: SqliteDatabase) -> None:
    store = SqliteResourceStore(database)
    undone = 0

    def count() -> None:
        nonlocal undone
        undone += 1

    async def race() -> None:
        await store.threads.create(NewThread("t1", {}))
        await asyncio.gather(
            *(start(store, f"r{number}", strategy="reject") for number in range(16)),
            *(store.threads.create(NewThread("t1", {})) for _ in range(16)),
            return_exceptions=True,
        )

    database.on_rollback(count)
    asyncio.run(race())
    assert undone == 0
