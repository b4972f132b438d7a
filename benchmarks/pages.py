"""Puts the newest committed figures into the pages that quote them: ``python -m benchmarks.pages``.

A page marks the place with two comments; what stands between them is written by this command from
``benchmarks/results/``, and a test holds it to that.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import tables
from benchmarks.resource_table import table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Quote:
    """One place of a page.

    Attributes:
        page: The page.
        mark: What the comments around the place are called.
        measured: What the files with the raw lines begin with; they are named by the time of the
            run.
        write: Makes text of the lines.
    """

    page: str
    mark: str
    measured: str
    write: Callable[[Sequence[tables.Line]], str]

    @property
    def start(self) -> str:
        """The comment before the place."""
        return f"<!-- {self.mark}:start -->\n"

    @property
    def end(self) -> str:
        """The comment behind it."""
        return f"<!-- {self.mark}:end -->\n"


QUOTES = (
    Quote("README.md", "benchmark", "checkpoints", lambda lines: tables.brief(tables.Lines(lines))),
    Quote(
        "docs/benchmarks.md",
        "benchmark",
        "checkpoints",
        lambda lines: tables.full(tables.Lines(lines)),
    ),
    Quote("docs/benchmarks.md", "resources", "resources", table),
)


def newest(measured: str) -> Sequence[tables.Line]:
    """Read the raw lines of the newest run."""
    path = max(RESULTS.glob(f"{measured}-*.jsonl"))
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def updated(quote: Quote) -> str:
    """Return the text of a page with one of its places written anew."""
    text = (ROOT / quote.page).read_text(encoding="utf-8")
    before, _, rest = text.partition(quote.start)
    _, _, after = rest.partition(quote.end)
    return f"{before}{quote.start}\n{quote.write(newest(quote.measured))}\n{quote.end}{after}"


def main() -> int:
    """Write all pages."""
    for quote in QUOTES:
        (ROOT / quote.page).write_text(updated(quote), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
