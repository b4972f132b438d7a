"""Items in a SQL database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from threadkeep.drivers.sql.database import Database, One, Run, Work
from threadkeep.drivers.sql.item_ranking import ItemRanking, Ranker
from threadkeep.drivers.sql.rows import Row, item_bag, item_of, labels_of, micros, path_of
from threadkeep.drivers.sql.units import read_page
from threadkeep.drivers.sql.where import Conditions, Dialect, items_where, namespaces_where
from threadkeep.model.item_index import IndexEntry, IndexProgress, IndexSpec, Passage
from threadkeep.model.items import (
    DeleteItem,
    GetItem,
    Item,
    ItemOperation,
    ItemQuery,
    Namespace,
    NamespaceQuery,
    PutItem,
    UnindexedItem,
)
from threadkeep.model.queries import Listing
from threadkeep.ports.clock import Clock
from threadkeep.rules.expiry import expires_at
from threadkeep.rules.item_batch import (
    last_writes,
    plain_namespace_query,
    plain_operation,
    plain_put,
    plain_query,
)
from threadkeep.rules.item_indexes import question_vector
from threadkeep.rules.paging import MAX_OFFSET, Page, listing_of, page_of


class SqlItemRepo:
    """Satisfies ``ItemRepo``.

    A read that restarts no lifetime is only a read; where one must be restarted, it is done again
    as a write, so that it restarts what it answers with.
    """

    def __init__(
        self,
        database: Database,
        dialect: Dialect,
        ranker: Ranker,
        *,
        clock: Clock,
        max_page_size: int,
    ) -> None:
        self._database = database
        self._ranking = ItemRanking(database, ranker, clock=clock)
        self._dialect = dialect
        self._clock = clock
        self._max_page_size = max_page_size

    async def get(self, namespace: Namespace, key: str, *, refresh: bool = True) -> Item | None:
        """See ``ItemRepo.get``."""
        (found,) = await self.apply([GetItem(namespace, key, refresh)])
        item: Item | None = found
        return item

    async def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        ttl_minutes: float | None = None,
    ) -> Item:
        """See ``ItemRepo.put``."""
        put = plain_put(PutItem(namespace, key, value, ttl_minutes))

        def work() -> Work[Item]:
            yield from _lock([put])
            return (yield from self._put(put, None, self._clock.now()))

        return await self._database.write(work)

    async def delete(self, namespace: Namespace, key: str) -> None:
        """See ``ItemRepo.delete``."""
        await self.apply([DeleteItem(namespace, key)])

    async def search(self, query: ItemQuery) -> Listing[Item]:
        """See ``ItemRepo.search``."""
        plain = plain_query(query)
        self._check(plain)

        def look() -> Work[Listing[Item]]:
            return self._search(plain, self._clock.now(), is_counted=True)

        def restart() -> Work[Listing[Item]]:
            now = self._clock.now()
            listing = yield from self._search(plain, now, is_counted=True)
            rows = yield from _restarted(listing.rows, now)
            return replace(listing, rows=rows)

        listing = await self._database.read(look)
        if plain.refresh and any(map(_has_lifetime, listing.rows)):
            return await self._database.write(restart)
        return listing

    async def list_namespaces(self, query: NamespaceQuery) -> Listing[Namespace]:
        """See ``ItemRepo.list_namespaces``."""
        plain = plain_namespace_query(query)
        self._page(plain)

        def work() -> Work[Listing[Namespace]]:
            return self._namespaces(plain, self._clock.now())

        return await self._database.read(work)

    async def apply(self, operations: Sequence[ItemOperation]) -> Sequence[Any]:
        """See ``ItemRepo.apply``."""
        plain = [plain_operation(each) for each in operations]
        for each in plain:
            if isinstance(each, (ItemQuery, NamespaceQuery)):
                self._check(each)
        writes = last_writes(plain)
        passages = {
            address: self._ranking.plain(write)
            for address, write in writes.items()
            if isinstance(write, PutItem)
        }

        def look() -> Work[list[Any]]:
            return self._answers(plain, self._clock.now())

        def change() -> Work[list[Any]]:
            yield from _lock(writes.values())
            now = self._clock.now()
            answers = yield from self._answers(plain, now)
            answers = yield from _restart_answers(plain, answers, now)
            for address, write in writes.items():
                yield from self._write(write, passages.get(address), now)
            return answers

        if writes:
            return await self._database.write(change)
        answers = await self._database.read(look)
        if _must_restart(plain, answers):
            return await self._database.write(change)
        return answers

    async def sweep(self, *, limit: int) -> int:
        """See ``ItemRepo.sweep``."""

        def work() -> Work[int]:
            now = micros(self._clock.now())
            bound = {"now": now, "limit": max(0, min(limit, MAX_OFFSET))}
            swept: int = yield Run("sweep_items", bound)
            return swept

        return await self._database.write(work)

    async def use_index(self, spec: IndexSpec, *, build: bool = False) -> None:
        """See ``ItemRepo.use_index``."""
        await self._ranking.use(spec, build=build)

    async def index_progress(self) -> IndexProgress:
        """See ``ItemRepo.index_progress``."""
        return await self._ranking.progress()

    async def unindexed(self, *, limit: int) -> Sequence[UnindexedItem]:
        """See ``ItemRepo.unindexed``."""
        return await self._ranking.unindexed(limit=limit)

    async def index_items(self, entries: Sequence[IndexEntry]) -> int:
        """See ``ItemRepo.index_items``."""
        return await self._ranking.add(entries)

    async def finish_index(self) -> bool:
        """See ``ItemRepo.finish_index``."""
        return await self._ranking.finish()

    async def tidy_index(self) -> None:
        """See ``ItemRepo.tidy_index``."""
        await self._ranking.tidy()

    def _check(self, query: ItemQuery | NamespaceQuery) -> None:
        """Refuse here what would otherwise be refused within a transaction."""
        self._page(query)
        if isinstance(query, ItemQuery) and query.is_ranked:
            spec = self._ranking.used.spec
            if query.vector is not None:
                question_vector(query, spec)

    def _page(self, query: ItemQuery | NamespaceQuery) -> Page:
        return page_of(limit=query.limit, offset=query.offset, max_page_size=self._max_page_size)

    def _answers(self, operations: Sequence[ItemOperation], now: datetime) -> Work[list[Any]]:
        answers: list[Any] = []
        for operation in operations:
            answer = yield from self._answer(operation, now)
            answers.append(answer)
        return answers

    def _answer(self, operation: ItemOperation, now: datetime) -> Work[Any]:
        match operation:
            case GetItem(namespace, key):
                row = yield from _get(namespace, key, now)
                return item_of(row) if row else None
            case ItemQuery():
                items = yield from self._search(operation, now, is_counted=False)
                return items.rows
            case NamespaceQuery():
                namespaces = yield from self._namespaces(operation, now)
                return namespaces.rows
            case _:
                return None

    def _search(self, query: ItemQuery, now: datetime, *, is_counted: bool) -> Work[Listing[Item]]:
        where = items_where(query, self._dialect, now)
        page = self._page(query)
        if query.is_ranked:
            return (yield from self._best(query, where, page, is_counted=is_counted))
        count = "count_items" if is_counted else None
        rows, total = yield from read_page("search_items", count, where, page)
        return listing_of([item_of(row) for row in rows], page=page, total=total)

    def _best(
        self, query: ItemQuery, where: Conditions, page: Page, *, is_counted: bool
    ) -> Work[Listing[Item]]:
        end = page.offset + page.limit
        matches, total = yield from self._ranking.search(query, where, end, is_counted=is_counted)
        found: list[Item] = []
        if matches[page.offset : end]:
            found = yield from self._ranking.load(matches[page.offset : end])
        return listing_of(found, page=page, total=total)

    def _namespaces(self, query: NamespaceQuery, now: datetime) -> Work[Listing[Namespace]]:
        where = namespaces_where(query, self._dialect, now)
        page = self._page(query)
        rows, total = yield from read_page("search_namespaces", "count_namespaces", where, page)
        return listing_of([labels_of(row["path"]) for row in rows], page=page, total=total)

    def _write(
        self, write: PutItem | DeleteItem, passages: Sequence[Passage] | None, now: datetime
    ) -> Work[None]:
        if isinstance(write, PutItem):
            yield from self._put(write, passages, now)
        else:
            yield Run("remove_item", {"path": path_of(write.namespace), "key": write.key})

    def _put(self, put: PutItem, passages: Sequence[Passage] | None, now: datetime) -> Work[Item]:
        present = yield from _get(put.namespace, put.key, now)
        item = Item(
            namespace=put.namespace,
            key=put.key,
            value=put.value,
            created_at=item_of(present).created_at if present else now,
            updated_at=now,
            ttl_minutes=put.ttl_minutes,
            expires_at=expires_at(now, put.ttl_minutes),
        )
        bag = item_bag(item)
        yield Run("put_item", bag)
        has_lifetime = item.ttl_minutes is not None
        yield Run("put_item_lifetime" if has_lifetime else "remove_item_lifetime", bag)
        yield from self._ranking.store(put, passages, now)
        return item


def _get(namespace: Namespace, key: str, now: datetime) -> Work[Row | None]:
    bound = {"path": path_of(namespace), "key": key, "now": micros(now)}
    row: Row | None = yield One("get_item", bound)
    return row


def _has_lifetime(item: Item | None) -> bool:
    return item is not None and item.ttl_minutes is not None


def _restarted(items: Sequence[Item], now: datetime) -> Work[list[Item]]:
    """Restart the lifetimes of items just read, and return the items as they now are."""
    changed: list[Item] = []
    for item in items:
        if item.ttl_minutes is not None:
            item = replace(item, expires_at=expires_at(now, item.ttl_minutes))
            yield Run("restart_item_lifetime", item_bag(item))
        changed.append(item)
    return changed


def _lock(writes: Iterable[PutItem | DeleteItem]) -> Work[None]:
    """Keep others from writing at these addresses, also where there is no item yet."""
    addresses = [(path_of(each.namespace), each.key) for each in writes]
    if addresses:
        yield One("lock_items", {"addresses": addresses})


def _restart_answers(
    operations: Sequence[ItemOperation], answers: Sequence[Any], now: datetime
) -> Work[list[Any]]:
    changed: list[Any] = []
    for operation, answer in zip(operations, answers, strict=True):
        match operation:
            case GetItem(refresh=True) if answer is not None:
                (answer,) = yield from _restarted([answer], now)
            case ItemQuery(refresh=True):
                answer = yield from _restarted(answer, now)
            case _:
                pass
        changed.append(answer)
    return changed


def _must_restart(operations: Sequence[ItemOperation], answers: Sequence[Any]) -> bool:
    for operation, answer in zip(operations, answers, strict=True):
        match operation:
            case GetItem(refresh=True):
                items = [answer]
            case ItemQuery(refresh=True):
                items = answer
            case _:
                items = []
        if any(map(_has_lifetime, items)):
            return True
    return False
