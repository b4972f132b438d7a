"""Under which conditions something was measured; recorded with each figure."""

import gc
import os
import platform
import sqlite3
import statistics
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg

PACKAGES = (
    "threadkeep",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "psycopg",
    "langchain-core",
    "ormsgpack",
    "zstandard",
)
PEERS = (
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
)
COMMITS = 40  # of one row each, to tell how long this disk takes for one


def of_this_run(folder: Path, server: str | None) -> dict[str, Any]:
    """Return what stays the same during a run.

    Args:
        folder: Where the files of databases are.
        server: The address of the PostgreSQL server, where one is measured.
    """
    told = {} if server is None else {"postgresql": _server_version(server)}
    return told | {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "gc": list(gc.get_threshold()) if gc.isenabled() else "off",
        "dont_write_bytecode": bool(os.environ.get("PYTHONDONTWRITEBYTECODE")),
        "bare_commit_ms": {
            setting: _bare_commit_ms(folder / f"commit-{setting}.db", setting)
            for setting in ("normal", "full")
        },
    }


def _server_version(server: str) -> str:
    with psycopg.connect(server) as connection:
        row = connection.execute("SHOW server_version").fetchone()
    return str(row[0]) if row else ""


def load() -> list[float]:
    """Return the load averages of the last 1, 5 and 15 minutes."""
    return [round(average, 2) for average in os.getloadavg()]


def describe(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Tell a reader under which conditions the lines of a run were measured."""
    first = conditions[0]
    loads = [each["load"][0] for each in conditions]
    commits, versions = first["bare_commit_ms"], first["versions"]
    bytecode = "off" if first["dont_write_bytecode"] else "on"
    packages = ", ".join(f"{name} {versions[name]}" for name in PEERS if name in versions)
    server = f" PostgreSQL {first['postgresql']} with fsync," if "postgresql" in first else ""
    return (
        f"Measured on {first['date'][:10]}, {first['system']}, {first['cpus']} CPUs, load average"
        f" {min(loads)} to {max(loads)}, nice {first['nice']}; Python {first['python']} (writing"
        f" of bytecode {bytecode}), SQLite {first['sqlite']},"
        f"{server} {packages}. A bare commit of one"
        f" row takes {commits['normal']} ms at `synchronous=normal` and {commits['full']} ms at"
        " `full`."
    )


def _bare_commit_ms(path: Path, setting: str) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute(f"PRAGMA synchronous={setting}")
    connection.execute("CREATE TABLE t (v BLOB)")
    taken = []
    for _ in range(COMMITS):
        started = time.perf_counter()
        connection.execute("INSERT INTO t VALUES (?)", (b"x" * 200,))
        taken.append(time.perf_counter() - started)
    connection.close()
    return round(1000 * statistics.median(taken), 2)
