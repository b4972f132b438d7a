"""Raw lines as tables for people: every figure beside the peer's, and their ratio."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.conditions import describe
from benchmarks.entrants import (
    DELTA,
    DELTA_PG,
    MEMORY,
    NAAS,
    OURS,
    OURS_FULL,
    OURS_PG,
    PEER,
    PEER_NORMAL,
    PEER_PG,
)

Line = Mapping[str, Any]

NONE = "-"


def size(value: float) -> str:
    """Write bytes for people; 1 KB is 1000 bytes."""
    for unit, factor in (("MB", 1e6), ("KB", 1e3)):
        if value >= factor:
            return f"{_digits(value / factor)} {unit}"
    return f"{value:.0f} B"


def milliseconds(value: float) -> str:
    """Write a time for people."""
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{_digits(value)} ms"


def number(value: float) -> str:
    """Write a count or a mean for people."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}".removesuffix(".00")


def times(value: float) -> str:
    """Write a ratio for people: two digits that count."""
    return f"{value:.0f} x" if value >= 10 else f"{value:.2g} x"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table.

    Attributes:
        name: In the raw lines.
        title: What it is, for people.
        write: How a value is written.
    """

    name: str
    title: str
    write: Callable[[float], str]


FIGURES = (
    Figure("handed_bytes", "bytes handed to the database, per turn", size),
    Figure("payload_bytes", "of them payload, without keys", size),
    Figure("wal_bytes", "written to its log, per turn", size),
    Figure("rows", "rows written per turn", number),
    Figure("statements", "statements that write, per turn", number),
    Figure("transactions", "transactions per turn", number),
    Figure("disk_growth_bytes", "growth of what is stored, per turn", size),
    Figure("empty_bytes", "size of the empty database", size),
    Figure("stored_per_text", "stored bytes / bytes of text so far", number),
    Figure("put_p50_ms", "put, p50", milliseconds),
    Figure("put_p95_ms", "put, p95", milliseconds),
    Figure("put_mean_ms", "put, mean", milliseconds),
    Figure("put_cpu_p50_ms", "put, processor time, p50", milliseconds),
    Figure("put_cpu_mean_ms", "put, processor time, mean", milliseconds),
    Figure("put_writes_p50_ms", "put_writes, p50", milliseconds),
    Figure("put_writes_p95_ms", "put_writes, p95", milliseconds),
    Figure("put_writes_cpu_p50_ms", "put_writes, processor time, p50", milliseconds),
    Figure("turn_cpu_ms", "processor time per turn, graph included", milliseconds),
    Figure("get_cold_ms", "get_tuple, fresh saver", milliseconds),
    Figure("get_cold_cpu_ms", "the same, processor time", milliseconds),
    Figure("get_cold_queries", "queries of that read", number),
    Figure("get_warm_ms", "get_tuple, the saver that wrote", milliseconds),
    Figure("get_warm_cpu_ms", "the same, processor time", milliseconds),
    Figure("list_ms", "list, 500 checkpoints", milliseconds),
    Figure("list_cpu_ms", "the same, processor time", milliseconds),
    Figure("prune_nothing_ms", "prune with nothing to prune", milliseconds),
    Figure("prune_nothing_queries", "queries of that prune", number),
    Figure("several_stored_per_text", "stored / text, 5 threads of 100 turns", number),
    Figure("large_handed_bytes", "a turn with a 20 MB value: bytes handed over", size),
    Figure("large_stored_bytes", "growth of what is stored by it", size),
    Figure("large_read_ms", "its read, fresh saver", milliseconds),
)
# The columns of a table: what a column shows, and the saver whose values its ratio is taken of.
Column = tuple[str, str, str | None]
ON_SQLITE: Sequence[Column] = (
    ("threadkeep", OURS, None),
    ("SqliteSaver", PEER, OURS),
    ("threadkeep at full", OURS_FULL, None),
    ("SqliteSaver", PEER, OURS_FULL),
    ("SqliteSaver at normal", PEER_NORMAL, OURS),
    ("DeltaChannel", DELTA, OURS),
    ("InMemorySaver", MEMORY, None),
)
ON_POSTGRES: Sequence[Column] = (
    ("threadkeep", OURS_PG, None),
    ("PostgresSaver", PEER_PG, OURS_PG),
    ("DeltaChannel", DELTA_PG, OURS_PG),
    ("naas-abi", NAAS, OURS_PG),
)
SHIPPED, AT_NORMAL, AT_FULL = (OURS, PEER), (OURS, PEER_NORMAL), (OURS_FULL, PEER)
POSTGRES = (OURS_PG, PEER_PG)
BRIEF_TURNS = (30, 100, 990)
# What the short table shows: a figure, what follows its title, and whose values are compared.
BRIEF = (
    ("handed_bytes", "", SHIPPED),
    ("disk_growth_bytes", "", SHIPPED),
    ("stored_per_text", "", SHIPPED),
    ("put_p50_ms", ", as shipped (synchronous normal / full)", SHIPPED),
    ("put_p50_ms", ", both at normal", AT_NORMAL),
    ("put_p50_ms", ", both at full", AT_FULL),
    ("get_cold_ms", "", SHIPPED),
    ("get_warm_ms", "", SHIPPED),
    ("list_ms", "", SHIPPED),
    ("handed_bytes", ", PostgreSQL", POSTGRES),
    ("stored_per_text", ", PostgreSQL", POSTGRES),
    ("put_p50_ms", ", PostgreSQL", POSTGRES),
    ("get_cold_ms", ", PostgreSQL", POSTGRES),
    ("get_warm_ms", ", PostgreSQL", POSTGRES),
    ("list_ms", ", PostgreSQL", POSTGRES),
)


class Lines:
    """The raw lines of one run, by point and saver."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = list(lines)
        self._figures = {(line["turn"], line["saver"]): line["figures"] for line in self._lines}
        self.turns: Sequence[int] = sorted({line["turn"] for line in self._lines})

    def value(self, turn: int, saver: str, figure: str) -> float | None:
        """Return a figure, ``None`` where it was not measured or means nothing."""
        value: float | None = self._figures.get((turn, saver), {}).get(figure)
        return value

    def has(self, saver: str) -> bool:
        """Tell whether a saver was measured."""
        return any(name == saver for _, name in self._figures)

    def conditions(self) -> str:
        """Tell under which conditions the run was measured."""
        return describe([line["conditions"] for line in self._lines])


