"""SIGKILL at a statement boundary: a process ends itself just before its N-th statement.

A statement is what the database sees, BEGIN and COMMIT among them: on SQLite each one that starts
(its own trace tells), on PostgreSQL each round of messages with the server. Processes come from a
fork server that has imported everything already, so that hundreds of them take seconds.
"""

import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

JOIN_SECONDS = 60.0

_context = multiprocessing.get_context("forkserver")
# Only what is installed: the fork server does not take over this process's search path.
_context.set_forkserver_preload(
    ["langgraph.graph", "psycopg", "threadkeep.testing.saver_steps", "threadkeep.savers.saver"]
)


class Bomb:
    """Kills this process before the statement of a number, once it is armed; they count from 1."""

    def __init__(self, at: int) -> None:
        self._left = at
        self._lock = threading.Lock()
        self._armed = False

    def arm(self) -> None:
        """Count from now on."""
        self._armed = True

    def tick(self) -> None:
        """Count a statement that is about to run."""
        if not self._armed:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
                threading.Event().wait()


@contextmanager
def watched(bomb: Bomb) -> Iterator[None]:
    """Show a bomb every statement of the connections that are opened in the meantime."""
    connect: Any = sqlite3.connect
    wait: Any = psycopg.Connection.wait

    def tracing_connect(*arguments: Any, **options: Any) -> Any:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda _: bomb.tick())
        return connection

    def ticking_wait(self: Any, *arguments: Any, **options: Any) -> Any:
        bomb.tick()
        return wait(self, *arguments, **options)

    sqlite3.connect = tracing_connect
    psycopg.Connection.wait = ticking_wait  # type: ignore[method-assign]
    try:
        yield
    finally:
        sqlite3.connect = connect
        psycopg.Connection.wait = wait  # type: ignore[method-assign]


def survives(work: Callable[..., None], *arguments: Any) -> bool:
    """Run a function of a module in a process of its own; tell whether it was not killed.

    Raises:
        AssertionError: It ended in another way.
    """
    process = _context.Process(target=work, args=arguments, daemon=True)
    process.start()
    process.join(JOIN_SECONDS)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    assert code in (0, -signal.SIGKILL), f"{work.__name__} ended with {code}"
    return code == 0
