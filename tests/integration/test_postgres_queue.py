"""One PostgreSQL database as the queue of many: one winner in every claim and guard.

Each client has connections of its own. A barrier holds all of them at the border of the write, so
that they meet; orders that matter are forced by a lock that the test holds.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.postgres_resources import empty
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.queries import Operation, Query
from threadkeep.drivers.postgres.resources import PostgresResourceStore
from threadkeep.errors import AlreadyExistsError, ThreadBusyError, UnavailableError
from threadkeep.model.crons import NewCron
from threadkeep.model.deliveries import NewDelivery
from threadkeep.model.idempotency import IdempotencyClaim
from threadkeep.model.queries import RunQuery, ThreadQuery
from threadkeep.model.runs import Claim, NewRun, Run
from threadkeep.model.threads import NewThread
from threadkeep.testing.resources.builders import OTHER, OWNER, SUCCESS, start, state

CLIENTS = 16
WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

CONNECTED: Operation[Any] = Operation("connect", lambda: (yield Query("SELECT 1")))

pytestmark = pytest.mark.anyio
Clients = Sequence[PostgresResourceStore]


@pytest.fixture(scope="module")
def set_up(postgres_module_url: str) -> str:
    database = PostgresDatabase(parse(postgres_module_url, {}))
    database.setup()
    database.close()
    return postgres_module_url


@pytest.fixture
def url(set_up: str) -> str:
    empty(set_up)
    return set_up


@asynccontextmanager
async def opened(url: str, count: int = CLIENTS) -> AsyncIterator[Clients]:
    databases = [PostgresDatabase(parse(url, {})) for _ in range(count)]
    async with AsyncExitStack() as stack:
        for database in databases:
            stack.push_async_callback(database.aclose)
        clients = [PostgresResourceStore(database) for database in databases]
        await asyncio.gather(*(database.arun(CONNECTED) for database in databases))
        yield clients


async def together(work: Callable[[int], Awaitable[Any]], count: int = CLIENTS) -> list[Any]:
    """Do something as every client at once; refusals are answers too."""
    return await asyncio.gather(*map(work, range(count)), return_exceptions=True)


def kinds(answers: Sequence[Any], kind: type) -> int:
    others = [each for each in answers if isinstance(each, BaseException)]
    assert all(isinstance(each, kind) for each in others), others
    return len(others)


async def test_one_client_makes_a_thread(url: str) -> None:
    async with opened(url) as clients:
        answers = await together(lambda at: clients[at].threads.create(NewThread("t", {"by": at})))
        assert kinds(answers, AlreadyExistsError) == CLIENTS - 1


async def test_one_client_admits_a_run_that_rejects_others(url: str) -> None:
    async with opened(url) as clients:
        await clients[0].threads.create(NewThread("t", {}))

        def admit(at: int) -> Awaitable[Any]:
            new = NewRun(f"r{at}", "t", "a", {}, multitask_strategy="reject")
            return clients[at].runs.admit(new, claim=OWNER)

        for turn in range(5):
            answers = await together(admit)
            assert kinds(answers, ThreadBusyError) == CLIENTS - 1, turn
            (won,) = (each for each in answers if not isinstance(each, BaseException))
            assert won.run.status == "running"
            settled = await clients[0].runs.settle(
                won.run.run_id, fence=won.run.fence, outcome=SUCCESS, state=state()
            )
            assert settled is not None
            await clients[0].runs.delete(won.run.run_id)


async def test_one_client_guards_an_idle_thread(url: str) -> None:
    async with opened(url) as clients:
        await clients[0].threads.create(NewThread("t", {}))
        answers = await together(
            lambda at: clients[at].runs.admit(
                NewRun(f"r{at}", "t", "a", {}), claim=OWNER, thread_status_in=["idle"]
            )
        )
        assert sum(not isinstance(each, BaseException) for each in answers) == 1


async def test_every_run_is_claimed_once_and_those_of_a_thread_in_order(url: str) -> None:
    threads, each = 8, 6
    async with opened(url) as clients:
        for number in range(threads):
            await clients[0].threads.create(NewThread(f"t{number}", {}))
        for place in range(each):
            await together(
                lambda at, place=place: clients[at].runs.admit(  # type: ignore[misc]
                    NewRun(f"r{at}-{place}", f"t{at}", "a", {}), claim=None
                ),
                threads,
            )
        taken: list[Run] = []

        async def work(at: int) -> None:
            while (await clients[at].runs.count(RunQuery(statuses=["pending"]))) > 0:
                for run in await clients[at].runs.claim(Claim(f"owner-{at}", 60), limit=2):
                    taken.append(run)
                    done = await clients[at].runs.settle(
                        run.run_id, fence=run.fence, outcome=SUCCESS, state=state(head=run.run_id)
                    )
                    assert done is not None

        assert kinds(await together(work), AssertionError) == 0
        assert sorted(run.run_id for run in taken) == sorted(
            f"r{number}-{place}" for number in range(threads) for place in range(each)
        )
        for number in range(threads):
            order = [run.run_id for run in taken if run.thread_id == f"t{number}"]
            assert order == [f"r{number}-{place}" for place in range(each)]
        found = (await clients[0].threads.search(ThreadQuery())).rows
        assert {thread.status for thread in found} == {"idle"}
        last = each - 1
        assert {thread.head_checkpoint_id for thread in found} == {
            f"r{number}-{last}" for number in range(threads)
        }


async def test_one_client_settles_a_run(url: str) -> None:
    async with opened(url) as clients:
        await clients[0].threads.create(NewThread("t1", {}))
        run = await start(clients[0])
        answers = await together(
            lambda at: clients[at].runs.settle(
                run.run_id, fence=run.fence, outcome=SUCCESS, state=state(values={"by": at})
            )
        )
        (won,) = (at for at, each in enumerate(answers) if each is not None)
        thread = await clients[0].threads.get("t1")
        assert thread is not None
        assert thread.values == {"by": won}


async def test_one_client_releases_what_ran_out(url: str) -> None:
    async with opened(url) as clients:
        for number in range(10):
            await clients[0].threads.create(NewThread(f"t{number}", {}))
            new = NewRun(f"r{number}", f"t{number}", "a", {})
            await clients[0].runs.admit(new, claim=Claim("gone", 0.001))
        answers = await together(lambda at: clients[at].runs.release_expired())
        released = [run.run_id for runs in answers for run in runs]
        assert sorted(released) == sorted(f"r{number}" for number in range(10))


async def test_one_client_claims_an_idempotency_key(url: str) -> None:
    async with opened(url) as clients:
        for seconds in (0.001, 60):  # the second time over a record that expired
            answers = await together(
                lambda at, seconds=seconds: clients[at].idempotency.claim(  # type: ignore[misc]
                    IdempotencyClaim("s", "k", "f", f"c{at}", seconds)
                )
            )
            assert kinds(answers, AssertionError) == 0
            if seconds > 1:
                assert answers.count(None) == 1


async def test_one_client_fires_a_cron(url: str) -> None:
    async with opened(url) as clients:
        due = datetime.now(UTC) - timedelta(seconds=1)
        await clients[0].threads.create(NewThread("t", {}))
        cron = await clients[0].crons.create(NewCron("c", "a", "* * * * *", next_run_date=due))
        answers = await together(
            lambda at: clients[at].crons.fire(
                "c", token=cron.token, next_run_date=None, new=NewRun(f"r{at}", "t", "a", {})
            )
        )
        assert kinds(answers, AssertionError) == 0
        assert sum(each is not None for each in answers) == 1
        assert await clients[0].runs.count(RunQuery()) == 1


async def test_every_delivery_is_claimed_once(url: str) -> None:
    async with opened(url) as clients:
        for number in range(20):
            new = NewDelivery(f"d{number}", "r", "t", "http://127.0.0.1/", {}, "success", 0.001)
            await clients[0].deliveries.add(new)
        answers = await together(lambda at: clients[at].deliveries.claim(lease_seconds=60, limit=3))
        taken = [each.delivery_id for rows in answers for each in rows]
        assert len(taken) == len(set(taken))


async def test_puts_at_one_address_keep_the_first_time(url: str) -> None:
    async with opened(url) as clients:
        answers = await together(lambda at: clients[at].items.put(("n",), "k", {"by": at}))
        assert kinds(answers, AssertionError) == 0
        assert len({item.created_at for item in answers}) == 1
        found = await clients[0].items.get(("n",), "k")
        assert found is not None
        assert found.updated_at == max(item.updated_at for item in answers)


async def test_changes_of_one_assistant_and_thread_are_all_there(url: str) -> None:
    async with opened(url) as clients:
        await clients[0].threads.create(NewThread("t", {}))
        await together(lambda at: clients[at].threads.update("t", metadata={f"k{at}": at}))
        thread = await clients[0].threads.get("t")
        assert thread is not None
        assert thread.metadata == {f"k{at}": at for at in range(CLIENTS)}


@pytest.fixture
def held(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction of the test's own, to hold locks with."""
    with psycopg.connect(url) as connection:
        yield connection


