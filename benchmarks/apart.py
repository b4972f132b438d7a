"""An entrant in an environment of its own, where its package does not go with those of the others.

``python -m benchmarks.apart NAME WHERE`` is that environment's side: it reads one request per line,
``[method, arguments]``, and answers each with one line, ``[answer]`` or ``{"error": text}``.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.clock import Figures, Sample
from benchmarks.entrants import KINDS, Kind

ROOT = Path(__file__).parents[1]


class EntrantApart:
    """Stands for an ``Entrant`` of another process; the same methods, answered there."""

    def __init__(self, kind: Kind, where: str, python: Path) -> None:
        self.kind = kind
        command = [str(python), "-m", "benchmarks.apart", kind.name, where]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def _ask(self, method: str, *arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([method, arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "it ended"}
        if isinstance(answer, dict):
            raise RuntimeError(f"{self.kind.name}: {answer['error']}")
        return answer[0]

    def open(self) -> None:
        """See ``Entrant.open``."""
        self._ask("open")

    def close(self) -> None:
        """See ``Entrant.close``; its process ends."""
        with contextlib.suppress(RuntimeError, OSError):
            self._ask("close")
        self._process.communicate()

    def settings(self) -> str | None:
        """See ``Entrant.settings``."""
        said: str | None = self._ask("settings")
        return said

    def prepare(self, turns: int) -> None:
        """See ``Entrant.prepare``."""
        self._ask("prepare", turns)

    def take_turn(self, turn: int) -> None:
        """See ``Entrant.take_turn``."""
        self._ask("take_turn", turn)

    def begin(self) -> None:
        """See ``Entrant.begin``."""
        self._ask("begin")

    def written(self, turns: int, last: int | None) -> Figures:
        """See ``Entrant.written``."""
        return dict(self._ask("written", turns, last))

    def cold(self, turns: int) -> tuple[Sample, int] | None:
        """See ``Entrant.cold``."""
        (seconds, cpu), queries = self._ask("cold", turns)
        return (seconds, cpu), queries

    def warm(self, turns: int) -> Sample:
        """See ``Entrant.warm``."""
        seconds, cpu = self._ask("warm", turns)
        return seconds, cpu

    def listed(self, limit: int) -> Sample | None:
        """See ``Entrant.listed``."""
        seconds, cpu = self._ask("listed", limit)
        return seconds, cpu

    def prune_nothing(self) -> Figures:
        """See ``Entrant.prune_nothing``."""
        return dict(self._ask("prune_nothing"))

    def several(self, threads: int, turns: int) -> Figures:
        """See ``Entrant.several``."""
        return dict(self._ask("several", threads, turns))

    def large(self) -> Figures:
        """See ``Entrant.large``."""
        return dict(self._ask("large"))


def serve(name: str, where: str) -> None:
    """Answer requests until there are no more."""
    from benchmarks.counting_postgres import counted_databases  # noqa: PLC0415
    from benchmarks.entrant import Entrant  # noqa: PLC0415

    answers, sys.stdout = sys.stdout, sys.stderr  # what the package prints is no answer
    entrant = Entrant(KINDS[name], where)
    with counted_databases({where.rpartition("/")[2]: entrant.counter}):
        for line in sys.stdin:
            method, arguments = json.loads(line)
            answer: Any
            try:
                answer = [getattr(entrant, method)(*arguments)]
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    serve(*sys.argv[1:])
