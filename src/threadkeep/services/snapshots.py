"""A whole store as a file, and such a file as a store; the file is described in docs/snapshots.md.

Nothing here decodes a value: what is encrypted stays so. Memory is bounded by the largest row.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO

from threadkeep import __version__
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.model.snapshots import KINDS, VERSION, Kind, Row
from threadkeep.ports.transfer import Transfer, View
from threadkeep.rules.snapshot_lines import Sums, blocks, line, read_line

FORMAT = "threadkeep_snapshot"
END = "end"

Told = Callable[[str, int], None]  # a kind, and how many of its rows are done


@dataclass(frozen=True, slots=True)
class Contents:
    """What a whole and undamaged file holds.

    Attributes:
        header: Its first line: who made it when.
        rows: How many rows of each kind.
    """

    header: Mapping[str, Any]
    rows: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Compared:
    """A store beside a file.

    Attributes:
        same: Rows that the store has as the file has them, by kind.
        missing: Rows that it has not.
        different: Rows that it has otherwise.
    """

    same: Counter[str]
    missing: Counter[str]
    different: Counter[str]


def write(transfer: Transfer, out: BinaryIO, told: Told) -> Contents:
    """Write a whole store to a file, as it is at this moment.

    Raises:
        StorageError: The store failed.
    """
    sums = Sums()
    header = {
        FORMAT: VERSION,
        "id": secrets.token_hex(8),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "made_by": __version__,
        "kinds": {kind.name: kind.columns for kind in KINDS.values()},
    }
    counts = dict.fromkeys(KINDS, 0)
    out.write(line(header, sums))
    with transfer.view() as view:
        for kind in KINDS:
            for block in blocks(view.rows(kind)):
                out.write(line([kind, block], sums))
                counts[kind] += len(block)
                told(kind, counts[kind])
    out.write(line([END, counts], sums))
    return Contents(header, counts)


def check(file: BinaryIO) -> Contents:
    """Read a file from its beginning to its end, and say what it holds.

    Raises:
        CorruptionError: It is no snapshot, or is cut or damaged; names the line.
        SchemaTooNewError: A newer release wrote it.
    """
    reader = _Reader(file)
    for _ in reader.blocks():
        pass
    return Contents(reader.header, reader.counts)


def filled(transfer: Transfer) -> Sequence[str]:
    """Return the kinds of which a store has rows."""
    with transfer.view() as view:
        return [kind for kind in KINDS if _first(view, kind) is not None]


def restore(transfer: Transfer, file: BinaryIO, told: Told) -> Mapping[str, int]:
    """Write the rows of a file of which a store has none with their key; a block at a time.

    When it is cut off, doing it again goes on where it was.

    Returns:
        How many rows of each kind were written.

    Raises:
        CorruptionError: The file is damaged; blocks before the damage are written.
        StorageError: The store failed; blocks before that are written.
    """
    added: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for kind, rows in _Reader(file).blocks():
        added[kind] += transfer.restore(kind, rows)
        read[kind] += len(rows)
        told(kind, read[kind])
    return added


def compare(transfer: Transfer, file: BinaryIO) -> Compared:
    """Compare each row of a file with the store's, all in one view.

    Raises:
        CorruptionError: The file is damaged.
        StorageError: The store failed.
    """
    compared = Compared(Counter(), Counter(), Counter())
    pairs = _Reader(file).blocks()
    with transfer.view() as view, closing(pairs):
        for kind, rows in _by_kind(pairs):
            _compare(KINDS[kind], rows, view, compared)
    return compared


class _Reader:
    """Reads a file once.

    Attributes:
        header: Its first line.
        counts: Rows read of each kind.
    """

    def __init__(self, file: BinaryIO) -> None:
        file.seek(0)
        self._lines = enumerate(file, start=1)
        self._sums = Sums()
        self.counts = dict.fromkeys(KINDS, 0)
        self.header = self._header()

    def blocks(self) -> Generator[tuple[str, Sequence[Row]], None, None]:
        """Return the blocks in order, each as a kind and its rows."""
        for number, text in self._lines:
            kind, content = _pair(read_line(text, number, self._sums), number)
            if kind == END:
                self._end(content, number)
                return
            rows = [tuple(row) for row in content]
            if kind not in KINDS or any(len(row) != len(KINDS[kind].columns) for row in rows):
                raise CorruptionError(f"line {number} of the snapshot holds no rows of {kind!r}")
            self.counts[kind] += len(rows)
            yield kind, rows
        raise CorruptionError("the snapshot ends too early: it is cut off; make it again")

    def _header(self) -> Mapping[str, Any]:
        number, text = next(self._lines, (1, b""))
        if not text.startswith(b'{"' + FORMAT.encode() + b'":'):
            raise CorruptionError("the file is no snapshot of threadkeep")
        header: Mapping[str, Any] = read_line(text, number, self._sums)
        if header[FORMAT] != VERSION:
            raise SchemaTooNewError(
                f"the snapshot has version {header[FORMAT]}; this release reads {VERSION}: "
                "restore it with the release that made it, or a newer one"
            )
        return header

    def _end(self, counts: Any, number: int) -> None:
        if counts != self.counts:
            raise CorruptionError(f"line {number} of the snapshot counts other rows than it has")
        if next(self._lines, None) is not None:
            raise CorruptionError(f"the snapshot goes on after its end in line {number}")


def _pair(value: Any, number: int) -> tuple[str, Any]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise CorruptionError(f"line {number} of the snapshot is no block")
    return value[0], value[1]


def _first(view: View, kind: str) -> Row | None:
    with closing(view.rows(kind)) as rows:
        return next(rows, None)


def _by_kind(
    pairs: Iterable[tuple[str, Sequence[Row]]],
) -> Iterator[tuple[str, Iterator[Row]]]:
    """Join the blocks of each kind."""
    waiting = iter(pairs)
    block = next(waiting, None)

    def rows_of(kind: str) -> Iterator[Row]:
        nonlocal block
        while block is not None and block[0] == kind:
            yield from block[1]
            block = next(waiting, None)

    while block is not None:
        kind = block[0]
        yield kind, rows_of(kind)


def _compare(kind: Kind, rows: Iterator[Row], view: View, compared: Compared) -> None:
    """Go through the file's rows and the store's side by side, both in the order of their keys."""
    with closing(view.rows(kind.name)) as stored:
        there = next(stored, None)
        for row in rows:
            key: Any = kind.key_of(row)
            while there is not None and kind.key_of(there) < key:
                there = next(stored, None)
            if there is None or kind.key_of(there) != key:
                found = compared.missing
            else:
                is_same = kind.settled(there) == kind.settled(row)
                found = compared.same if is_same else compared.different
            found[kind.name] += 1
