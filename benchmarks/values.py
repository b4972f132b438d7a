"""What a step costs that changes a little of a large state: ``python -m benchmarks.values``.

Each step, and each read, is done by all savers one after the other before any does the next.
Prints the table; with ``--out`` the raw lines are written to a file as well, and ``--page`` puts
the newest committed ones into the page that quotes them.
"""

import argparse
import gc
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from benchmarks import agents, conditions
from benchmarks.chat import prose
from benchmarks.clock import Clock, Figures, middle, spread
from benchmarks.counting import Counter, counted_connections
from benchmarks.entrant import Sqlite
from benchmarks.entrants import KINDS, OURS, PEER, Saver
from benchmarks.pages import RESULTS, ROOT
from benchmarks.tables import milliseconds, size, times
from threadkeep.testing.saver_steps import checkpoint

SAVERS = (OURS, PEER)
MEASURED = 10  # steps, the last of each case
READS = 5
PAGE = ROOT / "docs" / "benchmarks.md"
START, END = "<!-- values:start -->\n", "<!-- values:end -->\n"
THREAD: RunnableConfig = {"configurable": {"thread_id": "values", "checkpoint_ns": ""}}

Line = Mapping[str, Any]
Steps = Callable[[Saver], Iterator[None]]


def _put_steps(saver: Saver, states: Iterator[Any]) -> Iterator[None]:
    """Put states as a graph does whose node returns its channel whole."""
    at = THREAD
    for step, state in enumerate(states, start=1):
        if step > 1:
            saver.put_writes(at, [("value", state)], f"task-{step}")
        made = checkpoint({"value": state}, {"value": f"{step:032}.0"})
        at = saver.put(at, made, {"source": "loop", "step": step, "parents": {}}, {"value": step})
        yield


def _table(keys: int) -> Iterator[dict[str, Any]]:
    value = {f"doc-{key:05d}": {"text": prose(f"{key}", 200), "seen": 0} for key in range(keys)}
    step = 0
    while True:
        yield value
        step += 1
        name = f"doc-{step * 977 % keys:05d}"
        value = value | {name: {"text": prose(f"{step} again", 200), "seen": step}}
        value[f"new-{step}"] = {"text": prose(f"{step} new", 200), "seen": 0}


def _text(length: int) -> Iterator[str]:
    value, step = prose("text", 50_000) * (length // 50_000), 0
    while True:
        yield value
        step += 1
        value += prose(f"text {step}", 1000)


def _turns(name: str) -> Steps:
    def steps(saver: Saver) -> Iterator[None]:
        graph = agents.BUILDS[name](saver)
        for given in agents.turns(10_000):
            graph.invoke(given, THREAD, durability="sync")
            yield

    return steps


@dataclass(frozen=True, slots=True)
class Case:
    """One state that changes step by step.

    Attributes:
        name: In the raw lines.
        title: For people.
        before: Steps that are taken before any is measured.
        steps: Takes one step each time.
    """

    name: str
    title: str
    before: int
    steps: Steps


CASES = (
    Case("dict-100", "dict of 100 keys, two changed", 2, lambda s: _put_steps(s, _table(100))),
    Case("dict-5000", "dict of 5,000 keys, two changed", 2, lambda s: _put_steps(s, _table(5000))),
    Case("text-100k", "text of 100 KB, 1 KB added", 2, lambda s: _put_steps(s, _text(100_000))),
    Case("text-1m", "text of 1 MB, 1 KB added", 2, lambda s: _put_steps(s, _text(1_000_000))),
    *(
        Case(f"{name}-{turn}", f"{name}, a turn at turn {turn}", turn - MEASURED, _turns(name))
        for name in agents.BUILDS
        for turn in (15, 60)
    ),
)


class Contender:
    """One saver with its own file."""

    def __init__(self, name: str, folder: Path, case: Case, stack: ExitStack) -> None:
        self.name, self.path = name, folder / f"{case.name}-{name}.db"
        self._case, self._stack = case, stack
        self.counter, self.reads = Counter(), Clock()
        self._puts, self._writes, self._steps = Clock(), Clock(), Clock()

    def open(self) -> None:
        """Open the saver that takes the steps."""
        saver = self._stack.enter_context(KINDS[self.name].opener(str(self.path)))
        for call, clock in (("put", self._puts), ("put_writes", self._writes)):
            setattr(saver, call, clock.timed(getattr(saver, call)))
        self.database = Sqlite(str(self.path), self.counter)
        self._taken = self._case.steps(saver)
        self.step = self._steps.timed(lambda: next(self._taken))

    def begin(self) -> None:
        """Begin to measure."""
        for clock in (self._puts, self._writes, self._steps):
            clock.clear()
        self._begun = self.counter.read().handed_bytes, self.database.stored_bytes()

    def read(self) -> Any:
        """Read the newest state with a saver opened anew."""
        with KINDS[self.name].opener(str(self.path)) as saver:
            gc.collect()
            found = self.reads.timed(saver.get_tuple)(THREAD)
        assert found is not None
        return found.checkpoint["channel_values"]

    def figures(self) -> Figures:
        """Say what the measured steps cost, as means over them, and what the reads took."""
        handed, stored = self._begun
        return {
            "handed_bytes": round((self.counter.read().handed_bytes - handed) / MEASURED),
            "disk_growth_bytes": round((self.database.stored_bytes() - stored) / MEASURED),
            **spread("put", self._puts.samples),
            **spread("put_writes", self._writes.samples),
            **middle("step", self._steps.samples),
            **middle("get_cold", self.reads.samples),
        }


def measure(cases: Sequence[Case] = CASES) -> list[Line]:
    """Measure all cases; one line for each and each saver."""
    lines: list[Line] = []
    for case in cases:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="threadkeep-")))
            run = conditions.of_this_run(folder, None)
            entrants = [Contender(name, folder, case, stack) for name in SAVERS]
            counters = {entrant.path: entrant.counter for entrant in entrants}
            stack.enter_context(counted_connections(counters))
            lines += _lines(case, entrants, run)
    return lines


