"""Which index answers which statement on PostgreSQL: none reads a whole table, or a whole index.

The database is filled, and the planner left as it is. Everything that a repo can do is done, and
the plan of each statement is looked at on its way.
"""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from benchmarks import resource_rows as rows
from tests.postgres_resources import SHARED_FOLDER, STATEMENT, STATEMENTS_FILE
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.dialect import POSTGRES
from threadkeep.drivers.postgres.queries import Query, Unit
from threadkeep.drivers.postgres.resource_database import PostgresResourceDatabase
from threadkeep.drivers.sql.database import All, One, Run
from threadkeep.drivers.sql.store import SqlResourceStore
from threadkeep.model.assistants import AssistantPatch, NewAssistant
from threadkeep.model.crons import CronPatch, NewCron
from threadkeep.model.deliveries import Attempt, NewDelivery
from threadkeep.model.idempotency import IdempotencyClaim, RecordedResponse
from threadkeep.model.items import DeleteItem, GetItem, ItemQuery, NamespaceQuery, PutItem
from threadkeep.model.queries import (
    AssistantQuery,
    CronQuery,
    DeliveryQuery,
    RunQuery,
    ThreadQuery,
    VersionQuery,
)
from threadkeep.model.runs import Claim, NewRun, Outcome
from threadkeep.model.threads import NewThread, ThreadState
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock

Plans = list[tuple[str, str, Mapping[str, Any]]]  # the statement, its conditions, the plan

THREADS, RUNS, ITEMS, OTHERS = 8_000, 24_000, 8_000, 3_000

# Holds what runs at this moment, a few pages; an index would have each heartbeat rewrite it.
LEASES = "run_leases"
# Hold what waits or runs, and nothing else.
QUEUE = {"runs_pending", "runs_active"}
# Conditions of counts that leave nothing out: how many there are is known to nobody who has not
# counted them.
UNFILTERED = {"TRUE", "coalesce(expires_at > :w0, TRUE)"}

FILL = """
INSERT INTO assistants SELECT 1, n, n, 'a' || n, 'g' || n % 100, 'name ' || n, 'name ' || n, NULL,
    '{}', '{}', '{}', jsonb_build_object('user', 'user-' || n)
    FROM generate_series(1, {others}) AS n;
INSERT INTO assistant_versions SELECT v, n, n, 'a' || n, 'g', 'name', NULL, '{}', '{}', '{}', '{}'
    FROM generate_series(1, {others}) AS n, generate_series(1, 3) AS v;
INSERT INTO crons SELECT 1, n, n, NULL, n, true, 'c' || n, 'a' || n % 300,
    (SELECT thread_id FROM threads LIMIT 1), '* * * * *', NULL, NULL, NULL, '{}', NULL,
    '{}', jsonb_build_object('user', 'user-' || n) FROM generate_series(1, {others}) AS n;
INSERT INTO idempotency_records SELECT n::bigint * 1000000, 's', 'k' || n, 'f', 'claim',
    'done', 'r' || n, 't' || n, NULL FROM generate_series(1, {others}) AS n;
INSERT INTO deliveries SELECT n, n, n::bigint * 1000000, n::bigint * 1000000, 1, false,
    'd' || n, 'r' || n, 't' || n, 'success', (ARRAY['pending', 'delivered'])[n % 2 + 1], 'u', NULL,
    'null'
    FROM generate_series(1, {others}) AS n;
INSERT INTO item_lifetimes SELECT item_id, item_id * 1000000, 1 FROM items WHERE item_id % 4 = 0;
UPDATE threads SET expires_at = created_at, ttl_minutes = 1
    WHERE thread_id IN (SELECT thread_id FROM threads ORDER BY created_at LIMIT 300);
UPDATE runs SET status = 'running', fence = 1 WHERE position IN (
    SELECT min(position) FROM runs WHERE thread_id NOT IN (
        SELECT thread_id FROM runs WHERE status = 'pending'
    ) GROUP BY thread_id LIMIT 1000);
INSERT INTO run_leases SELECT position, 9000000000000000, 'other' FROM runs
    WHERE status = 'running';
VACUUM ANALYZE;
"""


