"""Ranking items in a PostgreSQL database by pgvector: exactly, or by an HNSW index when asked for.

The vectors of all indexes stand in one table whose column has no size, so that another embedder
rewrites nothing; an HNSW index is one of the column cast to its size, over one index's rows.
"""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.queries import Operation, Query, Unit
from threadkeep.drivers.postgres.resource_database import PostgresResourceDatabase
from threadkeep.drivers.sql.database import All, Work
from threadkeep.drivers.sql.item_ranking import UsedIndex
from threadkeep.drivers.sql.rows import Bag, Row, labels_of
from threadkeep.drivers.sql.where import Conditions
from threadkeep.errors import NotSupportedError, StorageError, UnavailableError
from threadkeep.model.item_index import IndexSpec
from threadkeep.model.items import ItemQuery
from threadkeep.rules.ranking import Match, ranked
from threadkeep.rules.vectors import SCORE_DIGITS

FEW = 10_000  # vectors that are compared exactly sooner than searched for; see docs/memory.md
PER_ITEM = 4  # vectors of one item that an approximate search expects
BREADTH = 100  # vectors that HNSW looks at together, at least; more find more, and take longer
MAX_BREADTH = 1000  # what pgvector allows
MAX_HNSW_DIMS = 2000  # what pgvector indexes
ITERATIVE = (0, 8)  # the pgvector that goes on searching while conditions leave too few rows
WAIT_SECONDS = 3600.0  # for another process that builds the same HNSW index
POLL_SECONDS = 0.2

MADE = (
    "make_vector_extension",
    "make_item_indexes",
    "make_indexed_items",
    "make_indexed_items_of_index",
    "make_item_vectors",
    "make_item_vectors_of_item",
    "make_item_texts",
    "make_item_texts_index",
    "make_item_forgetting",
    "make_item_text_forgetting",
)


