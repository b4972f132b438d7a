"""What a turn of the standard chat costs with each saver: ``python -m benchmarks.checkpoints``.

Prints a table, or with ``--json`` the raw lines that it is made of: one for each point and saver.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measures, tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoints", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run, to see that it works")
    parser.add_argument("--json", action="store_true", help="print raw lines instead of the table")
    parser.add_argument("--out", type=Path, help="also write the raw lines to this file")
    options = parser.parse_args(arguments)
    lines = measures.measure(measures.QUICK if options.quick else measures.FULL)
    raw = "".join(json.dumps(line) + "\n" for line in lines)
    if options.out:
        options.out.write_text(raw, encoding="utf-8")
    sys.stdout.write(raw if options.json else tables.full(tables.Lines(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
