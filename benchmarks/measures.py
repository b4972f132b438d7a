"""Running the standard chat on all savers side by side, and what is read off meanwhile.

Each turn, and each read, is done by all savers one after the other before any of them does the
next: what else the machine has to do then meets all of them alike.
"""

import gc
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import chat, conditions
from benchmarks.counting import counted_connections
from benchmarks.entrants import NAMES, Clock, Entrant, Saver

Line = dict[str, Any]
Figures = dict[str, float]

LIST_SECONDS = 2.0  # a list is repeated while all its repetitions took less


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
        reads: How often each read is repeated.
        budget_seconds: After this time no point is begun, and no read is repeated.
    """

    threads: Sequence[Sequence[Point]]
    reads: int
    budget_seconds: float


FULL = Plan(
    threads=(
        (Point(990, 991, 1006, prepared=True),),
        (Point(30, 15, 30), Point(100, 85, 100, listed=500), Point(300, 285, 300)),
    ),
    reads=9,
    budget_seconds=400,
)
QUICK = Plan(
    threads=((Point(60, 61, 64, prepared=True),), (Point(6, 3, 6), Point(12, 9, 12, listed=30))),
    reads=3,
    budget_seconds=40,
)


def measure(plan: Plan) -> list[Line]:
    """Run a plan; one line for each point and saver, with the conditions it was measured under."""
    deadline = time.monotonic() + plan.budget_seconds
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="threadkeep-bench-") as name:
        run = conditions.of_this_run(Path(name))
    for points in plan.threads:
        with _entrants() as entrants:
            turn = _prepare(entrants, points[0])
            for point in points:
                _take_turns(entrants, turn, point.first - 1, deadline)
                if time.monotonic() > deadline:
                    return lines
                lines += _lines(entrants, point, run, plan.reads, deadline)
                turn = point.last
    return lines


@contextmanager
def _entrants() -> Iterator[list[Entrant]]:
    """Open every saver on an empty database of its own."""
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="threadkeep-bench-"))
        entrants = [Entrant(saver, Path(name)) for saver in NAMES]
        counters = {entrant.path: entrant.counter for entrant in entrants}
        stack.enter_context(counted_connections(counters))
        for entrant in entrants:
            entrant.open()
            stack.callback(entrant.close)
        yield entrants


def _prepare(entrants: Sequence[Entrant], point: Point) -> int:
    """Store what a thread begins with in one step; return how many turns that is."""
    if not point.prepared:
        return 0
    turns = point.first - 1
    for entrant in entrants:
        state = {"messages": chat.history(turns), "turn": turns - 1, "active_agent": "assistant"}
        entrant.graph.update_state(entrant.config, state, as_node="model")
    return turns


def _take_turns(
    entrants: Sequence[Entrant], start: int, stop: int, deadline: float = math.inf
) -> None:
    for turn in range(start, stop):
        if time.monotonic() > deadline:
            return
        at = turn % len(entrants)
        for entrant in (*entrants[at:], *entrants[:at]):  # none always follows the same one
            entrant.take_turn(turn)


def _lines(
    entrants: Sequence[Entrant],
    point: Point,
    run: dict[str, Any],
    reads: int,
    deadline: float,
) -> list[Line]:
    load = conditions.load()
    figures = _written(entrants, point)
    for entrant, read in zip(entrants, _read(entrants, point, reads, deadline), strict=True):
        figures[entrant.name] |= read
    if point.listed:
        for entrant in entrants:
            figures[entrant.name] |= _list(entrant, point.listed)
    return [
        {"saver": entrant.name}
        | asdict(point)
        | {"figures": figures[entrant.name]}
        | {"conditions": run | {"load": load, "synchronous": entrant.synchronous()}}
        for entrant in entrants
    ]


def _written(entrants: Sequence[Entrant], point: Point) -> dict[str, Figures]:
    """Take a point's turns; return what they cost, as means over the turns."""
    before = {}
    for entrant in entrants:
        entrant.forget_times()
        before[entrant.name] = (entrant.counter.read(), entrant.stored_bytes())
    gc.collect()
    _take_turns(entrants, point.first - 1, point.last)
    turns = point.last - point.first + 1
    figures: dict[str, Figures] = {}
    for entrant in entrants:
        counts, stored = before[entrant.name]
        per_turn = asdict(entrant.counter.read() - counts)
        del per_turn["queries"]
        now = entrant.stored_bytes()
        figures[entrant.name] = (
            {name: round(value / turns, 1) for name, value in per_turn.items()}
            | {"disk_growth_bytes": round((now - stored) / turns)}
            | _times("put", entrant.puts)
            | _times("put_writes", entrant.writes)
            | {
                "puts": len(entrant.puts.seconds) / turns,
                "turn_cpu_ms": _ms(statistics.mean(entrant.turn_seconds)),
                "empty_bytes": entrant.empty_bytes,
            }
        )
        if not point.prepared:
            ratio = (now - entrant.empty_bytes) / chat.text_bytes(point.last)
            figures[entrant.name]["stored_per_text"] = round(ratio, 3)
    return figures