def full(lines: Lines) -> str:
    """Write the tables of everything: one for each database, one block of rows for each point."""
    tables = (
        f"On {name}:\n\n{_table(lines, columns)}"
        for name, columns in (("SQLite", ON_SQLITE), ("PostgreSQL", ON_POSTGRES))
        if any(lines.has(saver) for _, saver, _ in columns)
    )
    return "\n\n".join((*tables, lines.conditions())) + "\n"


def brief(lines: Lines) -> str:
    """Write the table of a few figures beside LangGraph's savers, one column for each point."""
    turns = [turn for turn in lines.turns if turn in BRIEF_TURNS]
    rows = [("threadkeep / LangGraph's saver", *(f"turn {turn}" for turn in turns))]
    figures = {figure.name: figure for figure in FIGURES}
    for name, suffix, savers in BRIEF:
        cells = [_beside(lines, turn, figures[name], savers) for turn in turns]
        if any(cell != NONE for cell in cells):
            rows.append((figures[name].title + suffix, *cells))
    return f"{markdown(rows)}\n\n{lines.conditions()}\n"


def _table(lines: Lines, columns: Sequence[Column]) -> str:
    header = [
        cell for title, _, to in columns for cell in ((title,) if to is None else (title, "ratio"))
    ]
    rows: list[Sequence[str]] = [("turn", "figure", *header)]
    for turn in (*(turn for turn in lines.turns if turn), 0):
        for figure in FIGURES:
            cells = [cell for column in columns for cell in _cells(lines, turn, figure, column)]
            if any(cell != NONE for cell in cells):
                rows.append((str(turn) if turn else NONE, figure.title, *cells))
    return markdown(rows)


def _cells(lines: Lines, turn: int, figure: Figure, column: Column) -> Sequence[str]:
    """Write what one saver has, and the ratio of ours to it where it is a peer."""
    _, saver, ours = column
    value = lines.value(turn, saver, figure.name)
    written = NONE if value is None else figure.write(value)
    if ours is None:
        return (written,)
    return written, _ratio(lines.value(turn, ours, figure.name), value)


def _ratio(ours: float | None, peers: float | None) -> str:
    return times(ours / peers) if ours is not None and peers else NONE


def _beside(lines: Lines, turn: int, figure: Figure, savers: tuple[str, str]) -> str:
    ours, peers = (lines.value(turn, saver, figure.name) for saver in savers)
    if ours is None or not peers:
        return NONE
    return f"{figure.write(ours)} / {figure.write(peers)} = {times(ours / peers)}"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Lay a table out so that it reads well in a terminal too."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
