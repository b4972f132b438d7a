"""One saver under measurement; what it is asked and answers is JSON, so it may live elsewhere."""

import gc
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from benchmarks import chat
from benchmarks.clock import Clock, Figures, Sample, milliseconds, spread
from benchmarks.counting import Counter, CountingInMemorySaver, Counts
from benchmarks.entrants import Kind, Saver

_SYNCHRONOUS = ("off", "normal", "full", "extra")  # as SQLite numbers them


class Sqlite:
    """A database in a file."""

    def __init__(self, path: str, counter: Counter) -> None:
        self._path = Path(path)
        self._counter = counter

    def stored_bytes(self) -> int:
        """Return the size of the file after its log was moved into it."""
        connection = sqlite3.connect(self._path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()
        return sum(file.stat().st_size for file in self._path.parent.glob(self._path.name + "*"))

    def written(self) -> Figures:
        """Return what else is counted of all that was written: nothing here."""
        return {}

    def settings(self) -> str | None:
        """Return the setting that the connection which writes has in fact."""
        number = self._counter.synchronous
        return None if number is None else _SYNCHRONOUS[number]


class Postgres:
    """A database on a server that nobody else uses."""

    def __init__(self, url: str, counter: Counter) -> None:
        import psycopg  # noqa: PLC0415

        self._connection = psycopg.connect(url, autocommit=True)

    def _ask(self, statement: str) -> Any:
        row = self._connection.execute(statement.encode()).fetchone()
        return row[0] if row else None

    def stored_bytes(self) -> int:
        """Return the size of all tables with their indexes."""
        from benchmarks.counting_postgres import STORED  # noqa: PLC0415

        return int(self._ask(STORED))

    def written(self) -> Figures:
        """Return how many transactions wrote, and the bytes of the log, since the server began."""
        from benchmarks.counting_postgres import WRITE_NUMBER  # noqa: PLC0415

        log = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
        return {"transactions": self._ask(WRITE_NUMBER), "wal_bytes": self._ask(log)}

    def settings(self) -> str | None:
        """Return the settings that decide whether a commit waits for the disk."""
        names = ("synchronous_commit", "fsync")
        return ", ".join(f"{name} {self._ask(f'SHOW {name}')}" for name in names)

    def close(self) -> None:
        """Leave the server."""
        self._connection.close()


class Memory:
    """No database: what a saver keeps in dictionaries."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def stored_bytes(self) -> int:
        """Return what was put into them."""
        return self._counter.read().handed_bytes

    def written(self) -> Figures:
        """See ``Sqlite.written``."""
        return {}

    def settings(self) -> str | None:
        """Return nothing: there is no disk."""
        return None


class Entrant:
    """One saver with its own database, graph, counter and clocks.

    Args:
        kind: Which saver.
        where: The path of its file, or the address of its database.
    """

    def __init__(self, kind: Kind, where: str) -> None:
        self.kind = kind
        self.where = where
        self.counter = Counter()
        self._config: RunnableConfig = {"configurable": {"thread_id": "chat"}}
        self._puts, self._writes = Clock(), Clock()
        self._turn_seconds: list[float] = []
        self._served: dict[str, float] = {}
        self._begun = (Counts(), 0)
        self._memory = CountingInMemorySaver(self.counter) if kind.storage == "memory" else None
        self._stack = ExitStack()

    def open(self) -> None:
        """Open the saver that the graph writes with."""
        self.saver = self._stack.enter_context(self._fresh())
        self._database = self._open_database()
        for name, clock in (("put", self._puts), ("put_writes", self._writes)):
            setattr(self.saver, name, clock.timed(getattr(self.saver, name)))
        self.graph = chat.build(self.saver, delta=self.kind.delta)
        self._empty_bytes = self._database.stored_bytes()

    def _open_database(self) -> Sqlite | Postgres | Memory:
        if self.kind.storage == "memory":
            return Memory(self.counter)
        if self.kind.storage == "sqlite":
            return Sqlite(self.where, self.counter)
        database = Postgres(self.where, self.counter)
        self._stack.callback(database.close)
        return database

    def close(self) -> None:
        """Close it."""
        self._stack.close()

    def settings(self) -> str | None:
        """Say what decides whether a commit of it waits for the disk."""
        return self._database.settings()

    def prepare(self, turns: int) -> None:
        """Store a thread of so many turns in one step."""
        state = {"messages": chat.history(turns), "turn": turns - 1, "active_agent": "assistant"}
        self.graph.update_state(self._config, state, as_node="model")

    def take_turn(self, turn: int, thread: str = "chat") -> None:
        """Take one turn of the chat; turns count from 0."""
        before = self._database.written()
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        started = time.process_time()
        # Each checkpoint is stored before the next step begins, so that a put is timed alone.
        self.graph.invoke(chat.turn_input(turn), config, durability="sync")
        self._turn_seconds.append(time.process_time() - started)
        for name, value in self._database.written().items():
            self._served[name] = self._served.get(name, 0) + value - before[name]

    def begin(self) -> None:
        """Begin to measure anew."""
        for kept in (self._puts, self._writes, self._turn_seconds, self._served):
            kept.clear()
        self._begun = (self.counter.read(), self._database.stored_bytes())
        gc.collect()

    def written(self, turns: int, last: int | None) -> Figures:
        """Say what the turns since ``begin`` cost, as means over them.

        Args:
            turns: How many they were.
            last: The number of the last one, counted from 1, where all turns before it were taken
                one by one.
        """
        counts, stored = self._begun
        per_turn: dict[str, float] = asdict(self.counter.read() - counts)
        del per_turn["queries"]
        if self.kind.storage == "postgres":
            del per_turn["rows"]
        per_turn |= self._served
        now = self._database.stored_bytes()
        figures = {name: round(value / turns, 1) for name, value in per_turn.items()}
        figures["disk_growth_bytes"] = round((now - stored) / turns)
        figures |= spread("put", self._puts.samples) | spread("put_writes", self._writes.samples)
        figures["puts"] = len(self._puts.samples) / turns
        figures["turn_cpu_ms"] = milliseconds(sum(self._turn_seconds) / turns)
        figures["empty_bytes"] = self._empty_bytes
        if last is not None:
            ratio = (now - self._empty_bytes) / chat.text_bytes(last)
            figures["stored_per_text"] = round(ratio, 3)
        return figures

    def cold(self, turns: int) -> tuple[Sample, int] | None:
        """Read the newest state with a saver opened anew: its time, and how many queries it took.

        Raises:
            AssertionError: It is not what was said in so many turns.
        """
        if self._memory is not None:
            return None
        clock = Clock()
        with self._fresh() as saver:
            before = self.counter.read()
            self._read(saver, clock, turns)
            queries = (self.counter.read() - before).queries
        return clock.samples[0], queries

    def warm(self, turns: int) -> Sample:
        """Read it with the saver that wrote it; see ``cold``."""
        clock = Clock()
        self._read(self.saver, clock, turns)
        return clock.samples[0]

    def _read(self, saver: Saver, clock: Clock, turns: int, thread: str = "chat") -> None:
        graph = chat.build(saver, delta=True) if self.kind.delta else None
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        gc.collect()  # a collection in the middle of a read costs more than the read
        if graph is not None:
            messages = clock.timed(graph.get_state)(config).values["messages"]
        else:
            found = clock.timed(saver.get_tuple)(config)
            messages = found.checkpoint["channel_values"]["messages"] if found else None
        said = chat.history(turns) if thread == "chat" else chat.one_turn(chat.LARGE_TURN)
        if messages != said:
            raise AssertionError(f"{self.kind.name} does not give back what it stored")

    def listed(self, limit: int) -> Sample | None:
        """List checkpoints with a saver opened anew; nothing where they have no conversation."""
        if self.kind.delta:
            return None
        clock = Clock()
        with self._fresh() as saver:
            gc.collect()
            found = clock.timed(lambda: list(saver.list(self._config, limit=limit)))()
        if len(found) != limit:
            raise AssertionError(f"{self.kind.name} lists {len(found)} checkpoints, not {limit}")
        return clock.samples[0]

    def prune_nothing(self) -> Figures:
        """Prune the chat with a saver opened anew, keeping all of it."""
        if self.kind.prune is None:
            return {}
        clock = Clock()
        with self._fresh() as saver:
            before = self.counter.read()
            clock.timed(self.kind.prune)(saver, "chat")
            done = self.counter.read() - before
        return {
            "prune_nothing_ms": milliseconds(clock.samples[0][0]),
            "prune_nothing_queries": done.queries + done.statements,
        }

    def several(self, threads: int, turns: int) -> Figures:
        """Take the first turns of the chat on several further threads; say what they store."""
        before = self._database.stored_bytes()
        for turn in range(turns):
            for thread in range(threads):
                self.take_turn(turn, f"chat {thread}")
        stored = self._database.stored_bytes() - before
        return {"several_stored_per_text": round(stored / threads / chat.text_bytes(turns), 3)}

    def large(self) -> Figures:
        """Take a turn with a tool result of 20 MB on another thread; read it with another saver."""
        self.begin()
        self.take_turn(chat.LARGE_TURN, "large")
        counts, stored = self._begun
        figures: Figures = {
            "large_handed_bytes": (self.counter.read() - counts).handed_bytes,
            "large_stored_bytes": self._database.stored_bytes() - stored,
        }
        if self._memory is None:
            clock = Clock()
            with self._fresh() as saver:
                self._read(saver, clock, 0, "large")
            figures["large_read_ms"] = milliseconds(clock.samples[0][0])
        return figures

    @contextmanager
    def _fresh(self) -> Iterator[Saver]:
        """Open another saver on the same data: nothing that the first one remembers is warm."""
        if self._memory is not None:
            yield self._memory
            return
        opened: AbstractContextManager[Saver] = self.kind.opener(self.where)
        with opened as saver:
            yield saver
