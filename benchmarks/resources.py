"""What reads and claims of a full resource store cost: ``python -m benchmarks.resources``.

Fills each database with threads, runs and items (``resource_rows.py``) and asks what servers ask,
through the repos, one call after the other. Prints a table, or with ``--json`` the raw lines that
it is made of: one for each question and database.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import resource_rows as rows
from benchmarks.conditions import load, of_this_run
from benchmarks.resource_table import table
from tests.servers.postgres import DURABLE, postgres_server
from threadkeep.model.items import ItemQuery
from threadkeep.model.queries import RunQuery, ThreadQuery
from threadkeep.model.runs import Claim
from threadkeep.ports.drivers import Driver, open_driver
from threadkeep.ports.resources import ResourceStore

DATABASES = ("SQLite", "PostgreSQL")
PAGE = 10  # rows, as a client shows them
FAR = 999 * PAGE  # where page 1,000 begins
LONGEST_MS = 20_000  # of one question

Question = Callable[[ResourceStore, int], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much there is, and how often each question is asked."""

    threads: int
    runs: int
    items: int
    calls: int


FULL = Plan(threads=300_000, runs=1_000_000, items=100_000, calls=200)


def scaled(scale: float) -> Plan:
    """Return a part of everything, asked half as often where it is not the whole."""
    if scale >= 1:
        return FULL
    return Plan(
        threads=int(FULL.threads * scale),
        runs=int(FULL.runs * scale),
        items=int(FULL.items * scale),
        calls=FULL.calls // 2,
    )


QUESTIONS: Mapping[str, Question] = {
    "thread by id": lambda store, at: store.threads.get(rows.ident("thread", at)),
    "threads by metadata, 1 in 1,000": lambda store, at: store.threads.search(
        ThreadQuery(metadata={"user": rows.user(at)}, limit=PAGE)
    ),
    "threads by status, 1 in 1,000": lambda store, _: store.threads.search(
        ThreadQuery(status="error", limit=PAGE)
    ),
    "threads, page 1": lambda store, _: store.threads.search(ThreadQuery(limit=PAGE)),
    "threads, page 1,000": lambda store, _: store.threads.search(
        ThreadQuery(limit=PAGE, offset=FAR)
    ),
    "count of threads by metadata": lambda store, at: store.threads.count(
        ThreadQuery(metadata={"user": rows.user(at)})
    ),
    "count of all threads": lambda store, _: store.threads.count(ThreadQuery()),
    "latest run of a thread": lambda store, at: store.runs.latest_of(rows.ident("thread", at)),
    "runs by metadata, 1 in 1,000": lambda store, at: store.runs.search(
        RunQuery(metadata={"user": rows.user(at)}, limit=PAGE)
    ),
    "runs by status, 1 in 1,000": lambda store, _: store.runs.search(
        RunQuery(statuses=["error"], limit=PAGE)
    ),
    "items of a user": lambda store, at: store.items.search(
        ItemQuery(("users", rows.user(at)), {}, PAGE)
    ),
    "items by value, 1 in 1,000": lambda store, at: store.items.search(
        ItemQuery((), {"kind": f"kind {at % rows.USERS}"}, PAGE)
    ),
    "claim of one run": lambda store, _: store.runs.claim(Claim("benchmark", 60), limit=1),
}


@contextmanager
def filled(database: str, plan: Plan, folder: Path) -> Iterator[tuple[Driver, str | None]]:
    """Open a database that is full, and the address of its server where it has one."""
    sizes = {"threads": plan.threads, "runs": plan.runs, "items": plan.items}
    with ExitStack() as stack:
        server = None
        if database == "SQLite":
            path = folder / "resources.db"
            driver = open_driver(f"sqlite:///{path}")
            asyncio.run(driver.resources().setup())
            rows.fill_sqlite(str(path), **sizes)
        else:
            server = stack.enter_context(stack.enter_context(postgres_server(DURABLE)).new())
            driver = open_driver(server)
            driver.documents().setup()
            rows.fill_postgres(server, **sizes)
        stack.callback(driver.close)
        yield driver, server


async def ask(store: ResourceStore, question: Question, calls: int) -> list[float]:
    """Ask a question, about another row each time, and return the milliseconds it took.

    What takes long is asked less often.
    """
    taken: list[float] = []
    for at in range(calls):
        if sum(taken) > LONGEST_MS:
            break
        started = time.perf_counter()
        await question(store, at * 7)
        taken.append(1000 * (time.perf_counter() - started))
    return taken


async def ask_all(store: ResourceStore, plan: Plan) -> list[tuple[str, list[float]]]:
    """Ask every question, twice before it counts."""
    answers = []
    for name, question in QUESTIONS.items():
        await ask(store, question, 2)
        answers.append((name, await ask(store, question, plan.calls)))
    return answers


def measure(plan: Plan, databases: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the raw lines."""
    for database in databases:
        with TemporaryDirectory() as name, filled(database, plan, Path(name)) as (driver, server):
            conditions = of_this_run(Path(name), server)
            before = load()
            for question, taken in asyncio.run(ask_all(driver.resources(), plan)):
                yield {
                    "database": database,
                    "question": question,
                    "threads": plan.threads,
                    "runs": plan.runs,
                    "items": plan.items,
                    "calls": len(taken),
                    "p50_ms": round(statistics.median(taken), 3),
                    "p95_ms": round(sorted(taken)[int(0.95 * len(taken))], 3),
                    "conditions": conditions | {"load": before},
                }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resources", description=__doc__)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="how much of it, e.g. 0.01 to see that it works"
    )
    parser.add_argument("--json", action="store_true", help="print raw lines instead of a table")
    parser.add_argument("--out", type=Path, help="also write the raw lines to this file")
    parser.add_argument("--only", action="append", choices=DATABASES, help="by default, both")
    options = parser.parse_args(arguments)
    lines = list(measure(scaled(options.scale), options.only or DATABASES))
    raw = "".join(json.dumps(line) + "\n" for line in lines)
    if options.out:
        options.out.write_text(raw, encoding="utf-8")
    sys.stdout.write(raw if options.json else table(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
