"""Which index answers which statement on SQLite: no query of a hot path reads a whole table."""

import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from threadkeep.drivers.sql import statements
from threadkeep.drivers.sql.store import SHARED, SHARED_STATEMENTS
from threadkeep.drivers.sql.where import (
    Conditions,
    assistants_where,
    crons_where,
    deliveries_where,
    items_where,
    namespaces_where,
    runs_where,
    threads_where,
)
from threadkeep.drivers.sqlite import functions
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.dialect import SQLITE
from threadkeep.model.items import ItemQuery, NamespaceQuery
from threadkeep.model.queries import AssistantQuery, CronQuery, DeliveryQuery, RunQuery, ThreadQuery

STATEMENTS = statements.load("threadkeep.drivers.sqlite", "resources.sql")
for shared in SHARED_STATEMENTS:
    STATEMENTS |= statements.load(SHARED, shared, schema="")
NOW = datetime(2030, 1, 1, tzinfo=UTC)
NO_CONDITION = Conditions(SQLITE)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path: Path = tmp_path_factory.mktemp("plans") / "plans.db"
    database = SqliteDatabase(Address(path))
    database.setup_now()
    database.close()
    connection = sqlite3.connect(path)
    functions.register(connection)
    yield connection
    connection.close()


def plan(connection: sqlite3.Connection, name: str, where: Conditions) -> list[str]:
    """Return the steps of a statement's plan."""
    text = where.ordered_text if where.order else where.text
    sql = STATEMENTS[name].replace("{where}", text)
    bound = {**dict.fromkeys(re.findall(r":(\w+)", sql), 1), **where.parameters}
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bound)]


BY_KEY = [
    "get_assistant",
    "lock_assistant",
    "change_assistant",
    "highest_assistant_version",
    "get_assistant_version",
    "remove_assistant",
    "get_thread",
    "lock_thread",
    "lock_thread_of_run",
    "change_thread",
    "free_thread",
    "remove_thread_row",
    "add_run_request",
    "add_run_lease",
    "renew_run_leases",
    "remove_run_lease",
    "get_run",
    "active_runs",
    "has_active_run",
    "owned_runs",
    "change_run",
    "remove_run",
    "get_item",
    "put_item_lifetime",
    "remove_item_lifetime",
    "remove_item",
    "sweep_items",
    "latest_run",
    "get_cron",
    "lock_cron",
    "change_cron",
    "move_cron",
    "remove_cron",
    "get_idempotency",
    "record_idempotency",
    "release_idempotency",
    "disown_idempotency",
    "erase_idempotency_of_run",
    "erase_idempotency_of_thread",
    "erase_idempotency_of_runs_of_thread",
    "sweep_idempotency",
    "get_delivery",
    "lock_delivery",
    "change_delivery",
    "erase_deliveries_of_run",
    "erase_deliveries_of_thread",
    "erase_settled_deliveries_of_thread",
    "sweep_deliveries",
]


@pytest.mark.parametrize("name", BY_KEY)
def test_a_statement_by_key_searches_an_index(connection: sqlite3.Connection, name: str) -> None:
    steps = plan(connection, name, NO_CONDITION)
    scans = [step for step in steps if step.startswith("SCAN") and "json_each" not in step]
    assert scans == []


