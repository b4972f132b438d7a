"""The index of the items in a SQL database: what it holds, and the rankings it gives.

How vectors are kept and compared is each driver's own, behind ``Ranker``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from threadkeep.drivers.sql.database import All, Database, One, Run, Work
from threadkeep.drivers.sql.rows import Row, item_of, labels_of, micros, path_of
from threadkeep.drivers.sql.where import Conditions
from threadkeep.errors import ThreadkeepError
from threadkeep.model.item_index import IndexEntry, IndexProgress, IndexSpec, Passage
from threadkeep.model.items import Item, ItemQuery, PutItem, UnindexedItem
from threadkeep.ports.clock import Clock
from threadkeep.rules import words
from threadkeep.rules.item_indexes import (
    StoredIndex,
    is_same,
    plain_passages,
    question_vector,
    state_to_use,
    used,
)
from threadkeep.rules.json_text import decode_json, json_text
from threadkeep.rules.paging import MAX_OFFSET
from threadkeep.rules.ranking import Match, depth_of, fused


@dataclass(frozen=True, slots=True)
class UsedIndex:
    """The index in use, and what the database knows it by."""

    index_id: int
    spec: IndexSpec


class Ranker(Protocol):
    """How a database keeps vectors, and compares them."""

    async def make(self, spec: IndexSpec) -> None:
        """Make the tables of indexes, where they are missing.

        Raises:
            NotSupportedError: The database or the installation cannot hold such an index.
        """
        ...

    async def prepare(self, index: UsedIndex) -> None:
        """Make what searching an index needs beside the tables."""
        ...

    async def tidy(self, index: UsedIndex) -> None:
        """Delete what the index in use does not need, and what is left of others."""
        ...

    def vector(self, numbers: Sequence[float]) -> Any:
        """Return a vector as statements bind it."""
        ...

    def words(self, text: Sequence[str]) -> str:
        """Return the words of a question as statements bind them."""
        ...

    def by_vector(
        self,
        index: UsedIndex,
        question: Sequence[float],
        query: ItemQuery,
        where: Conditions,
        depth: int,
    ) -> Work[list[Match[int]]]:
        """Rank by likeness; at most ``depth`` items."""
        ...


class ItemRanking:
    """The indexes of one store."""

    def __init__(self, database: Database, ranker: Ranker, *, clock: Clock) -> None:
        self._database = database
        self._ranker = ranker
        self._clock = clock
        self._index: UsedIndex | None = None

    @property
    def used(self) -> UsedIndex:
        """The index in use.

        Raises:
            NotSupportedError: None is.
        """
        used(self._index.spec if self._index else None)
        assert self._index is not None
        return self._index

    async def use(self, spec: IndexSpec, *, build: bool) -> None:
        """See ``ItemRepo.use_index``."""

        def work() -> Work[UsedIndex | ThreadkeepError]:
            rows = yield All("list_item_indexes")
            try:
                state = state_to_use(spec, [_stored(row) for row in rows], build=build)
            except ThreadkeepError as error:
                return error
            bag = {"embedder": spec.embedder, "dims": spec.dims, "state": state}
            yield Run("add_item_index", bag)
            rows = yield All("list_item_indexes")
            (index_id,) = (row["index_id"] for row in rows if is_same(_stored(row), spec))
            if state == "ready":
                yield Run("retire_other_indexes", {"index_id": index_id})
            return UsedIndex(index_id, spec)

        state_to_use(spec, (), build=build)
        await self._ranker.make(spec)
        found = await self._database.write(work)
        if isinstance(found, ThreadkeepError):
            raise found
        await self._ranker.prepare(found)
        self._index = found

    async def progress(self) -> IndexProgress:
        """See ``ItemRepo.index_progress``."""
        index = self.used

        def work() -> Work[IndexProgress]:
            return (yield from self._progress(index))

        return await self._database.read(work)

    async def unindexed(self, *, limit: int) -> Sequence[UnindexedItem]:
        """See ``ItemRepo.unindexed``."""
        index = self.used

        def work() -> Work[list[UnindexedItem]]:
            bound = {
                "index_id": index.index_id,
                "now": micros(self._clock.now()),
                "limit": max(0, min(limit, MAX_OFFSET)),
            }
            rows = yield All("unindexed_items", bound)
            return [UnindexedItem(item_of(row), _paths(row["paths"])) for row in rows]

        return await self._database.read(work)

    async def add(self, entries: Sequence[IndexEntry]) -> int:
        """See ``ItemRepo.index_items``."""
        index = self.used
        plain = [(entry, plain_passages(entry.passages, index.spec)) for entry in entries]

        def work() -> Work[int]:
            addresses = [(path_of(entry.namespace), entry.key) for entry, _ in plain]
            if addresses:
                yield One("lock_items", {"addresses": addresses})
            done = 0
            for entry, passages in plain:
                done += yield from self._replace(index, entry, passages)
            return done

        return await self._database.write(work)

    async def finish(self) -> bool:
        """See ``ItemRepo.finish_index``."""
        index = self.used

        def work() -> Work[bool]:
            progress = yield from self._progress(index)
            if progress.indexed < progress.total:
                return False
            spec = index.spec
            bag = {"embedder": spec.embedder, "dims": spec.dims, "state": "ready"}
            yield Run("add_item_index", bag)
            yield Run("retire_other_indexes", {"index_id": index.index_id})
            return True

        return await self._database.write(work)

    async def tidy(self) -> None:
        """See ``ItemRepo.tidy_index``."""
        index = self.used

        def work() -> Work[int]:
            removed: int = yield Run("remove_retired_indexes", {"index_id": index.index_id})
            return removed

        await self._database.write(work)
        await self._ranker.tidy(index)

    def plain(self, put: PutItem) -> Sequence[Passage] | None:
        """Return the passages of a put, checked; ``None`` where none are to be held.

        Raises:
            InvalidRequestError: A vector does not fit the index.
        """
        if put.passages is None or self._index is None:
            return None
        return plain_passages(put.passages, self._index.spec)

    def store(self, put: PutItem, passages: Sequence[Passage] | None, now: datetime) -> Work[None]:
        """Hold what was just put; what was held of it before is gone with the old value."""
        if passages is not None:
            paths = None if put.paths is None else json_text(list(put.paths))
            bag = self._bag(self.used, put.namespace, put.key, now)
            yield from self._hold(bag | {"paths": paths}, passages)

    def search(
        self, query: ItemQuery, where: Conditions, end: int, *, is_counted: bool
    ) -> Work[tuple[list[Match[int]], int]]:
        """Rank up to a place; return the ranking, and how many match in all if that is counted."""
        index = self.used
        is_fused = query.vector is not None and query.text is not None
        depth = depth_of(end, is_fused=is_fused)
        rankings: list[list[Match[int]]] = []
        count, bound = "", {**where.parameters, "index_id": index.index_id}
        if query.vector is not None:
            question = question_vector(query, index.spec)
            found = yield from self._ranker.by_vector(index, question, query, where, depth)
            rankings.append(found)
            count = "count_items_by_vector"
        if query.text is not None:
            asked = words.question_words(query.text)
            bound["words"] = self._ranker.words(asked)
            rows: list[Row] = []
            if asked:
                rows = yield All("rank_items_by_words", {**bound, "depth": depth}, where.text)
            rankings.append([_match(row) for row in rows])
            count = "count_items_by_words"
        best = fused(*rankings) if is_fused else rankings[0]
        if is_fused or not is_counted or len(best) < depth or not best:
            return best, len(best)
        counted = yield One(count, bound, where.text)
        return best, counted["total"]

    def load(self, matches: Sequence[Match[int]]) -> Work[list[Item]]:
        """Read the items of a ranking, in its order."""
        ids = json_text([match.id for match in matches])
        rows = yield All("ranked_items", {"item_ids": ids})
        items = {row["item_id"]: item_of(row) for row in rows}
        return [replace(items[each.id], score=each.score) for each in matches if each.id in items]

    def _progress(self, index: UsedIndex) -> Work[IndexProgress]:
        bound = {"index_id": index.index_id, "now": micros(self._clock.now())}
        row = yield One("indexed_progress", bound)
        return IndexProgress(row["indexed"], row["total"])

    def _replace(
        self, index: UsedIndex, entry: IndexEntry, passages: Sequence[Passage]
    ) -> Work[int]:
        bag = self._bag(index, entry.namespace, entry.key, entry.updated_at)
        yield Run("unmark_item_indexed", bag)
        yield Run("remove_item_text", bag)  # as another index made it
        marked: int = yield from self._hold(bag | {"paths": None}, passages)
        return marked

    def _hold(self, bag: Mapping[str, Any], passages: Sequence[Passage]) -> Work[int]:
        marked: int = yield Run("mark_item_indexed", bag)
        if not marked:
            return 0
        vectors = [each.vector for each in passages if each.vector is not None]
        if vectors:
            bags = [{**bag, "vector": self._ranker.vector(vector)} for vector in vectors]
            yield Run("put_item_vector", bags)
        text = words.joined([each.text for each in passages])
        if text:
            yield Run("put_item_text", {**bag, "text": text})
        return 1

    def _bag(
        self, index: UsedIndex, namespace: tuple[str, ...], key: str, at: datetime
    ) -> dict[str, Any]:
        return {
            "index_id": index.index_id,
            "path": path_of(namespace),
            "key": key,
            "updated_at": micros(at),
        }


def _match(row: Row) -> Match[int]:
    return Match(row["item_id"], labels_of(row["path"]), row["key"], row["score"])


def _stored(row: Row) -> StoredIndex:
    return StoredIndex(row["embedder"], row["dims"], row["state"], bool(row["is_empty"]))


def _paths(text: str | None) -> Sequence[str] | None:
    return None if text is None else decode_json(text)
