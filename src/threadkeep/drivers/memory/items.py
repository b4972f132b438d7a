"""Items in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from threadkeep.drivers.memory.item_indexes import ItemIndexes
from threadkeep.drivers.memory.tables import Tables, copy_row
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
from threadkeep.rules.expiry import expires_at, is_live
from threadkeep.rules.item_batch import (
    last_writes,
    plain_namespace_query,
    plain_operation,
    plain_put,
    plain_query,
)
from threadkeep.rules.item_filter import matches, parse_filter
from threadkeep.rules.item_indexes import plain_passages
from threadkeep.rules.namespaces import is_below, select_namespaces
from threadkeep.rules.paging import cut, listing_of


class MemoryItemRepo:
    """Satisfies ``ItemRepo``."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

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
        with self._tables.lock:
            item = self._put(self._new_row(put, self._tables.now()))
            self._tables.indexes.forget((item.namespace, item.key))
            return copy_row(item)

    async def delete(self, namespace: Namespace, key: str) -> None:
        """See ``ItemRepo.delete``."""
        await self.apply([DeleteItem(namespace, key)])

    async def search(self, query: ItemQuery) -> Listing[Item]:
        """See ``ItemRepo.search``."""
        plain = plain_query(query)
        with self._tables.lock:
            return self._search(plain, self._tables.now())

    async def list_namespaces(self, query: NamespaceQuery) -> Listing[Namespace]:
        """See ``ItemRepo.list_namespaces``."""
        plain = plain_namespace_query(query)
        with self._tables.lock:
            return self._namespaces(plain, self._tables.now())

    async def apply(self, operations: Sequence[ItemOperation]) -> Sequence[Any]:
        """See ``ItemRepo.apply``."""
        plain = [plain_operation(each) for each in operations]
        with self._tables.lock:
            now = self._tables.now()
            writes = last_writes(plain)
            new = [self._new_row(put, now) for put in writes.values() if isinstance(put, PutItem)]
            indexes = self._tables.indexes
            held = {address: _passages(write, indexes) for address, write in writes.items()}
            answers = [self._answer(each, now) for each in plain]
            for address in writes:
                self._tables.items.pop(address, None)
                indexes.forget(address)
            for item in new:
                self._put(item)
                indexes.write((item.namespace, item.key), *held[item.namespace, item.key])
            return answers

    async def sweep(self, *, limit: int) -> int:
        """See ``ItemRepo.sweep``."""
        with self._tables.lock:
            now = self._tables.now()
            expired = [item for item in self._tables.items.values() if not _lives(item, now)]
            expired.sort(key=lambda item: (item.expires_at, item.namespace, item.key))
            for item in expired[: max(limit, 0)]:
                del self._tables.items[item.namespace, item.key]
                self._tables.indexes.forget((item.namespace, item.key))
            return len(expired[: max(limit, 0)])

    async def use_index(self, spec: IndexSpec, *, build: bool = False) -> None:
        """See ``ItemRepo.use_index``."""
        with self._tables.lock:
            self._tables.indexes.use(spec, build=build)

    async def index_progress(self) -> IndexProgress:
        """See ``ItemRepo.index_progress``."""
        with self._tables.lock:
            held = self._tables.indexes.used.held
            live = self._live(self._tables.now())
            return IndexProgress(sum(address in held for address in live), len(live))

    async def unindexed(self, *, limit: int) -> Sequence[UnindexedItem]:
        """See ``ItemRepo.unindexed``."""
        with self._tables.lock:
            indexes = self._tables.indexes
            held = indexes.used.held
            live = self._live(self._tables.now())
            lacking = [item for address, item in live.items() if address not in held]
            lacking.sort(key=lambda item: (item.updated_at, item.namespace, item.key))
            return [
                UnindexedItem(copy_row(item), indexes.paths.get((item.namespace, item.key)))
                for item in lacking[: max(limit, 0)]
            ]

    async def index_items(self, entries: Sequence[IndexEntry]) -> int:
        """See ``ItemRepo.index_items``."""
        with self._tables.lock:
            index = self._tables.indexes.used
            plain = [(each, plain_passages(each.passages, index.spec)) for each in entries]
            live = self._live(self._tables.now())
            done = 0
            for entry, passages in plain:
                item = live.get((tuple(entry.namespace), entry.key))
                if item is not None and item.updated_at == entry.updated_at:
                    index.put((item.namespace, item.key), passages)
                    done += 1
            return done

    async def finish_index(self) -> bool:
        """See ``ItemRepo.finish_index``."""
        with self._tables.lock:
            held = self._tables.indexes.used.held
            if any(address not in held for address in self._live(self._tables.now())):
                return False
            self._tables.indexes.finish()
            return True

    async def tidy_index(self) -> None:
        """See ``ItemRepo.tidy_index``."""
        with self._tables.lock:
            _ = self._tables.indexes.used
            self._tables.indexes.tidy()

    def _live(self, now: datetime) -> Mapping[tuple[Namespace, str], Item]:
        return {address: item for address, item in self._tables.items.items() if _lives(item, now)}

    def _answer(self, operation: ItemOperation, now: datetime) -> Any:
        match operation:
            case GetItem(namespace, key, refresh):
                item = self._tables.items.get((namespace, key))
                return self._read(item, now, refresh=refresh) if item else None
            case ItemQuery():
                return self._search(operation, now).rows
            case NamespaceQuery():
                return self._namespaces(operation, now).rows
            case _:
                return None

    def _search(self, query: ItemQuery, now: datetime) -> Listing[Item]:
        page = self._tables.page(query.limit, query.offset)
        conditions = parse_filter(query.filter)
        found = [
            item
            for item in self._tables.items.values()
            if is_below(item.namespace, query.prefix)
            and _lives(item, now)
            and matches(item.value, conditions)
        ]
        if query.is_ranked:
            among = {(item.namespace, item.key): item for item in found}
            best, total = self._tables.indexes.rank(query, among, page.offset + page.limit)
            best = best[page.offset : page.offset + page.limit]
            found = [replace(among[match.id], score=match.score) for match in best]
            listing = listing_of(found, page=page, total=total)
        else:
            found.sort(key=lambda item: (item.namespace, item.key))
            found.sort(key=lambda item: item.updated_at, reverse=True)
            listing = cut(found, page)
        rows = [self._read(item, now, refresh=query.refresh) for item in listing.rows]
        return replace(listing, rows=[row for row in rows if row is not None])

    def _namespaces(self, query: NamespaceQuery, now: datetime) -> Listing[Namespace]:
        page = self._tables.page(query.limit, query.offset)
        live = (item.namespace for item in self._tables.items.values() if _lives(item, now))
        return cut(select_namespaces(live, query), page)

    def _read(self, item: Item, now: datetime, *, refresh: bool) -> Item | None:
        if not _lives(item, now):
            return None
        if refresh and item.ttl_minutes is not None:
            item = replace(item, expires_at=expires_at(now, item.ttl_minutes))
            self._put(replace(item, score=None))
        return copy_row(item)

    def _new_row(self, put: PutItem, now: datetime) -> Item:
        present = self._tables.items.get((put.namespace, put.key))
        is_new = present is None or not _lives(present, now)
        return Item(
            namespace=put.namespace,
            key=put.key,
            value=put.value,
            created_at=now if present is None or is_new else present.created_at,
            updated_at=now,
            ttl_minutes=put.ttl_minutes,
            expires_at=expires_at(now, put.ttl_minutes),
        )

    def _put(self, item: Item) -> Item:
        self._tables.items[item.namespace, item.key] = item
        return item


def _lives(item: Item, now: datetime) -> bool:
    return is_live(item.expires_at, now)


def _passages(
    write: PutItem | DeleteItem, indexes: ItemIndexes
) -> tuple[Sequence[Passage] | None, Sequence[str] | None]:
    if isinstance(write, PutItem):
        return indexes.plain(write.passages), write.paths
    return None, None