@pytest.mark.parametrize("name", ["startable_runs", "next_start"])
def test_the_queue_reads_pending_runs_only(connection: sqlite3.Connection, name: str) -> None:
    steps = plan(connection, name, NO_CONDITION)
    assert any("runs_pending" in step for step in steps), steps
    assert any("SEARCH older USING INDEX runs_active" in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps


def test_only_leased_runs_are_looked_at_for_release(connection: sqlite3.Connection) -> None:
    steps = plan(connection, "expired_runs", NO_CONDITION)
    assert [step for step in steps if step.startswith("SCAN")] == ["SCAN run_leases"], steps


SEARCHES = [
    ("search_threads", threads_where(ThreadQuery(), SQLITE), "threads_by_creation"),
    (
        "search_threads",
        threads_where(ThreadQuery(sort_by="updated_at", sort_order="asc"), SQLITE),
        "threads_by_update",
    ),
    (
        "search_threads",
        threads_where(ThreadQuery(sort_by="state_updated_at"), SQLITE),
        "threads_by_state_update",
    ),
    ("search_threads", threads_where(ThreadQuery(status="busy"), SQLITE), "threads_by_status"),
    (
        "search_threads",
        threads_where(ThreadQuery(metadata={"user": "u"}), SQLITE),
        "SEARCH thread_labels USING PRIMARY KEY (label_key=? AND label_value=?)",
    ),
    (
        "search_threads",
        threads_where(ThreadQuery(enforced_metadata={"user": "u"}, status="idle"), SQLITE),
        "SEARCH thread_labels USING PRIMARY KEY (label_key=? AND label_value=?)",
    ),
    ("search_runs", runs_where(RunQuery(), SQLITE), "runs_by_creation"),
    ("search_runs", runs_where(RunQuery(statuses=["error"]), SQLITE), "runs_of_status"),
    ("search_runs", runs_where(RunQuery(assistant_id="a"), SQLITE), "runs_of_assistant"),
    ("latest_run", NO_CONDITION, "runs_of_thread"),
    ("search_crons", crons_where(CronQuery(), SQLITE), "crons_by_creation"),
    ("search_deliveries", deliveries_where(DeliveryQuery(run_id="r"), SQLITE), "deliveries_of_run"),
    ("due_crons", NO_CONDITION, "crons_due"),
    ("first_due_cron", NO_CONDITION, "crons_due"),
    ("due_deliveries", NO_CONDITION, "deliveries_due"),
    ("lock_due_deliveries", NO_CONDITION, "deliveries_due"),
    ("expired_threads", NO_CONDITION, "threads_expired"),
    ("search_runs", runs_where(RunQuery(thread_id="t"), SQLITE), "runs_of_thread"),
    ("search_assistants", assistants_where(AssistantQuery(), SQLITE), "assistants_by_creation"),
    (
        "search_assistants",
        assistants_where(AssistantQuery(graph_id="g"), SQLITE),
        "assistants_of_graph",
    ),
    ("search_items", items_where(ItemQuery(), SQLITE, NOW), "items_by_update"),
]


def test_runs_of_a_label_are_read_in_order_and_only_ties_are_sorted(
    connection: sqlite3.Connection,
) -> None:
    query = RunQuery(metadata={"user": "u"}, assistant_id="a")
    steps = plan(connection, "search_runs", runs_where(query, SQLITE))
    label = "SEARCH run_labels USING PRIMARY KEY (label_key=? AND label_value=?)"
    assert steps[0] == label, steps
    assert "USE TEMP B-TREE FOR ORDER BY" not in steps


@pytest.mark.parametrize(
    "query",
    [
        ItemQuery((), {"kind": "a"}),
        ItemQuery((), {"kind": {"$in": ["a", "b"]}}),
        ItemQuery((), {"rank": {"$gt": 5}}),
        ItemQuery(("n",), {"kind": "a", "rank": {"$gt": 5}}),
    ],
    ids=str,
)
def test_a_filter_reads_the_items_that_its_labels_find(
    connection: sqlite3.Connection, query: ItemQuery
) -> None:
    for name in ("search_items", "count_items"):
        steps = plan(connection, name, items_where(query, SQLITE, NOW))
        assert any("SEARCH items USING INTEGER PRIMARY KEY" in step for step in steps), steps
        assert any("SEARCH item_labels USING PRIMARY KEY" in step for step in steps), steps


@pytest.mark.parametrize(("name", "where", "index"), SEARCHES, ids=lambda value: str(value)[:40])
def test_a_search_reads_in_order(
    connection: sqlite3.Connection, name: str, where: Conditions, index: str
) -> None:
    steps = plan(connection, name, where)
    assert any(index in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps


def test_namespaces_are_read_from_the_index_of_addresses(connection: sqlite3.Connection) -> None:
    query = NamespaceQuery(("users", "*"))
    steps = plan(connection, "search_namespaces", namespaces_where(query, SQLITE, NOW))
    assert any("SEARCH items USING COVERING INDEX" in step and "path>" in step for step in steps)
