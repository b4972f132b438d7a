"""What a turn of the standard chat costs with each saver: ``python -m benchmarks.checkpoints``.

Prints tables, or with ``--json`` the raw lines that they are made of: one for each point and saver.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measures, tables
from benchmarks.entrants import NAMES


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoints", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run, to see that it works")
    parser.add_argument("--json", action="store_true", help="print raw lines instead of tables")
    parser.add_argument("--out", type=Path, help="also write the raw lines to this file")
    parser.add_argument("--only", action="append", choices=NAMES, help="a saver; all by default")
    options = parser.parse_args(arguments)
    plan = measures.QUICK if options.quick else measures.FULL
    lines, left_out = measures.measure(plan, options.only or NAMES)
    raw = "".join(json.dumps(line) + "\n" for line in lines)
    if options.out:
        options.out.write_text(raw, encoding="utf-8")
    sys.stdout.write(raw if options.json else tables.full(tables.Lines(lines)))
    sys.stderr.write("".join(f"{reason}\n" for reason in left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
