"""Running the standard chat on all savers side by side, and what is read off meanwhile.

Each turn, and each read, is done by all savers one after the other before any of them does the
next: what else the machine has to do then meets all of them alike.
"""

import math
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import conditions
from benchmarks.apart import EntrantApart
from benchmarks.clock import Figures, Sample, middle
from benchmarks.counting import Counter, counted_connections
from benchmarks.counting_postgres import counted_databases
from benchmarks.entrant import Entrant
from benchmarks.entrants import KINDS, Kind
from benchmarks.environments import NotInstalledError, python_with
from tests.servers.postgres import DURABLE, Databases, postgres_server

Line = dict[str, Any]
AnyEntrant = Entrant | EntrantApart

LIST_SECONDS = 2.0  # a list is repeated while all its repetitions took less
LIST_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Point:
    """A length of the conversation at which all figures are taken.

    Attributes:
        turn: What it is called.
        first: The first turn that is measured, counted from 1.
        last: The last one; reads follow it.
        prepared: Whether the turns before ``first`` are stored in one step, instead of one by one.
        listed: How many checkpoints are listed.
    """

    turn: int
    first: int
    last: int
    prepared: bool = False
    listed: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure.

    Attributes:
        threads: The points of each thread, in order.
        several: How many threads of how many turns show what is stored; of savers without end.
        large: Whether the value of 20 MB is stored.
        reads: How often each read is repeated.
        budget_seconds: After this time no point is begun, and no read is repeated.
    """

    threads: Sequence[Sequence[Point]]
    several: tuple[int, int]
    large: bool
    reads: int
    budget_seconds: float


FULL = Plan(
    threads=(
        (Point(10, 5, 10), Point(30, 15, 30), Point(100, 85, 100, listed=500)),
        (Point(990, 991, 1006, prepared=True),),
        (Point(10_000, 10_001, 10_016, prepared=True),),
    ),
    several=(5, 100),
    large=True,
    reads=9,
    budget_seconds=360,
)
QUICK = Plan(
    threads=((Point(6, 3, 6), Point(12, 9, 12, listed=30)), (Point(60, 61, 64, prepared=True),)),
    several=(2, 3),
    large=False,
    reads=2,
    budget_seconds=900,
)


def measure(plan: Plan, names: Sequence[str] = tuple(KINDS)) -> tuple[list[Line], list[str]]:
    """Run a plan.

    Returns:
        One line for each point and saver, with the conditions it was measured under; what is
        told of no one point has turn 0. And which savers were left out, with the reason.
    """
    lines: list[Line] = []
    kinds, pythons, left_out = _environments([KINDS[name] for name in names])
    on_server = any(kind.storage == "postgres" for kind in kinds)
    with postgres_server(DURABLE) if on_server else nullcontext() as databases:
        deadline = time.monotonic() + plan.budget_seconds
        with tempfile.TemporaryDirectory(prefix="threadkeep-bench-") as name:
            run = conditions.of_this_run(Path(name), databases.server_url if databases else None)
        with _entrants(kinds, pythons, databases, 0) as entrants:
            lines += _anywhere(entrants, plan, run)
        for points in plan.threads:
            if time.monotonic() < deadline:
                with _entrants(kinds, pythons, databases, points[0].turn) as entrants:
                    lines += _thread(entrants, points, plan, run, deadline)
    return lines, left_out


def _environments(kinds: Sequence[Kind]) -> tuple[list[Kind], dict[str, Path], list[str]]:
    """Find the Python of each saver that needs its own; without one it is left out."""
    found: list[Kind] = []
    pythons: dict[str, Path] = {}
    left_out: list[str] = []
    for kind in kinds:
        try:
            if kind.requirement is not None:
                name = re.sub(r"\W+", "-", kind.requirement)
                pythons[kind.name] = python_with(name, kind.requirement)
            found.append(kind)
        except NotInstalledError as error:
            left_out.append(f"{kind.name} was left out: {error}")
    return found, pythons, left_out


@contextmanager
def _entrants(
    kinds: Sequence[Kind], pythons: dict[str, Path], databases: Databases | None, turn: int
) -> Iterator[list[AnyEntrant]]:
    """Open every saver that goes so far, on an empty database of its own."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="threadkeep-bench-"))
        entrants: list[AnyEntrant] = []
        files: dict[Path, Counter] = {}
        on_server: dict[str, Counter] = {}
        for number, kind in enumerate(kind for kind in kinds if turn <= kind.last_turn):
            path = Path(folder) / f"{number}.db"
            where = str(path)
            if databases is not None and kind.storage == "postgres":
                where = stack.enter_context(databases.new())
            if kind.name in pythons:
                entrants.append(EntrantApart(kind, where, pythons[kind.name]))
                continue
            entrant = Entrant(kind, where)
            entrants.append(entrant)
            files |= {path: entrant.counter} if kind.storage == "sqlite" else {}
            on_server |= {where.rpartition("/")[2]: entrant.counter}
        stack.enter_context(counted_connections(files))
        stack.enter_context(counted_databases(on_server))
        for each in entrants:
            stack.callback(each.close)
            each.open()
        yield entrants


