"""How many rows of a store there are, in words, and how many are done."""

import sys
from collections.abc import Mapping

from threadkeep.rules.snapshot_lines import BLOCK_ROWS

TOLD_EVERY = 10_000  # rows between two words of progress


def counted(rows: Mapping[str, int]) -> str:
    """Return the sum of rows of all kinds in words."""
    total = sum(rows.values())
    return "1 row" if total == 1 else f"{total:,} rows"


def progress(kind: str, done: int) -> None:
    """Tell somebody who watches how many rows of a kind are done."""
    if done % TOLD_EVERY < BLOCK_ROWS and sys.stderr.isatty():
        print(f"{kind}: {done:,} ...", file=sys.stderr)