class Explained(PostgresResourceDatabase):
    """Keeps the plan of each statement it runs."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self.plans: Plans = []

    def _step(self, step: One | All | Run) -> Unit[Any]:
        steps = super()._step(step)
        answer: Any = None
        while True:
            try:
                query: Query = steps.send(answer)
            except StopIteration as done:
                return done.value
            asked = yield Query(f"EXPLAIN (FORMAT JSON) {query.text}", query.parameters)
            self.plans.append((step.statement, step.where, asked[0][0][0]["Plan"]))
            answer = yield query


@pytest.fixture(scope="module")
def filled(postgres_module_url: str) -> str:
    database = PostgresDatabase(parse(postgres_module_url, {}))
    database.setup()
    database.close()
    rows.fill_postgres(postgres_module_url, threads=THREADS, runs=RUNS, items=ITEMS)
    with psycopg.connect(postgres_module_url, autocommit=True) as connection:
        for statement in FILL.replace("{others}", str(OTHERS)).split(";\n"):
            connection.execute(statement.encode())
    return postgres_module_url


async def look(store: ResourceStore) -> None:
    """Read in every way that ends soon."""
    user = {"user": rows.user(7)}
    thread_id, run_id = rows.ident("thread", 5), rows.ident("run", 5)
    for sort_by in ("thread_id", "status", "created_at", "updated_at", "state_updated_at"):
        for sort_order in ("asc", "desc"):
            page = ThreadQuery(sort_by=sort_by, sort_order=sort_order, limit=10)
            await store.threads.search(page)
    for thread_query in (
        ThreadQuery(metadata=user, limit=10),
        ThreadQuery(metadata={**user, "tags": ["t7"]}, enforced_metadata={"graph_id": "agent"}),
        ThreadQuery(values={"topic": "topic 7"}, limit=10),
        ThreadQuery(status="error", limit=10),
        ThreadQuery(status="error", metadata=user, sort_by="updated_at", limit=10),
        ThreadQuery(ids=[thread_id, rows.ident("thread", 6)]),
        ThreadQuery(limit=10, offset=5000),
    ):
        await store.threads.search(thread_query)
        if thread_query.metadata or thread_query.status or thread_query.values:
            await store.threads.count(thread_query)
    await store.threads.get(thread_id)
    await store.threads.list_expired(limit=10)
    for run_query in (
        RunQuery(limit=10),
        RunQuery(thread_id=thread_id),
        RunQuery(assistant_id=rows.ident("assistant", 5), limit=10),
        RunQuery(statuses=["error"], limit=10),
        RunQuery(statuses=["error", "timeout"], limit=10),
        RunQuery(metadata=user, limit=10),
        RunQuery(limit=10, offset=5000),
    ):
        await store.runs.search(run_query)
    await store.runs.count(RunQuery(metadata=user))
    await store.runs.latest_of(thread_id)
    await store.runs.get(run_id)
    await store.runs.next_start()


async def look_at_others(store: ResourceStore) -> None:
    """Read assistants, crons, deliveries and items."""
    user = {"user": rows.user(7)}
    for assistant_query in (
        AssistantQuery(limit=10),
        AssistantQuery(graph_id="g7", limit=10),
        AssistantQuery(metadata=user),
        AssistantQuery(sort_by="updated_at", limit=10),
        AssistantQuery(sort_by="assistant_id", limit=10),
    ):
        await store.assistants.search(assistant_query)
    await store.assistants.count(AssistantQuery(metadata=user))
    await store.assistants.get("a7")
    await store.assistants.list_versions("a7", VersionQuery(limit=1))
    for cron_query in (CronQuery(limit=10), CronQuery(assistant_id="a7"), CronQuery(metadata=user)):
        await store.crons.search(cron_query)
    await store.crons.count(CronQuery(metadata=user))
    await store.crons.list_due(limit=10)
    await store.crons.overdue_seconds()
    for delivery_query in (
        DeliveryQuery(run_id="r7"),
        DeliveryQuery(thread_id="t7"),
        DeliveryQuery(limit=10),
        DeliveryQuery(run_id="r7", limit=0),
    ):
        await store.deliveries.search(delivery_query)
    await store.deliveries.list_due(limit=10)
    mine = ("users", rows.user(7))
    for item_query in (
        ItemQuery((), {}, 10),
        ItemQuery(mine, {}, 10),
        ItemQuery(mine, {"rank": {"$gt": 5}}, 10),
        ItemQuery((), {"kind": "kind 7"}, 10),
        ItemQuery((), {"kind": {"$in": ["kind 7", "kind 8"]}}, 10),
        ItemQuery(mine, {}, 0),
    ):
        await store.items.search(item_query)
    await store.items.list_namespaces(NamespaceQuery(mine))
    await store.items.list_namespaces(NamespaceQuery(mine, limit=0))


async def change(store: ResourceStore, clock: ManualClock) -> None:
    """Write threads and runs in every way."""
    claim = Claim("one", 30)
    await store.threads.create(NewThread("t", {}, 5))
    await store.threads.update("t", metadata={"a": 1})
    await store.threads.record_state("t", ThreadState("idle", {"a": 1}, None, {}))
    await store.threads.copy("t", copy_id="copied")
    admission = await store.runs.admit(NewRun("r", "t", "a", {}), claim=claim)
    await store.runs.extend(claim, ["r"])
    await store.runs.admit(NewRun("r2", "t", "a", {}, multitask_strategy="interrupt"), claim=None)
    await store.runs.request_cancel("r2", "interrupt")
    told = NewDelivery("d", "r", "t", "http://127.0.0.1/", {}, "success", 5)
    await store.runs.settle(
        "r",
        fence=admission.run.fence,
        outcome=Outcome("success"),
        state=None,
        deliver=lambda _: told,
    )
    await store.runs.claim(claim, limit=10)
    clock.advance(31)
    await store.runs.release_expired()


async def change_assistants_and_crons(store: ResourceStore, clock: ManualClock) -> None:
    """The same for what is set up."""
    await store.assistants.create(NewAssistant("new", "g", "n", None, {}, {}, {}))
    await store.assistants.update("new", AssistantPatch(name="m"))
    await store.assistants.set_latest("new", 1)
    await store.assistants.delete("new")
    due = clock.now() + timedelta(seconds=5)
    cron = await store.crons.create(NewCron("c", "a", "* * * * *", next_run_date=due))
    cron = await store.crons.update("c", CronPatch(metadata={"a": 1}))
    clock.advance(10)
    await store.crons.fire(
        "c", token=cron.token, next_run_date=None, new=NewRun("r3", "t", "a", {})
    )
    await store.crons.get("c")
    await store.crons.delete("c")
    await store.runs.delete("r3")


async def change_others(store: ResourceStore) -> None:
    """The same for the others, and deletion in the end."""
    await store.idempotency.claim(IdempotencyClaim("s", "new", "f", "me"))
    await store.idempotency.claim(IdempotencyClaim("s", "new", "f", "you"))
    await store.idempotency.record(
        "s", "new", claim_id="me", response=RecordedResponse(200, {}, ""), run_id="r", thread_id="t"
    )
    await store.idempotency.claim(IdempotencyClaim("s", "gone", "f", "me"))
    await store.idempotency.record(
        "s", "gone", claim_id="me", response=RecordedResponse(200, {}, ""), thread_id="no thread"
    )
    await store.idempotency.get("s", "new")
    await store.idempotency.release("s", "new", claim_id="me")
    await store.idempotency.erase(run_id="r")
    await store.idempotency.erase(thread_id="t")
    await store.idempotency.sweep(limit=10)
    await store.deliveries.add(
        NewDelivery("second", "r", "t", "http://127.0.0.1/", {}, "success", 5)
    )
    await store.deliveries.get("second")
    await store.deliveries.claim(lease_seconds=5, limit=10)
    await store.deliveries.record_attempt("second", Attempt("dead", "no"))
    await store.deliveries.replay("second")
    await store.deliveries.sweep(limit=10)
    await store.items.put(("n",), "k", {"v": 1}, ttl_minutes=5)
    await store.items.get(("n",), "k")
    put = PutItem(("n",), "k2", {"v": 1}, None)
    await store.items.apply([put, DeleteItem(("n",), "k"), GetItem(("n",), "k2", True)])
    await store.items.sweep(limit=10)
    await store.threads.delete("copied", keep_undelivered=True)
    await store.threads.delete("t")


@pytest.fixture(scope="module")
def plans(filled: str) -> Plans:
    async def work() -> Plans:
        clock = ManualClock()
        clock.advance((rows.BEGAN - clock.now()).total_seconds() + RUNS + 60)
        database = PostgresDatabase(parse(filled, {}))
        explained = Explained(database)
        ranker: Any = None  # no index is used here
        store: Any = SqlResourceStore(explained, POSTGRES, ranker, clock=clock, max_page_size=1000)
        try:
            await look(store)
            await look_at_others(store)
            await change(store, clock)
            await change_assistants_and_crons(store, clock)
            await change_others(store)
        finally:
            await database.aclose()
        return explained.plans

    return asyncio.run(work())


def nodes(plan: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield plan, above
    for child in plan.get("Plans", []):
        yield from nodes(child, (*above, plan["Node Type"]))


def reads_whole(plan: Mapping[str, Any], above: tuple[str, ...]) -> bool:
    """Say whether a node reads all of a table or of an index."""
    kind = plan["Node Type"]
    if kind == "Seq Scan":
        return bool(plan["Relation Name"] != LEASES)
    if "Index" not in kind or "Index Cond" in plan or plan["Index Name"] in QUEUE:
        return False
    # In the order asked for and without a filter, it ends with the page.
    since = above[::-1][: above[::-1].index("Limit")] if "Limit" in above else ("Sort",)
    return "Filter" in plan or any("Sort" in each or "Hash" in each for each in since)


def test_every_statement_is_answered_by_an_index(plans: Plans) -> None:
    whole = [
        (statement, where, plan["Node Type"], plan.get("Index Name"), plan.get("Relation Name"))
        for statement, where, root in plans
        for plan, above in nodes(root)
        if reads_whole(plan, above) and not (statement.startswith("count_") and where in UNFILTERED)
    ]
    assert whole == []


def test_every_statement_was_looked_at(plans: Plans) -> None:
    # Over tables that only an index makes; and what reads every row, as it is asked to.
    others = {SHARED_FOLDER / "item_indexes.sql", SHARED_FOLDER / "exports.sql"}
    files = [STATEMENTS_FILE, *(set(SHARED_FOLDER.glob("*.sql")) - others)]
    named = {name for file in files for name in STATEMENT.findall(file.read_text())}
    assert named - {statement for statement, _, _ in plans} == set()
