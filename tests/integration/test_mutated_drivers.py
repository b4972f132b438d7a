"""The shipped suite notices a driver that is a little wrong: each mutation fails a case by name."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from threadkeep.drivers.memory import crons as memory_crons
from threadkeep.drivers.memory import threads as memory_threads
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.drivers.sql import run_units, where
from threadkeep.drivers.sql import threads as sql_threads
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.ports.resources import ResourceStore
from threadkeep.rules.paging import Page, listing_of
from threadkeep.testing import resources as suites
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources import PAGE_SIZE


@dataclass(frozen=True)
class Statement:
    """A wrong statement of SQLite, and the case that notices it."""

    name: str
    right: str
    wrong: str
    case: str

    def __str__(self) -> str:
        return f"{self.name}: {self.right.strip()} -> {self.wrong.strip() or 'nothing'}"


@dataclass(frozen=True)
class Code:
    """A wrong function of a driver, and the case that notices it."""

    says: str
    place: Any
    name: str
    wrong: Callable[..., Any]
    case: str

    def __str__(self) -> str:
        return self.says


STATEMENTS = [
    Statement(
        "due_crons",
        "next_run_date, cron_id",
        "next_run_date, cron_id DESC",
        "FiringSuite.test_of_equal_dates_the_lower_id_is_first",
    ),
    Statement("due_crons", "<=", "<", "FiringSuite.test_a_date_is_due_at_its_very_moment"),
    Statement(
        "due_crons",
        "enabled AND ",
        "",
        "FiringSuite.test_due_are_the_enabled_whose_date_has_come_soonest_first",
    ),
    Statement("due_crons", ":limit", ":limit + 1", "FiringSuite.test_the_list_of_due_is_bounded"),
    Statement(
        "claim_idempotency",
        "WHERE idempotency_records.expires_at <= :now",
        "",
        "IdempotencySuite.test_who_has_the_key_is_reported",
    ),
    Statement(
        "claim_idempotency",
        "response = excluded.response, run_id = excluded.run_id, thread_id = excluded.thread_id,",
        "",
        "IdempotencySuite.test_an_expired_record_is_taken_over_and_begins_anew",
    ),
    Statement(
        "record_idempotency",
        "AND claim_id = :claim_id",
        "",
        "IdempotencySuite.test_a_stale_claim_records_nothing",
    ),
    Statement(
        "erase_idempotency_of_thread",
        "thread_id = :thread_id",
        "FALSE AND thread_id = :thread_id",
        "IdempotencySuite.test_a_thread_is_erased_from_the_records",
    ),
    Statement(
        "erase_deliveries_of_thread",
        "thread_id = :thread_id",
        "FALSE AND thread_id = :thread_id",
        "ErasureSuite.test_a_deleted_thread_leaves_nothing",
    ),
    Statement(
        "lock_due_deliveries",
        "AND next_attempt_at <= :now",
        "",
        "DeliverySuite.test_it_is_held_back_until_its_lease_is_over",
    ),
    Statement(
        "sweep_deliveries",
        "expires_at <= :now",
        "TRUE",
        "DeliverySuite.test_a_sweep_removes_only_final_ones_whose_time_is_over",
    ),
    Statement(
        "startable_runs",
        "AND older.position < runs.position",
        "AND older.position > runs.position",
        "QueueSuite.test_a_thread_runs_one_at_a_time_in_the_order_admitted",
    ),
    Statement(
        "startable_runs",
        "AND start_at <= :now",
        "",
        "QueueSuite.test_a_run_waits_for_its_start",
    ),
    Statement(
        "renew_run_leases",
        "owner = :owner AND ",
        "",
        "QueueSuite.test_extending_renews_nobody_elses_lease",
    ),
    Statement(
        "latest_run",
        "created_at DESC, run_id DESC",
        "created_at DESC, run_id",
        "RunSuite.test_the_latest_of_a_thread_is_by_creation_then_id",
    ),
    Statement(
        "expired_threads",
        "expires_at <= :now",
        "expires_at < :now",
        "ThreadLifetimeSuite.test_a_thread_is_expired_at_its_very_microsecond",
    ),
    Statement(
        "search_threads",
        'CASE WHEN :select_values THEN "values" END AS "values"',
        '"values"',
        "ThreadCopySuite.test_a_selection_changes_neither_what_matches_nor_the_rest",
    ),
    Statement(
        "get_item",
        "AND (expires_at IS NULL OR expires_at > :now)",
        "",
        "LifetimeSuite.test_an_expired_item_is_absent_everywhere",
    ),
]

order_by = where.Conditions.order_by
threads_where = where.threads_where

SQL_CODE = [
    Code(
        "searches break ties the other way",
        where.Conditions,
        "order_by",
        lambda self, column, id_column, direction, **more: order_by(
            self, column, f"-{id_column} IS NULL, {id_column} DESC --", direction, **more
        ),
        "ThreadSuite.test_search_sorts_both_ways_and_breaks_ties_by_id",
    ),
    Code(
        "what is enforced of threads is not",
        sql_threads,
        "threads_where",
        lambda query, dialect: threads_where(replace(query, enforced_metadata={}), dialect),
        "ThreadSuite.test_enforced_metadata_restricts",
    ),
    Code(
        "what is enforced of threads replaces what the caller asks",
        sql_threads,
        "threads_where",
        lambda query, dialect: threads_where(
            replace(query, metadata=query.enforced_metadata or query.metadata), dialect
        ),
        "ThreadSuite.test_enforced_metadata_is_never_merged_with_the_callers",
    ),
    Code(
        "what is enforced of runs is not",
        where.Conditions,
        "owned",
        lambda self, wanted, *, of_one_thread: None,
        "OwnershipSuite.test_runs_are_searched_only_for_their_threads_owner",
    ),
    Code(
        "pages have no bound",
        sql_threads,
        "page_of",
        lambda *, limit, offset, max_page_size: Page(9999 if limit is None else limit, offset),
        "PagingSuite.test_without_a_limit_a_page_has_the_bound[threads]",
    ),
    Code(
        "a cut page does not say so",
        sql_threads,
        "listing_of",
        lambda rows, *, page, total: listing_of(rows, page=page, total=page.offset + len(rows)),
        "PagingSuite.test_a_larger_limit_is_clamped[threads]",
    ),
    Code(
        "a settle frees a thread that has another run",
        run_units,
        "shown_status",
        lambda left, *, is_active: left,
        "SettlingSuite.test_a_thread_stays_busy_while_another_run_waits",
    ),
]

MEMORY_CODE = [
    Code(
        "searches break ties the other way",
        memory_threads,
        "sorted_rows",
        lambda rows, *, sort_by, id_field, sort_order: sorted(
            sorted(rows, key=lambda row: row.thread_id, reverse=sort_order == "asc"),
            key=lambda row: getattr(row, sort_by),
            reverse=sort_order == "desc",
        ),
        "ThreadSuite.test_search_sorts_both_ways_and_breaks_ties_by_id",
    ),
    Code(
        "rows are given out themselves",
        memory_threads,
        "listing_of_copies",
        lambda rows, page: listing_of(rows, page=page, total=len(rows)),
        "IsolationSuite.test_threads_are_not_shared_with_the_store",
    ),
    Code(
        "a lifetime outlives its moment",
        memory_threads,
        "is_live",
        lambda expiry, now: expiry is None or now <= expiry,
        "ThreadLifetimeSuite.test_a_thread_is_expired_at_its_very_microsecond",
    ),
    Code(
        "a claim does not look at the token",
        memory_crons,
        "may_fire",
        lambda cron, token: True,
        "FiringSuite.test_a_lost_claim_writes_nothing",
    ),
]


CASES = sorted(
    {each.case for each in STATEMENTS} | {each.case for each in (*SQL_CODE, *MEMORY_CODE)}
)


def run_case(name: str, store: ResourceStore, clock: ManualClock) -> None:
    """Run a case of the suite on a store."""
    path, _, listed = name.partition("[")
    suite, _, case = path.partition(".")
    method = getattr(getattr(suites, suite)(), case)
    given: dict[str, Any] = {"store": store, "clock": clock}
    if listed:
        lists = {str(each): each for each in suites.paging.LISTS}
        given["listed"] = lists[listed.rstrip("]")]
    wanted = method.__code__.co_varnames[: method.__code__.co_argcount]
    asyncio.run(method(**{key: value for key, value in given.items() if key in wanted}))


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is set up and empty, to be copied."""
    path = tmp_path_factory.mktemp("mutations") / "migrated.db"
    database = SqliteDatabase(Address(path))
    database.setup_now()
    database.close()
    return path