class PostgresRanker:
    """Satisfies ``Ranker``."""

    def __init__(self, database: PostgresDatabase, resources: PostgresResourceDatabase) -> None:
        self._database = database
        self._resources = resources

    async def make(self, spec: IndexSpec) -> None:
        """See ``Ranker.make``."""
        if spec.hnsw and spec.dims > MAX_HNSW_DIMS:
            raise NotSupportedError(
                f"store.index.hnsw: pgvector indexes vectors of at most {MAX_HNSW_DIMS} numbers, "
                f"and store.index.dims is {spec.dims}; remove hnsw to search exactly"
            )
        await self._check_extension(spec)
        await self._database.arun(Operation("item indexes", self._make, atomic=True))

    async def prepare(self, index: UsedIndex) -> None:
        """See ``Ranker.prepare``."""
        for name in ("nearly_nearest_items", "make_hnsw", "drop_hnsw"):
            self._resources.define(_own(name, index), self._filled(name, index))
        if index.spec.hnsw:
            await self._build(index)

    async def tidy(self, index: UsedIndex) -> None:
        """See ``Ranker.tidy``."""
        if not index.spec.hnsw:
            await self._alone(_own("drop_hnsw", index))

    def vector(self, numbers: Sequence[float]) -> list[float]:
        """See ``Ranker.vector``."""
        return list(numbers)

    def words(self, text: Sequence[str]) -> str:
        """See ``Ranker.words``; in quotes no word is an operator."""
        return " | ".join(f"'{word}'" for word in text)

    def by_vector(
        self,
        index: UsedIndex,
        question: Sequence[float],
        query: ItemQuery,
        where: Conditions,
        depth: int,
    ) -> Work[list[Match[int]]]:
        """See ``Ranker.by_vector``."""
        bound = {
            **where.parameters,
            "index_id": index.index_id,
            "question": list(question),
            "digits": SCORE_DIGITS,
        }
        taken = depth * PER_ITEM
        if index.spec.hnsw and taken <= MAX_BREADTH:
            is_narrow = bool(query.prefix or query.filter)
            if not (is_narrow and (yield from _are_few(bound, where))):
                found = yield from _nearly(index, bound, where, depth)
                if len(found) >= depth:
                    return found[:depth]
        rows = yield All("nearest_items", {**bound, "depth": depth}, where.text)
        return [_match(row) for row in rows]

    async def _check_extension(self, spec: IndexSpec) -> None:
        unit = partial(_once, Query(self._resources.text("vector_extension")))
        ((installed, is_available),) = await self._database.arun(Operation("pgvector", unit))
        if installed is None and not is_available:
            raise NotSupportedError(
                "store.index needs the extension pgvector, which this PostgreSQL server does not "
                "have; install it on the server, or remove store.index"
            )
        if installed is None:
            create = partial(_once, Query(self._resources.text("make_vector_extension")))
            try:
                await self._database.arun(Operation("create extension vector", create))
            except StorageError as error:
                raise NotSupportedError(
                    f"store.index needs the extension pgvector, and {error}; let somebody who may "
                    "run `CREATE EXTENSION vector` in this database"
                ) from error
            unit = partial(_once, Query(self._resources.text("vector_extension")))
            ((installed, _),) = await self._database.arun(Operation("pgvector", unit))
        if spec.hnsw and _version(installed) < ITERATIVE:
            raise NotSupportedError(
                f"store.index.hnsw needs pgvector 0.8, and the server has {installed}: before, a "
                "search under a prefix or filter finds too few items; update it, or remove hnsw"
            )

    def _make(self) -> Unit[None]:
        lock = {"lock": _number(f"threadkeep item indexes {self._database.prefix}")}
        yield Query(self._resources.text("lock_item_indexes"), lock)
        for name in MADE:
            yield Query(self._resources.text(name))

    async def _build(self, index: UsedIndex) -> None:
        """Make the HNSW index, anew where an earlier attempt broke off.

        Nobody waits for a lock here: whoever builds waits for all that began before it.
        """
        deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
        while (standing := await self._standing(index)) is not True:
            if standing is None:
                await self._try_to_make(index)
            elif asyncio.get_running_loop().time() > deadline:
                raise UnavailableError(
                    f"postgresql: no HNSW index after {WAIT_SECONDS:g} s; another process builds it"
                )
            else:
                await asyncio.sleep(POLL_SECONDS)

    async def _standing(self, index: UsedIndex) -> bool | None:
        """Say whether the HNSW index is there: false while it is built, ``None`` if nobody does."""
        name = f"{self._database.prefix}item_vectors_hnsw_{index.index_id}"
        query = Query(self._resources.text("hnsw_index"), {"name": name})
        ((is_valid, is_built),) = await self._database.arun(
            Operation("look for an index", partial(_once, query))
        )
        return True if is_valid else (False if is_built else None)

    async def _try_to_make(self, index: UsedIndex) -> None:
        await self._alone(_own("drop_hnsw", index))
        try:
            await self._alone(_own("make_hnsw", index))
        except StorageError:
            if await self._standing(index) is None:  # nobody was faster
                raise

    async def _alone(self, name: str) -> None:
        """Run a statement that is a transaction of its own."""
        unit = partial(_once, Query(self._resources.text(name)))
        await self._database.arun(Operation(name, unit))

    def _filled(self, name: str, index: UsedIndex) -> str:
        text = self._resources.text(name).replace("{index}", str(int(index.index_id)))
        return text.replace("{dims}", str(int(index.spec.dims)))


def _once(query: Query) -> Unit[Any]:
    return (yield query)


def _are_few(bound: Bag, where: Conditions) -> Work[bool]:
    """Say whether conditions leave so few vectors that all are compared."""
    (counted,) = yield All("few_items", {**bound, "limit": FEW}, where.text)
    return bool(counted["few"] < FEW)


def _nearly(index: UsedIndex, bound: Bag, where: Conditions, depth: int) -> Work[list[Match[int]]]:
    taken = depth * PER_ITEM
    yield All("search_approximately", {"breadth": str(max(BREADTH, taken))})
    rows = yield All(_own("nearly_nearest_items", index), {**bound, "limit": taken}, where.text)
    yield All("search_exactly")
    best: dict[int, Match[int]] = {}
    for row in rows:
        best.setdefault(row["item_id"], _match(row))
    return ranked(best.values())


def _match(row: Row) -> Match[int]:
    return Match(row["item_id"], labels_of(row["path"]), row["key"], row["score"])


def _own(name: str, index: UsedIndex) -> str:
    """Name a statement as it is made for one index."""
    return f"{name}_{index.index_id}"


def _number(name: str) -> int:
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:2]))
