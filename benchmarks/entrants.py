"""The savers that are measured, and how each of them is opened.

Every one is opened as its own documentation says. What differs from the shipped setting is in its
name: ``synchronous`` decides whether SQLite waits for the disk at each commit, which costs more
than anything else a put does, so it is stated and matched.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks import chat
from benchmarks.counting import Counter, CountingInMemorySaver
from threadkeep import DocumentCheckpointSaver

Saver = BaseCheckpointSaver[Any]
Opener = Callable[[Path], AbstractContextManager[Saver]]

OURS, OURS_FULL = "threadkeep", "threadkeep, synchronous=full"
PEER, PEER_NORMAL = "SqliteSaver", "SqliteSaver, synchronous=normal"
MEMORY = "InMemorySaver"

_SYNCHRONOUS = ("off", "normal", "full", "extra")  # as SQLite numbers them


@contextmanager
def _ours(path: Path) -> Iterator[Saver]:
    with DocumentCheckpointSaver.from_url(f"sqlite:///{path}") as saver:
        yield saver


@contextmanager
def _ours_full(path: Path) -> Iterator[Saver]:
    with DocumentCheckpointSaver.from_url(f"sqlite:///{path}?synchronous=full") as saver:
        yield saver


@contextmanager
def _peer(path: Path) -> Iterator[Saver]:
    with SqliteSaver.from_conn_string(str(path)) as saver:
        saver.setup()
        yield saver


@contextmanager
def _peer_normal(path: Path) -> Iterator[Saver]:
    with SqliteSaver.from_conn_string(str(path)) as saver:
        saver.setup()
        saver.conn.execute("PRAGMA synchronous=NORMAL")
        yield saver


ON_DISK: dict[str, Opener] = {
    OURS: _ours,
    OURS_FULL: _ours_full,
    PEER: _peer,
    PEER_NORMAL: _peer_normal,
}
NAMES = (*ON_DISK, MEMORY)


class Clock:
    """How long something took, each time it was done.

    Attributes:
        seconds: By the clock on the wall.
        cpu_seconds: Of the processor, on the calling thread: hardly longer on a busy machine.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that each call is timed."""

        @wraps(call)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            started, cpu_started = time.perf_counter(), time.thread_time()
            try:
                return call(*arguments, **options)
            finally:
                self.seconds.append(time.perf_counter() - started)
                self.cpu_seconds.append(time.thread_time() - cpu_started)

        return wrapped


class Entrant:
    """One saver under measurement, with its own database, graph, counter and clocks.

    Attributes:
        puts: The clock of ``put``.
        writes: That of ``put_writes``.
        turn_seconds: Time of the processor for each turn, the graph's own work included.
        empty_bytes: The size of its database before the first turn.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.path = folder / f"{NAMES.index(name)}.db"
        self.config: RunnableConfig = {"configurable": {"thread_id": "chat"}}
        self.counter = Counter()
        self.puts, self.writes = Clock(), Clock()
        self.turn_seconds: list[float] = []
        self._memory = CountingInMemorySaver(self.counter) if name == MEMORY else None
        self._opened: AbstractContextManager[Saver] | None = None

    @property
    def on_disk(self) -> bool:
        """Whether it has a database that can be opened anew."""
        return self._memory is None

    def open(self) -> None:
        """Open the saver that the graph writes with."""
        self._opened = self.fresh()
        self.saver = self._opened.__enter__()
        for name, clock in (("put", self.puts), ("put_writes", self.writes)):
            setattr(self.saver, name, clock.timed(getattr(self.saver, name)))
        self.graph = chat.build(self.saver)
        self.empty_bytes = self.stored_bytes()

    def take_turn(self, turn: int) -> None:
        """Take one turn of the chat; turns count from 0."""
        started = time.process_time()
        # Each checkpoint is stored before the next step begins, so that a put is timed alone.
        self.graph.invoke(chat.turn_input(turn), self.config, durability="sync")
        self.turn_seconds.append(time.process_time() - started)

    def forget_times(self) -> None:
        """Begin to measure anew."""
        for clock in (self.puts, self.writes):
            clock.seconds.clear()
            clock.cpu_seconds.clear()
        self.turn_seconds.clear()

    def synchronous(self) -> str | None:
        """Return the setting that the connection which writes has in fact."""
        return None if self.counter.synchronous is None else _SYNCHRONOUS[self.counter.synchronous]

    def close(self) -> None:
        """Close it."""
        if self._opened is not None:
            self._opened.__exit__(None, None, None)

    @contextmanager
    def fresh(self) -> Iterator[Saver]:
        """Open another saver on the same data: nothing that the first one remembers is warm."""
        if self._memory is not None:
            yield self._memory
            return
        with ON_DISK[self.name](self.path) as saver:
            yield saver

    def stored_bytes(self) -> int:
        """Return the size of what is kept: the database after its log was checkpointed."""
        if self._memory is not None:
            return self.counter.read().handed_bytes
        connection = sqlite3.connect(self.path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()
        return sum(file.stat().st_size for file in self.path.parent.glob(self.path.name + "*"))
