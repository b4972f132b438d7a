"""A SQL database as a port: units of work that yield statements.

A unit of work is a function returning a generator that yields ``One``, ``All`` or ``Run`` and is
sent the answer. A blocking database drives it whole in one executor hop, an awaiting one between
awaits; so each repo is written once.

    def work() -> Work[Thread | None]:
        row = yield One("get_thread", {"thread_id": thread_id})
        return thread_of(row) if row else None

    thread = await database.read(work)

A unit may be driven more than once (a batch that failed together is replayed apart): it must do
nothing but yield.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class One:
    """A named statement answered with its first row, or ``None``.

    Attributes:
        statement: A name in the driver's statement files.
        parameters: Bound by name.
        where: Conditions from ``where.py`` that replace ``{where}`` in the statement, already in
            the driver's dialect; their parameters are in ``parameters``.
    """

    statement: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, slots=True)
class All:
    """The same, answered with every row."""

    statement: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The same, answered with the number of rows changed; a sequence of bags runs it for each."""

    statement: str
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    where: str = ""


Work = Generator[One | All | Run, Any, T]


class Database(Protocol):
    """Runs units of work."""

    async def read(self, work: Callable[[], Work[T]]) -> T:
        """Run a unit that only reads; it sees one snapshot, with all this process handed over."""
        ...

    async def write(self, work: Callable[[], Work[T]]) -> T:
        """Run a unit in one transaction; an error it raises rolls back its own changes only."""
        ...
