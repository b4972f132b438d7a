"""Items in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from threadkeep.drivers.memory.tables import Tables, copy_row
from threadkeep.model.items import (
    DeleteItem,
    GetItem,
    Item,
    ItemOperation,
    ItemQuery,
    Namespace,
    NamespaceQuery,
    PutItem,
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
from threadkeep.rules.namespaces import is_below, select_namespaces
from threadkeep.rules.paging import cut


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
            return copy_row(self._put(self._new_row(put, self._tables.now())))

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
            answers = [self._answer(each, now) for each in plain]
            for address in writes:
                self._tables.items.pop(address, None)
            for item in new:
                self._put(item)
            return answers

    async def sweep(self, *, limit: int) -> int:
        """See ``ItemRepo.sweep``."""
        with self._tables.lock:
            now = self._tables.now()
            expired = [item for item in self._tables.items.values() if not _lives(item, now)]
            expired.sort(key=lambda item: (item.expires_at, item.namespace, item.key))
            for item in expired[: max(limit, 0)]:
                del self._tables.items[item.namespace, item.key]
            return len(expired[: max(limit, 0)])

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
            self._put(item)
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