async def until_waiting(url: str, count: int = 1) -> None:
    """Return when so many transactions wait for a lock."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as watching:
        while True:
            cursor = await watching.execute(WAITS)
            row = await cursor.fetchone()
            if row is not None and row[0] >= count:
                return


def lock(connection: psycopg.Connection[Any], thread_id: str) -> None:
    connection.execute("SELECT 1 FROM threads WHERE thread_id = %s FOR UPDATE", [thread_id])


async def test_a_claim_passes_over_a_thread_that_is_locked(
    url: str, held: psycopg.Connection[Any]
) -> None:
    async with opened(url, 1) as (store,):
        for number in (1, 2):
            await store.threads.create(NewThread(f"t{number}", {}))
            await store.runs.admit(NewRun(f"r{number}", f"t{number}", "a", {}), claim=None)
        lock(held, "t1")
        assert [run.run_id for run in await store.runs.claim(OWNER, limit=5)] == ["r2"]
        held.rollback()
        assert [run.run_id for run in await store.runs.claim(OTHER, limit=5)] == ["r1"]


async def test_an_admission_that_waited_sees_what_was_settled_meanwhile(
    url: str, held: psycopg.Connection[Any]
) -> None:
    async with opened(url, 2) as (one, two):
        await one.threads.create(NewThread("t1", {}))
        run = await start(one)
        lock(held, "t1")
        settling = asyncio.create_task(
            one.runs.settle("r1", fence=run.fence, outcome=SUCCESS, state=state(head="h"))
        )
        await until_waiting(url)
        new = NewRun("r2", "t1", "a", {}, multitask_strategy="reject")
        admitting = asyncio.create_task(two.runs.admit(new, claim=OTHER))
        await until_waiting(url, 2)
        held.rollback()
        assert await settling is not None
        admission = await admitting
        assert (admission.run.status, admission.head_checkpoint_id) == ("running", "h")


async def test_a_lease_renewed_while_it_is_released_is_kept_or_lost_for_both(url: str) -> None:
    async with opened(url, 2) as (one, two):
        await one.threads.create(NewThread("t1", {}))
        await one.runs.admit(NewRun("r1", "t1", "a", {}), claim=Claim("owner-1", 0.001))
        renewed, released = await asyncio.gather(
            one.runs.extend(Claim("owner-1", 60), ["r1"]), two.runs.release_expired()
        )
        run = await one.runs.get("r1")
        assert run is not None
        if released:
            assert (run.status, dict(renewed)) == ("error", {})
        else:
            assert (run.status, dict(renewed)) == ("running", {"r1": None})


async def test_a_heartbeat_is_a_heap_only_update(postgres_url: str) -> None:
    beats = 20
    async with opened(postgres_url, 1) as (store,):
        await store.setup()
        await store.threads.create(NewThread("t1", {}))
        await start(store)
        for _ in range(beats):
            assert await store.runs.extend(OWNER, ["r1"]) == {"r1": None}
    # A connection tells what it did when it ends, at the latest.
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as watching:
        while (updates := await updated(watching)).get("run_leases", (0, 0))[0] < beats:
            pass
    assert updates["run_leases"] == (beats, beats)
    assert updates["runs"] == (0, 0)
    assert updates["threads"][0] == 1  # by the admission


async def updated(connection: psycopg.AsyncConnection[Any]) -> dict[str, tuple[int, int]]:
    """Return for each table how many updates there were, and how many touched no index."""
    cursor = await connection.execute(
        "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
    )
    return {name: (upd, hot) for name, upd, hot in await cursor.fetchall()}


async def test_a_commit_that_may_be_lost_is_said(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(url, 1) as (store,):
        commit = psycopg.Transaction.__exit__

        def lost(self: Any, *raised: Any) -> Any:
            commit(self, *raised)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(psycopg.Transaction, "__exit__", lost)
        creations = [store.threads.create(NewThread(name, {})) for name in ("t", "u", "v")]
        for said in await asyncio.gather(*creations, return_exceptions=True):
            assert isinstance(said, UnavailableError)
            assert "may be done or not" in str(said)
        monkeypatch.undo()
        assert [await store.threads.get(name) is not None for name in ("t", "u", "v")] == [True] * 3


async def test_a_connection_lost_before_the_commit_is_made_anew(url: str) -> None:
    async with opened(url, 1) as (store,):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND application_name = 'threadkeep'"
            )
        assert (await store.threads.create(NewThread("t", {}))).thread_id == "t"