def _read(
    entrants: Sequence[Entrant], point: Point, reads: int, deadline: float
) -> Iterator[Figures]:
    """Read the newest checkpoint, by fresh savers and by those that wrote it."""
    cold = {entrant.name: Clock() for entrant in entrants}
    warm = {entrant.name: Clock() for entrant in entrants}
    queries: dict[str, int] = {}
    for repetition in range(reads):
        if repetition and time.monotonic() > deadline:
            break
        for entrant in entrants:
            with entrant.fresh() as saver:
                before = entrant.counter.read()
                found = _get(saver, entrant, cold[entrant.name])
                queries[entrant.name] = (entrant.counter.read() - before).queries
            if not repetition:
                _check(entrant, found, point.last)
            del found
        for entrant in entrants:
            _get(entrant.saver, entrant, warm[entrant.name])
    for entrant in entrants:
        figures = _read_times("get_warm", warm[entrant.name])
        if entrant.on_disk:
            figures |= _read_times("get_cold", cold[entrant.name])
            figures["get_cold_queries"] = queries[entrant.name]
        yield figures


def _get(saver: Saver, entrant: Entrant, clock: Clock) -> Any:
    gc.collect()  # a collection in the middle of a read costs more than the read
    return clock.timed(saver.get_tuple)(entrant.config)


def _check(entrant: Entrant, found: Any, turns: int) -> None:
    """Refuse the figures of a saver that does not give back what was said.

    Raises:
        AssertionError: It does not.
    """
    messages = found.checkpoint["channel_values"]["messages"] if found else None
    if messages != chat.history(turns):
        raise AssertionError(f"{entrant.name} does not give back the {turns} turns that it stored")


def _list(entrant: Entrant, limit: int) -> Figures:
    clock = Clock()
    while len(clock.seconds) < 3 and sum(clock.seconds) < LIST_SECONDS:
        with entrant.fresh() as saver:
            gc.collect()
            found = clock.timed(lambda: list(saver.list(entrant.config, limit=limit)))()
        if len(found) != limit:
            raise AssertionError(f"{entrant.name} lists {len(found)} checkpoints, not {limit}")
        del found
    return _read_times("list", clock)


def _times(name: str, clock: Clock) -> Figures:
    ordered = sorted(clock.seconds)
    half, most = (ordered[math.ceil(part * len(ordered)) - 1] for part in (0.5, 0.95))
    return {
        f"{name}_p50_ms": _ms(half),
        f"{name}_p95_ms": _ms(most),
        f"{name}_cpu_p50_ms": _ms(statistics.median(clock.cpu_seconds)),
    }


def _read_times(name: str, clock: Clock) -> Figures:
    return {
        f"{name}_ms": _ms(statistics.median(clock.seconds)),
        f"{name}_cpu_ms": _ms(statistics.median(clock.cpu_seconds)),
    }


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 3)