def _lines(case: Case, entrants: Sequence[Contender], run: Mapping[str, Any]) -> Iterator[Line]:
    for entrant in entrants:
        entrant.open()
    for step in range(case.before + MEASURED):
        for entrant in entrants[:: 1 if step % 2 else -1]:
            if step == case.before:
                entrant.begin()
            entrant.step()
    for _ in range(READS):
        ours, theirs = (entrant.read() for entrant in entrants)
        if _said(ours) != _said(theirs):
            raise AssertionError(f"the savers do not give back the same of {case.name}")
    load = conditions.load()
    for entrant in entrants:
        told = {"load": load, "settings": entrant.database.settings()}
        yield {
            "case": case.name,
            "title": case.title,
            "saver": entrant.name,
            "figures": entrant.figures(),
            "conditions": {**run, **told},
        }


def _said(values: Mapping[str, Any]) -> Any:
    """Take what two runs of a graph have in common: messages get ids of their own."""
    messages = values.get("messages")
    if messages is None:
        return values
    return [(type(message), message.content) for message in messages]


def table(lines: Sequence[Line]) -> str:
    """Write the table for people."""
    found = {(line["case"], line["saver"]): line["figures"] for line in lines}
    titles = {line["case"]: line["title"] for line in lines}
    shown = (("handed_bytes", size), ("put_p50_ms", milliseconds), ("get_cold_ms", milliseconds))
    head = [f"{what}: threadkeep / SqliteSaver" for what in ("bytes handed", "put, p50", "read")]
    rows = [f"| a step on a | {' | '.join(head)} |", "|---|---|---|---|"]
    for case, title in titles.items():
        ours, theirs = found[case, OURS], found[case, PEER]
        cells = [
            f"{write(ours[name])} / {write(theirs[name])} ({times(ours[name] / theirs[name])})"
            for name, write in shown
        ]
        rows.append(f"| {title} | {' | '.join(cells)} |")
    text = conditions.describe([line["conditions"] for line in lines])
    return "\n".join(rows) + f"\n\n{text}\n"


def newest() -> list[Line]:
    """Read the raw lines of the newest committed run."""
    path = max(RESULTS.glob("values-*.jsonl"))
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def updated(lines: Sequence[Line]) -> str:
    """Return the text of the page with its table written anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table(lines)}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.values", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    parser.add_argument("--out", type=Path, help="also write the raw lines to this file")
    parser.add_argument("--only", action="append", help="a case to measure; all if not given")
    options = parser.parse_args(arguments)
    if options.page:
        PAGE.write_text(updated(newest()), encoding="utf-8")
        return 0
    lines = measure([case for case in CASES if not options.only or case.name in options.only])
    if options.out:
        raw = "".join(json.dumps(line) + "\n" for line in lines)
        options.out.write_text(raw, encoding="utf-8")
    sys.stdout.write(table(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
