"""Another ``BaseStore`` as a repo of items: it keeps and ranks them, and our rules hold on top.

What it finds is a set of candidates: filter, order and paging are ours, so more is read than is
answered. A put reads back what it wrote, and another writer's put may come between. A batch is
reads, then one batch of writes, and no transaction.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import BaseStore, InvalidNamespaceError, PutOp, SearchOp

from threadkeep.errors import (
    InvalidNamespaceError as RefusedAddressError,
)
from threadkeep.errors import (
    InvalidRequestError,
    NotSupportedError,
    StorageError,
    ThreadkeepError,
)
from threadkeep.model.item_index import IndexEntry, IndexProgress, IndexSpec
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
from threadkeep.model.queries import MAX_PAGE_SIZE, Listing
from threadkeep.ports.resources import ItemRepo
from threadkeep.rules.item_batch import (
    last_writes,
    plain_namespace_query,
    plain_operation,
    plain_put,
    plain_query,
)
from threadkeep.rules.item_filter import matches, parse_filter
from threadkeep.rules.json_text import normal_object
from threadkeep.rules.namespaces import is_below, select_namespaces
from threadkeep.rules.paging import cut, page_of
from threadkeep.savers.indexing import Mode, chosen_paths

PAGE = 500  # candidates that are read at a time
MAX_CANDIDATES = 20_000  # of one search; bounds what is held to be put in order


class OwnRanking:
    """Satisfies ``Ranks``: the store embeds and ranks by itself."""

    async def use(self, items: ItemRepo) -> None:
        """See ``Ranks.use``; there is nothing to do."""

    async def indexed(
        self, operations: Sequence[ItemOperation], chosen: Mapping[int, Any]
    ) -> list[ItemOperation]:
        """See ``Ranks.indexed``: a put says what it chooses, and the store does it."""
        return [
            replace(each, paths=chosen_paths(chosen.get(place)))
            if isinstance(each, PutItem)
            else each
            for place, each in enumerate(operations)
        ]

    async def ranked(self, query: ItemQuery, text: str, mode: Mode | None) -> ItemQuery:
        """See ``Ranks.ranked``.

        Raises:
            NotSupportedError: A mode is given.
        """
        if mode is not None:
            raise NotSupportedError("mode: the adapted store ranks in its own way; leave it out")
        return replace(query, text=text)


class AdaptedItems:
    """Satisfies ``ItemRepo`` and ``ItemHolder``, but for indexes, which are the store's own."""

    def __init__(self, store: BaseStore, *, max_page_size: int = MAX_PAGE_SIZE) -> None:
        self._store = store
        self.max_page_size = max_page_size

    @property
    def items(self) -> ItemRepo:
        """See ``ItemHolder.items``."""
        return self

    async def setup(self) -> None:
        """See ``ItemHolder.setup``: who made the store has set it up."""

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
        """See ``ItemRepo.put``; what is returned was read back.

        Raises:
            StorageError: Also when somebody deleted it before it was read back.
        """
        put = plain_put(PutItem(namespace, key, value, ttl_minutes))
        await self._write([put])
        item = await self._get(GetItem(put.namespace, put.key, refresh=False))
        if item is None:
            raise StorageError("the adapted store does not have what was just put into it")
        return item

    async def delete(self, namespace: Namespace, key: str) -> None:
        """See ``ItemRepo.delete``."""
        await self.apply([DeleteItem(namespace, key)])

    async def search(self, query: ItemQuery) -> Listing[Item]:
        """See ``ItemRepo.search``; a ranking is the store's own.

        Raises:
            NotSupportedError: More than ``MAX_CANDIDATES`` items are below the prefix.
        """
        query = plain_query(query)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self.max_page_size)
        conditions = parse_filter(query.filter)
        found: dict[tuple[Namespace, str], Item] = {}
        async for item in self._candidates(query):
            if is_below(item.namespace, query.prefix) and matches(item.value, conditions):
                found.setdefault((item.namespace, item.key), item)
        rows = sorted(found.values(), key=lambda item: (item.namespace, item.key))
        rows.sort(key=lambda item: item.updated_at, reverse=True)
        if query.text is not None and any(item.score is not None for item in rows):
            rows.sort(key=lambda item: -item.score if item.score is not None else float("inf"))
        return cut(rows, page)

    async def list_namespaces(self, query: NamespaceQuery) -> Listing[Namespace]:
        """See ``ItemRepo.list_namespaces``."""
        query = plain_namespace_query(query)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self.max_page_size)
        return cut(select_namespaces(await self._namespaces(), query), page)

    async def apply(self, operations: Sequence[ItemOperation]) -> Sequence[Any]:
        """See ``ItemRepo.apply``, and the module."""
        plain = [plain_operation(each) for each in operations]
        answers: list[Any] = []
        for each in plain:
            match each:
                case GetItem():
                    answers.append(await self._get(each))
                case ItemQuery():
                    answers.append((await self.search(each)).rows)
                case NamespaceQuery():
                    answers.append((await self.list_namespaces(each)).rows)
                case _:
                    answers.append(None)
        await self._write(list(last_writes(plain).values()))
        return answers

    async def sweep(self, *, limit: int) -> int:
        """See ``ItemRepo.sweep``; the store deletes all that has expired."""
        sweep = getattr(self._store, "sweep_ttl", None)
        if sweep is None:
            return 0
        with self._own_words():
            if inspect.iscoroutinefunction(sweep):
                return int(await sweep())
            return int(await asyncio.to_thread(sweep))

    async def use_index(self, spec: IndexSpec, *, build: bool = False) -> None:
        """See ``ItemRepo.use_index``."""
        raise _no_index()

    async def index_progress(self) -> IndexProgress:
        """See ``ItemRepo.index_progress``."""
        raise _no_index()

    async def unindexed(self, *, limit: int) -> Sequence[UnindexedItem]:
        """See ``ItemRepo.unindexed``."""
        raise _no_index()

    async def index_items(self, entries: Sequence[IndexEntry]) -> int:
        """See ``ItemRepo.index_items``."""
        raise _no_index()

    async def finish_index(self) -> bool:
        """See ``ItemRepo.finish_index``."""
        raise _no_index()

    async def tidy_index(self) -> None:
        """See ``ItemRepo.tidy_index``."""
        raise _no_index()

    async def _get(self, get: GetItem) -> Item | None:
        with self._own_words():
            found = await self._store.aget(get.namespace, get.key, refresh_ttl=get.refresh)
        return None if found is None else _item(found)

    async def _write(self, writes: Sequence[PutItem | DeleteItem]) -> None:
        if not writes:
            return
        ops = [self._put_op(each) for each in writes]
        with self._own_words():
            await self._store.abatch(ops)

    def _put_op(self, write: PutItem | DeleteItem) -> PutOp:
        if isinstance(write, DeleteItem):
            return PutOp(write.namespace, write.key, None)
        if write.ttl_minutes is not None and not self._store.supports_ttl:
            raise NotSupportedError(
                f"the adapted store, {type(self._store).__name__}, has no lifetimes; put the item "
                "without ttl"
            )
        paths = write.paths
        index: Any = None if paths is None else (list(paths) or False)
        return PutOp(write.namespace, write.key, dict(write.value), index, write.ttl_minutes)

    async def _candidates(self, query: ItemQuery) -> AsyncIterator[Item]:
        """Yield what the store finds below a prefix, from each of its namespaces if it must be."""
        if query.prefix:
            async for item in self._below(query.prefix, query):
                yield item
            return
        try:
            found = [item async for item in self._below((), query)]
        except InvalidRequestError:  # a store that takes no empty prefix
            found = []
            for namespace in await self._namespaces():
                found += [item async for item in self._below(namespace, query)]
        for item in found:
            yield item

    async def _below(self, prefix: Namespace, query: ItemQuery) -> AsyncIterator[Item]:
        for offset in range(0, MAX_CANDIDATES, PAGE):
            op = SearchOp(prefix, None, PAGE, offset, query.text, query.refresh)
            with self._own_words():
                (rows,) = await self._store.abatch([op])
            assert isinstance(rows, list)
            for row in rows:
                yield _item(row)
            if len(rows) < PAGE:
                return
        raise NotSupportedError(
            f"more than {MAX_CANDIDATES} items are below {list(prefix)}: an adapted store cannot "
            "be put in order; search below a longer prefix"
        )

    async def _namespaces(self) -> Sequence[Namespace]:
        """Return the namespaces that have an item: some stores also list others."""
        listed: list[Namespace] = []
        while True:
            with self._own_words():
                found = await self._store.alist_namespaces(limit=PAGE, offset=len(listed))
            listed += [tuple(each) for each in found]
            if len(found) < PAGE:
                break
        ops = [SearchOp(each, None, 1, 0, None, False) for each in listed]
        with self._own_words():
            rows = await self._store.abatch(ops) if ops else []
        return [each for each, found in zip(listed, rows, strict=True) if found]

    @contextmanager
    def _own_words(self) -> Iterator[None]:
        """Say in this package's error what the store refuses, and where it fails."""
        try:
            yield
        except ThreadkeepError:
            raise
        except InvalidNamespaceError as error:
            raise RefusedAddressError(str(error)) from error
        except (ValueError, TypeError, NotImplementedError) as error:
            raise InvalidRequestError(f"the adapted store refuses it: {error}") from error
        except Exception as error:
            name, kind = type(self._store).__name__, type(error).__name__
            first = next(iter(str(error).splitlines()), "")
            raise StorageError(f"the adapted store, {name}, failed: {kind}: {first}") from error


def _item(row: Any) -> Item:
    return Item(
        namespace=tuple(row.namespace),
        key=row.key,
        value=normal_object(row.value, "a value in the adapted store"),
        created_at=_aware(row.created_at),
        updated_at=_aware(row.updated_at),
        score=getattr(row, "score", None),
    )


def _aware(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _no_index() -> NotSupportedError:
    return NotSupportedError("an adapted store has an index of its own; configure that one")
