"""A database full of threads, runs and items, as a server that ran for long would leave it.

Rows are those the repos write: made of the model by the drivers' own functions, and copied in at
once. One thread in 1,000 is of a user, and one in 1,000 failed; so are runs.
"""

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from threadkeep.drivers.postgres.resource_database import derived
from threadkeep.drivers.sql.rows import Bag, item_bag, run_bag, thread_bag
from threadkeep.model.items import Item
from threadkeep.model.runs import Run
from threadkeep.model.threads import Thread

USERS = 1_000
PENDING = 500  # of the runs, the last ones, each of another thread
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

Columns = Mapping[str, Sequence[str]]

_RUN = (
    "position", "run_id", "thread_id", "assistant_id", "status", "multitask_strategy",
    "created_at", "updated_at", "start_at", "reason", "error", "fence", "cancel",
)  # fmt: skip
_THREAD = (
    "thread_id", "status", "left_status", "metadata", "config", "values", "head_checkpoint_id",
    "interrupts", "error", "created_at", "updated_at", "state_updated_at", "ttl_minutes",
    "expires_at",
)  # fmt: skip
_ITEM = ("item_id", "path", "key", "value", "created_at", "updated_at")
ON_SQLITE: Columns = {
    "threads": _THREAD,
    "runs": (*_RUN, "metadata"),
    "run_requests": ("position", "kwargs"),
    "items": _ITEM,
}
ON_POSTGRES: Columns = {
    "threads": _THREAD,
    "thread_search": ("thread_id", "metadata_search", "values_search"),
    "runs": _RUN,
    "run_requests": ("position", "kwargs", "metadata", "metadata_search"),
    "items": (*_ITEM, "labels", "entries", "value_search"),
}


def ident(kind: str, number: int) -> str:
    """Return the id of a row: a UUID, so that ids are in no order."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}-{number}"))


def user(number: int) -> str:
    """Return the user of a thread, run or item."""
    return f"user-{number % USERS}"


def thread(number: int, *, busy: int) -> Bag:
    """Return the columns of a thread; the first ``busy`` have a run that waits."""
    at = BEGAN + timedelta(seconds=number)
    status: Any = "error" if number % USERS == 7 else "idle"
    made = Thread(
        thread_id=ident("thread", number),
        status=status,
        metadata={"graph_id": "agent", "user": user(number), "tags": ["a", f"t{number % 10}"]},
        config={},
        values={"topic": f"topic {number % USERS}", "messages": [{"content": "hello " * 20}]},
        head_checkpoint_id=ident("checkpoint", number),
        interrupts={},
        error=None,
        created_at=at,
        updated_at=at,
        state_updated_at=at,
        ttl_minutes=None,
        expires_at=None,
    )
    return thread_bag(made, shown="busy" if number < busy else status)


def run(number: int, *, threads: int, runs: int) -> Bag:
    """Return the columns of a run."""
    pending = runs - number
    waits = pending <= min(PENDING, threads)
    at = BEGAN + timedelta(seconds=number, milliseconds=1)
    status: Any = "pending" if waits else "error" if number % USERS == 7 else "success"
    made = Run(
        run_id=ident("run", number),
        thread_id=ident("thread", pending - 1 if waits else number % threads),
        assistant_id=ident("assistant", number % 20),
        status=status,
        metadata={"user": user(number), "source": "api"},
        kwargs={"input": {"messages": [{"role": "user", "content": "hello " * 20}]}},
        multitask_strategy="enqueue",
        created_at=at,
        updated_at=at,
        start_at=at,
        reason=None,
        error=None,
        owner=None,
        fence=0 if waits else 1,
        lease_expires_at=None,
        cancel=None,
    )
    return {**run_bag(made), "position": number + 1}


def item(number: int) -> Bag:
    """Return the columns of an item."""
    at = BEGAN + timedelta(seconds=number)
    made = Item(
        namespace=("users", user(number), "facts"),
        key=ident("item", number),
        value={"kind": f"kind {number % USERS}", "rank": number % 100, "text": "a fact " * 10},
        created_at=at,
        updated_at=at,
        ttl_minutes=None,
        expires_at=None,
    )
    return {**item_bag(made), "item_id": number + 1}


def _each(table: str, *, threads: int, runs: int, items: int) -> Iterator[Bag]:
    if table.startswith("thread"):
        return (thread(number, busy=min(PENDING, threads, runs)) for number in range(threads))
    if table.startswith("run"):
        return (run(number, threads=threads, runs=runs) for number in range(runs))
    return (item(number) for number in range(items))


def fill_postgres(url: str, *, threads: int, runs: int, items: int) -> None:
    """Fill a database that is set up and empty, and have its statistics taken."""
    with psycopg.connect(url, autocommit=True) as connection:
        for table, columns in ON_POSTGRES.items():
            named = ", ".join(f'"{column}"' for column in columns)
            with connection.cursor().copy(f"COPY {table} ({named}) FROM STDIN") as copy:
                for bag in _each(table, threads=threads, runs=runs, items=items):
                    copy.write_row(derived(bag, columns))
        for table, key in (("runs", "position"), ("items", "item_id")):
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{key}'), max({key})) "
                f"FROM {table}"
            )
        connection.execute("VACUUM ANALYZE")


def fill_sqlite(path: str, *, threads: int, runs: int, items: int) -> None:
    """Fill a file that is set up and empty."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = OFF")
    for table, columns in ON_SQLITE.items():
        named = ", ".join(f'"{column}"' for column in columns)
        places = ", ".join(f":{column}" for column in columns)
        rows = _each(table, threads=threads, runs=runs, items=items)
        connection.executemany(f"INSERT INTO {table} ({named}) VALUES ({places})", rows)
    connection.commit()
    connection.execute("PRAGMA optimize").fetchall()
    connection.close()
