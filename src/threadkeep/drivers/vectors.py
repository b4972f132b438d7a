"""Vectors in memory, compared exactly: one matrix of 32-bit floats, and whom each row belongs to.

Ids of vectors only grow, and a vector never changes: what replaces it has another id. So a matrix
is brought up to date by what came after the last id it has seen, and by what is found to be gone.
"""

import threading
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from threadkeep.errors import NotSupportedError
from threadkeep.rules.vectors import SCORE_DIGITS

MAX_TIES = 1000  # rows with the last score of a ranking that are looked at beyond its end
FLOAT_BYTES = 4

Row = tuple[int, int, bytes]  # id of the vector, of whom it belongs to, and the vector packed


def numpy() -> Any:
    """Return numpy.

    Raises:
        NotSupportedError: It is not installed.
    """
    try:
        return import_module("numpy")
    except ImportError as error:
        raise NotSupportedError(
            "semantic search on this driver needs numpy: pip install 'threadkeep[semantic]'"
        ) from error


class VectorMatrix:
    """Safe for several threads; what a ranking works on does not change under it."""

    def __init__(self, dims: int) -> None:
        self._np = numpy()
        self._dims = dims
        self._lock = threading.Lock()
        self._count = 0
        self._ids = self._np.empty(0, self._np.int64)
        self._owners = self._np.empty(0, self._np.int64)
        self._rows = self._np.empty((0, dims), self._np.float32)
        self._dead: set[int] = set()

    @property
    def seen(self) -> int:
        """The highest id that was added."""
        with self._lock:
            return int(self._ids[self._count - 1]) if self._count else 0

    @property
    def count(self) -> int:
        """How many vectors it has."""
        with self._lock:
            return self._count

    def add(self, rows: Sequence[Row]) -> None:
        """Add vectors in the order of their ids; those already there are left out."""
        with self._lock:
            last = int(self._ids[self._count - 1]) if self._count else 0
            new = [row for row in rows if row[0] > last]
            if not new:
                return
            end = self._count + len(new)
            self._reserve(end)
            place = slice(self._count, end)
            self._ids[place] = [row[0] for row in new]
            self._owners[place] = [row[1] for row in new]
            self._rows[place] = unpacked([row[2] for row in new], self._dims)
            self._count = end

    def drop(self, ids: Iterable[int]) -> None:
        """Leave vectors out from now on."""
        with self._lock:
            self._dead.update(ids)
            if 2 * len(self._dead) > self._count:
                self._compact()

    def scores(self, question: Sequence[float], among: Any = None) -> tuple[Any, Any, Any]:
        """Return ids, owners and scores of all vectors, or of those with the ids ``among``."""
        np = self._np
        with self._lock:
            ids, owners = self._ids[: self._count], self._owners[: self._count]
            rows, dead = self._rows[: self._count], sorted(self._dead)
        if among is not None:
            places = np.searchsorted(ids, among)
            places = places[places < len(ids)]
            places = places[np.isin(ids[places], among)]
            ids, owners, rows = ids[places], owners[places], rows[places]
        scores = rows @ np.asarray(question, np.float32)
        if dead:
            kept = ~np.isin(ids, np.asarray(dead, np.int64))
            ids, owners, scores = ids[kept], owners[kept], scores[kept]
        return ids, owners, scores

    def _reserve(self, end: int) -> None:
        """Grow by doubling, into new arrays: rankings under way keep the old ones."""
        if end <= len(self._ids):
            return
        size = max(end, 2 * len(self._ids), 64)
        for name in ("_ids", "_owners", "_rows"):
            old = getattr(self, name)
            new = self._np.empty((size, *old.shape[1:]), old.dtype)
            new[: self._count] = old[: self._count]
            setattr(self, name, new)

    def _compact(self) -> None:
        np = self._np
        kept = ~np.isin(self._ids[: self._count], np.asarray(sorted(self._dead), np.int64))
        if self._count:
            kept[-1] = True  # it says what was seen
        self._ids = self._ids[: self._count][kept]
        self._owners = self._owners[: self._count][kept]
        self._rows = self._rows[: self._count][kept]
        self._count = len(self._ids)
        self._dead &= {int(self._ids[-1])} if self._count else set()


def unpacked(vectors: Sequence[bytes], dims: int) -> Any:
    """Return packed vectors as an array of shape ``(n, dims)``, 32-bit floats."""
    np = numpy()
    return np.frombuffer(b"".join(vectors), np.float32).reshape(-1, dims)


def best_owners(ids: Any, owners: Any, scores: Any, limit: int) -> list[tuple[int, int, float]]:
    """Return the best vector of each of the ``limit`` best owners, and of all that tie with these.

    Returns:
        Id of the vector, owner, score at ``SCORE_DIGITS``; best first, ties in no order.
    """
    if limit < 1:
        return []
    np = numpy()
    rounded = np.round(scores.astype(np.float64), SCORE_DIGITS)
    order = np.argsort(-rounded, kind="stable")
    found: list[tuple[int, int, float]] = []
    taken: set[int] = set()
    for place in order:
        score = float(rounded[place])
        full = len(found) >= limit
        if full and (score < found[limit - 1][2] or len(found) >= limit + MAX_TIES):
            break
        owner = int(owners[place])
        if owner not in taken:
            taken.add(owner)
            found.append((int(ids[place]), owner, score))
    return found