@pytest.fixture
def database(tmp_path: Path, migrated: Path) -> Any:
    path = tmp_path / "resources.db"
    shutil.copy(migrated, path)
    database = SqliteDatabase(Address(path))
    yield database
    database.close()


def on_sqlite(database: SqliteDatabase, clock: ManualClock) -> ResourceStore:
    return SqliteResourceStore(database, clock=clock, max_page_size=PAGE_SIZE)


@pytest.mark.parametrize("mutation", STATEMENTS, ids=str)
def test_a_wrong_statement_is_noticed(database: SqliteDatabase, mutation: Statement) -> None:
    clock = ManualClock()
    store = on_sqlite(database, clock)
    statements = database._statements
    assert mutation.right in statements[mutation.name]
    statements[mutation.name] = statements[mutation.name].replace(mutation.right, mutation.wrong)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        run_case(mutation.case, store, clock)


@pytest.mark.parametrize("mutation", SQL_CODE, ids=str)
def test_a_wrong_function_is_noticed_on_sqlite(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, mutation: Code
) -> None:
    clock = ManualClock()
    monkeypatch.setattr(mutation.place, mutation.name, mutation.wrong)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        run_case(mutation.case, on_sqlite(database, clock), clock)


@pytest.mark.parametrize("mutation", MEMORY_CODE, ids=str)
def test_a_wrong_function_is_noticed_in_memory(
    monkeypatch: pytest.MonkeyPatch, mutation: Code
) -> None:
    clock = ManualClock()
    monkeypatch.setattr(mutation.place, mutation.name, mutation.wrong)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        run_case(mutation.case, MemoryResourceStore(clock=clock, max_page_size=PAGE_SIZE), clock)


@pytest.mark.parametrize("case", CASES)
def test_the_cases_hold_where_nothing_is_wrong(database: SqliteDatabase, case: str) -> None:
    clock = ManualClock()
    run_case(case, on_sqlite(database, clock), clock)
    clock = ManualClock()
    run_case(case, MemoryResourceStore(clock=clock, max_page_size=PAGE_SIZE), clock)
