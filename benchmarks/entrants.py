"""The savers that are measured, and how each of them is opened.

Every one is opened as its own documentation says. What differs from the shipped setting is in its
name: ``synchronous`` decides whether SQLite waits for the disk at each commit, which costs more
than anything else a put does, so it is stated and matched. A saver's package is imported when the
saver is opened: one of them lives in an environment of its own.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver

Saver = BaseCheckpointSaver[Any]
Opener = Callable[[str], AbstractContextManager[Saver]]
Storage = Literal["memory", "sqlite", "postgres"]

OURS, OURS_FULL = "threadkeep", "threadkeep, synchronous=full"
PEER, PEER_NORMAL = "SqliteSaver", "SqliteSaver, synchronous=normal"
DELTA = "SqliteSaver, DeltaChannel"
MEMORY = "InMemorySaver"
OURS_PG, PEER_PG = "threadkeep on PostgreSQL", "PostgresSaver"
DELTA_PG = "PostgresSaver, DeltaChannel"
NAAS = "naas-abi on PostgreSQL"


@contextmanager
def _memory(_: str) -> Iterator[Saver]:
    raise NotImplementedError("a saver in memory is opened once, by its entrant")
    yield


@contextmanager
def _ours(address: str) -> Iterator[Saver]:
    from threadkeep import DocumentCheckpointSaver  # noqa: PLC0415

    with DocumentCheckpointSaver.from_url(address) as saver:
        yield saver


@contextmanager
def _ours_on_file(path: str) -> Iterator[Saver]:
    with _ours(f"sqlite:///{path}") as saver:
        yield saver


@contextmanager
def _ours_full(path: str) -> Iterator[Saver]:
    with _ours(f"sqlite:///{path}?synchronous=full") as saver:
        yield saver


@contextmanager
def _peer(path: str) -> Iterator[Saver]:
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415

    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
        yield saver


@contextmanager
def _peer_normal(path: str) -> Iterator[Saver]:
    with _peer(path) as saver:
        connection: Any = vars(saver)["conn"]
        connection.execute("PRAGMA synchronous=NORMAL")
        yield saver


@contextmanager
def _peer_postgres(url: str) -> Iterator[Saver]:
    from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415

    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver


@contextmanager
def _naas(url: str) -> Iterator[Saver]:
    services = "naas_abi_core.services"
    agent = import_module(f"{services}.agent.DocumentCheckpointSaver")
    factory = import_module(f"{services}.document.DocumentFactory").DocumentFactory
    service = import_module(f"{services}.document.DocumentService").DocumentService
    adapter = factory.DocumentAdapterPostgreSQL(url)
    saver: Any = agent.DocumentCheckpointSaver.for_engine(service._for_engine(adapter))
    saver.setup()
    try:
        yield saver
    finally:
        adapter.close()


@dataclass(frozen=True, slots=True)
class Kind:
    """One saver as it is measured.

    Attributes:
        name: In the raw lines.
        storage: What it keeps its checkpoints in.
        opener: Opens it on the path of a file or the address of a database.
        delta: Whether the conversation is in a ``DeltaChannel``. The state is then read through
            the graph, since a checkpoint alone does not have it.
        requirement: The package it comes from, where that needs an environment of its own.
        last_turn: After this turn it is left out: it would take the run's whole time.
        prune: Prunes a thread of which nothing is to go, where the saver can.
    """

    name: str
    storage: Storage
    opener: Opener
    delta: bool = False
    requirement: str | None = None
    last_turn: int = 1_000
    prune: Callable[[Any, str], object] | None = None


def _keep_all(saver: Any, thread_id: str) -> None:
    saver.prune([thread_id], keep_last=100_000)


KINDS = {
    kind.name: kind
    for kind in (
        Kind(OURS, "sqlite", _ours_on_file, last_turn=100_000, prune=_keep_all),
        Kind(OURS_FULL, "sqlite", _ours_full, prune=_keep_all),
        Kind(PEER, "sqlite", _peer),
        Kind(PEER_NORMAL, "sqlite", _peer_normal),
        Kind(DELTA, "sqlite", _peer, delta=True),
        Kind(OURS_PG, "postgres", _ours, last_turn=100_000, prune=_keep_all),
        Kind(PEER_PG, "postgres", _peer_postgres),
        Kind(DELTA_PG, "postgres", _peer_postgres, delta=True),
        Kind(
            NAAS,
            "postgres",
            _naas,
            requirement="naas-abi-core[nats]==3.1.0",
            last_turn=30,
            prune=lambda saver, thread_id: saver.prune(thread_id, keep_last=100_000, apply=True),
        ),
        Kind(MEMORY, "memory", _memory),
    )
}
NAMES = tuple(KINDS)