def _thread(
    entrants: list[AnyEntrant],
    points: Sequence[Point],
    plan: Plan,
    run: dict[str, Any],
    deadline: float,
) -> list[Line]:
    lines: list[Line] = []
    turn = 0
    if points[0].prepared:
        turn = points[0].first - 1
        for entrant in entrants:
            entrant.prepare(turn)
    for point in points:
        running = [entrant for entrant in entrants if point.turn <= entrant.kind.last_turn]
        _take_turns(running, turn, point.first - 1, deadline)
        if time.monotonic() > deadline:
            return lines
        lines += _lines(running, point, run, plan.reads, deadline)
        turn = point.last
    return lines


def _take_turns(
    entrants: Sequence[AnyEntrant], start: int, stop: int, deadline: float = math.inf
) -> None:
    for turn in range(start, stop):
        if time.monotonic() > deadline:
            return
        at = turn % len(entrants)
        for entrant in (*entrants[at:], *entrants[:at]):  # none always follows the same one
            entrant.take_turn(turn)


def _lines(
    entrants: Sequence[AnyEntrant],
    point: Point,
    run: dict[str, Any],
    reads: int,
    deadline: float,
) -> list[Line]:
    load = conditions.load()
    for entrant in entrants:
        entrant.begin()
    _take_turns(entrants, point.first - 1, point.last)
    turns = point.last - point.first + 1
    last = None if point.prepared else point.last
    figures = {entrant.kind.name: entrant.written(turns, last) for entrant in entrants}
    _read(entrants, point, reads, deadline, figures)
    for entrant in entrants:
        figures[entrant.kind.name] |= entrant.prune_nothing()
        if point.listed:
            figures[entrant.kind.name] |= _list(entrant, point.listed)
    return [_line(entrant, asdict(point), figures, run, load) for entrant in entrants]


def _line(
    entrant: AnyEntrant,
    point: dict[str, Any],
    figures: dict[str, Figures],
    run: dict[str, Any],
    load: list[float],
) -> Line:
    return {
        "saver": entrant.kind.name,
        **point,
        "figures": figures[entrant.kind.name],
        "conditions": run | {"load": load, "settings": entrant.settings()},
    }


def _read(
    entrants: Sequence[AnyEntrant],
    point: Point,
    reads: int,
    deadline: float,
    figures: dict[str, Figures],
) -> None:
    """Read the newest state, by savers opened anew and by those that wrote it."""
    cold: dict[str, list[Sample]] = {entrant.kind.name: [] for entrant in entrants}
    warm: dict[str, list[Sample]] = {entrant.kind.name: [] for entrant in entrants}
    for repetition in range(reads):
        if repetition and time.monotonic() > deadline:
            break
        for entrant in entrants:
            read = entrant.cold(point.last)
            if read is not None:
                cold[entrant.kind.name].append(read[0])
                figures[entrant.kind.name]["get_cold_queries"] = read[1]
        for entrant in entrants:
            warm[entrant.kind.name].append(entrant.warm(point.last))
    for name, samples in warm.items():
        figures[name] |= middle("get_warm", samples)
        if cold[name]:
            figures[name] |= middle("get_cold", cold[name])


def _list(entrant: AnyEntrant, limit: int) -> Figures:
    samples: list[Sample] = []
    while len(samples) < LIST_REPETITIONS and sum(each for each, _ in samples) < LIST_SECONDS:
        taken = entrant.listed(limit)
        if taken is None:
            return {}
        samples.append(taken)
    return middle("list", samples)


def _anywhere(entrants: Sequence[AnyEntrant], plan: Plan, run: dict[str, Any]) -> list[Line]:
    """Take what depends on no length of one conversation."""
    load = conditions.load()
    figures: dict[str, Figures] = {entrant.kind.name: {} for entrant in entrants}
    for entrant in entrants:
        if entrant.kind.prune is not None and entrant.kind.requirement is None:
            figures[entrant.kind.name] |= entrant.several(*plan.several)
        if plan.large and entrant.kind.requirement is None:
            figures[entrant.kind.name] |= entrant.large()
    lines = [_line(entrant, {"turn": 0}, figures, run, load) for entrant in entrants]
    return [line for line in lines if line["figures"]]
