"""Puts the newest committed figures into the pages that quote them: ``python -m benchmarks.pages``.

A page marks the place with two comments; what stands between them is written by this command from
``benchmarks/results/``, and a test holds it to that.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import tables

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
START, END = "<!-- benchmark:start -->\n", "<!-- benchmark:end -->\n"
PAGES: dict[str, Callable[[tables.Lines], str]] = {
    "README.md": tables.brief,
    "docs/benchmarks.md": tables.full,
}


def newest() -> tables.Lines:
    """Read the raw lines of the newest run; files are named by the time of the run."""
    path = max(RESULTS.glob("checkpoints-*.jsonl"))
    return tables.Lines(json.loads(line) for line in path.read_text("utf-8").splitlines())


def updated(page: str, lines: tables.Lines) -> str:
    """Return the text of a page with its table written anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{PAGES[page](lines)}\n{END}{after}"


def main() -> int:
    """Write all pages."""
    lines = newest()
    for page in PAGES:
        (ROOT / page).write_text(updated(page, lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
