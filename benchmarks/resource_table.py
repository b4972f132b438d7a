"""Raw lines of ``benchmarks.resources`` as a table for people."""

from collections.abc import Sequence

from benchmarks.conditions import describe
from benchmarks.tables import NONE, Line, markdown, milliseconds


def table(lines: Sequence[Line]) -> str:
    """Write the table: a row for each question, p50 and p95 for each database."""
    databases = list(dict.fromkeys(line["database"] for line in lines))
    questions = list(dict.fromkeys(line["question"] for line in lines))
    found = {(line["question"], line["database"]): line for line in lines}
    header = [f"{database}, {what}" for database in databases for what in ("p50", "p95")]
    rows: list[Sequence[str]] = [("question", *header)]
    for question in questions:
        cells = [
            milliseconds(found[question, database][what]) if (question, database) in found else NONE
            for database in databases
            for what in ("p50_ms", "p95_ms")
        ]
        rows.append((question, *cells))
    first = lines[0]
    sizes = f"{first['threads']:,} threads, {first['runs']:,} runs, {first['items']:,} items."
    # The conditions of a run with a server name it; those of a file alone do not.
    conditions = [line["conditions"] for line in lines]
    told = [each for each in conditions if "postgresql" in each] or conditions
    described = describe([told[0], *conditions])
    return f"{markdown(rows)}\n\n{sizes} {described}\n"
