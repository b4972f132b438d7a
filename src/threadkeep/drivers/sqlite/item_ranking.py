"""Ranking items in a SQLite file: exactly, by a matrix of their vectors that stays in memory.

A vector has an id that is never used again, so the matrix is brought up to date by the vectors
after the last id it knows, and what a snapshot no longer has is dropped when it would be answered
with. An undone transaction may give its ids to others: then the matrix begins anew.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.drivers.sql.database import All, One, Run, Work
from threadkeep.drivers.sql.item_ranking import UsedIndex
from threadkeep.drivers.sql.rows import labels_of
from threadkeep.drivers.sql.where import Conditions
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.vectors import FLOAT_BYTES, VectorMatrix, best_owners, numpy, unpacked
from threadkeep.errors import NotSupportedError
from threadkeep.model.item_index import IndexSpec
from threadkeep.model.items import ItemQuery
from threadkeep.rules.json_text import json_text
from threadkeep.rules.ranking import Match, ranked
from threadkeep.rules.vectors import packed

FEW = 2000  # vectors that are read for one search, sooner than compared in the matrix
BLOCK = 4096  # vectors read at a time
MATRIX_BYTES = 512 * 1024 * 1024  # of vectors kept in memory; more are read for each search

MADE = (
    "make_item_indexes",
    "make_indexed_items",
    "make_indexed_items_of_index",
    "make_item_vectors",
    "make_item_vectors_of_item",
    "make_item_texts",
    "make_item_forgetting",
    "make_item_text_forgetting",
)


class SqliteRanker:
    """Satisfies ``Ranker``."""

    def __init__(self, database: SqliteDatabase, *, matrix_bytes: int = MATRIX_BYTES) -> None:
        self._database = database
        self._matrix_bytes = matrix_bytes
        self._lock = threading.Lock()
        self._matrix: tuple[int, VectorMatrix] | None = None
        database.on_rollback(self._begin_anew)

    async def make(self, spec: IndexSpec) -> None:
        """See ``Ranker.make``."""
        if spec.hnsw:
            raise NotSupportedError(
                "store.index.hnsw: SQLite has no such index and searches exactly; PostgreSQL with "
                "pgvector has one. Remove the key"
            )
        numpy()

        def work() -> Work[None]:
            for statement in MADE:
                yield Run(statement)

        await self._database.write(work)

    async def prepare(self, index: UsedIndex) -> None:
        """See ``Ranker.prepare``; the matrix is filled by the first search."""

    async def tidy(self, index: UsedIndex) -> None:
        """See ``Ranker.tidy``; vectors went with their index."""
        self._begin_anew()

    def vector(self, numbers: Sequence[float]) -> bytes:
        """See ``Ranker.vector``."""
        return packed(numbers)

    def words(self, text: Sequence[str]) -> str:
        """See ``Ranker.words``; in quotes no word is an operator."""
        return " OR ".join(f'"{word}"' for word in text)

    def by_vector(
        self,
        index: UsedIndex,
        question: Sequence[float],
        query: ItemQuery,
        where: Conditions,
        depth: int,
    ) -> Work[list[Match[int]]]:
        """See ``Ranker.by_vector``."""
        last = yield One("last_vector")
        bound = {**where.parameters, "index_id": index.index_id}
        among: Any = None
        if query.prefix or query.filter:
            rows = yield All("vector_ids", bound, where.text)
            among = numpy().asarray([row["vector_id"] for row in rows], numpy().int64)
        if among is not None and len(among) <= FEW:
            scored = yield from _read(index, question, among.tolist())
        else:
            matrix = yield from self._current(index, last["last"] if last else 0)
            if matrix is None:
                scored = yield from _streamed(index, question, among)
            else:
                scored = matrix.scores(question, among)
        return (yield from self._best(scored, where, depth, last["last"] if last else 0))

    def _current(self, index: UsedIndex, last: int) -> Work[VectorMatrix | None]:
        """Bring the matrix up to this snapshot; ``None`` where it would be too large."""
        with self._lock:
            if self._matrix is None or self._matrix[0] != index.index_id:
                self._matrix = index.index_id, VectorMatrix(index.spec.dims)
            matrix = self._matrix[1]
        while matrix.seen < last:
            bound = {"index_id": index.index_id, "after": matrix.seen, "limit": BLOCK}
            rows = yield All("vectors_after", bound)
            matrix.add([(row["vector_id"], row["item_id"], row["vector"]) for row in rows])
            if len(rows) < BLOCK:
                break
            if matrix.count * index.spec.dims * FLOAT_BYTES > self._matrix_bytes:
                self._begin_anew()
                return None
        return matrix

    def _best(
        self, scored: tuple[Any, Any, Any], where: Conditions, depth: int, last: int
    ) -> Work[list[Match[int]]]:
        """Return the best of what is there in this snapshot."""
        np = numpy()
        while True:
            best = best_owners(*scored, depth)
            listed = json_text([vector_id for vector_id, _, _ in best])
            bound = {**where.parameters, "vector_ids": listed}
            rows = yield All("ranked_addresses", bound, where.text)
            there: Mapping[int, Any] = {row["vector_id"]: row for row in rows}
            gone = [vector_id for vector_id, _, _ in best if vector_id not in there]
            if not gone:
                break
            rows = yield All("vectors_of_ids", {"vector_ids": json_text(gone)})
            expired = {row["vector_id"] for row in rows}  # of items that another clock may spare
            self._drop([each for each in gone if each <= last and each not in expired])
            kept = ~np.isin(scored[0], np.asarray(gone, np.int64))
            scored = scored[0][kept], scored[1][kept], scored[2][kept]
        found = [(there[vector_id], score) for vector_id, _, score in best]
        matches = [
            Match(row["item_id"], labels_of(row["path"]), row["key"], score) for row, score in found
        ]
        return ranked(matches)[:depth]

    def _drop(self, ids: Sequence[int]) -> None:
        with self._lock:
            matrix = self._matrix
        if matrix is not None:
            matrix[1].drop(ids)

    def _begin_anew(self) -> None:
        with self._lock:
            self._matrix = None


def _read(
    index: UsedIndex, question: Sequence[float], ids: Sequence[int]
) -> Work[tuple[Any, Any, Any]]:
    rows = yield All("vectors_of_ids", {"vector_ids": json_text(ids)})
    return _scores(rows, index, question)


def _streamed(
    index: UsedIndex, question: Sequence[float], among: Any
) -> Work[tuple[Any, Any, Any]]:
    np = numpy()
    parts: list[tuple[Any, Any, Any]] = []
    after, is_more = 0, True
    while is_more:
        bound = {"index_id": index.index_id, "after": after, "limit": BLOCK}
        rows = yield All("vectors_after", bound)
        if rows:
            after = rows[-1]["vector_id"]
            parts.append(_scores(rows, index, question))
        is_more = len(rows) == BLOCK
    parts = parts or [_scores([], index, question)]
    ids, owners, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    if among is None:
        return ids, owners, scores
    kept = np.isin(ids, among)
    return ids[kept], owners[kept], scores[kept]


def _scores(
    rows: Sequence[Mapping[str, Any]], index: UsedIndex, question: Sequence[float]
) -> tuple[Any, Any, Any]:
    np = numpy()
    ids = np.asarray([row["vector_id"] for row in rows], np.int64)
    owners = np.asarray([row["item_id"] for row in rows], np.int64)
    vectors = unpacked([row["vector"] for row in rows], index.spec.dims)
    return ids, owners, vectors @ np.asarray(question, np.float32)
