"""``ItemStore``: LangGraph's ``BaseStore`` over the items of a resource store.

The resource store is awaiting and lives on one event loop: the server's, or a loop of the
``ItemStore``'s own. Synchronous calls from any other thread are posted there, so a plain ``def``
node may say ``store.get``; on the loop's own thread they would wait for themselves and are refused.

Invariants:
    A batch is one transaction; its reads see the state before it, and of the puts and deletes of
    one address the last wins. Expired items read as absent, always. What is read is never shared
    with the store.
"""

import asyncio
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.base import Item as StoreItem

from threadkeep.errors import (
    ConfigError,
    InvalidNamespaceError,
    InvalidRequestError,
    NotSupportedError,
    StorageError,
)
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
from threadkeep.ports.drivers import Driver, open_driver
from threadkeep.ports.resources import ResourceStore
from threadkeep.savers.loop import LoopThread, hop, post, running_loop


class ItemStore(BaseStore):
    """Long-term memory: items under namespaces, with filters and lifetimes.

    ``search`` answers 10 items unless told otherwise and reads further pages of the store for a
    limit above its page bound. A ``query`` has no effect without an index, as in LangGraph: the
    latest update comes first.
    """

    __slots__ = (
        "_driver",
        "_lock",
        "_loop",
        "_process",
        "_resources",
        "_thread",
        "_url",
        "ttl_config",
    )

    supports_ttl = True

    def __init__(
        self,
        resources: ResourceStore | None = None,
        *,
        url: str | None = None,
        index: Any = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Take an open resource store, or an address to open at the first use.

        With ``resources`` the running event loop is the store's, or a loop of its own when none
        runs.

        Args:
            resources: An open resource store; stays the caller's to close.
            url: A storage address instead; see ``from_url``.
            index: Not supported yet.
            ttl: ``default_ttl`` in minutes and ``refresh_on_read``.

        Raises:
            NotSupportedError: ``index`` is given.
            ConfigError: Neither or both of ``resources`` and ``url``, or a wrong ``ttl``.
        """
        if index is not None:
            raise NotSupportedError(
                "ItemStore(index=…): there is no semantic search yet, so a search could not rank; "
                "leave index out to store and filter without it"
            )
        if (resources is None) == (url is None):
            raise ConfigError("ItemStore: give an open resource store or an address, not both")
        self.ttl_config = _checked_ttl(ttl)
        self._resources = resources
        self._url = url
        self._lock = threading.Lock()
        self._driver: Driver | None = None
        self._thread: LoopThread | None = None
        self._loop = running_loop() if resources is not None else None
        self._process = os.getpid()

    @classmethod
    def from_url(cls, url: str, *, index: Any = None, ttl: TTLConfig | None = None) -> "ItemStore":
        """Return a store on a storage address, for ``with`` or ``async with``.

        It is opened, set up and given a loop of its own in one thread when it is entered, or at
        its first use; leaving the block, or ``close``, closes what was opened.

        Raises:
            NotSupportedError: ``index`` is given.
            ConfigError: The ``ttl`` is wrong.
        """
        return cls(url=url, index=index, ttl=ttl)

    def __enter__(self) -> Self:
        try:
            self.setup()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        try:
            await self.asetup()
        except BaseException:
            await asyncio.to_thread(self.close)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def setup(self) -> None:
        """Create or migrate what is missing; idempotent, safe when several processes do it."""
        resources, loop = self._opened()
        _refuse_own_loop(loop, "setup")
        post(loop, resources.setup())

    async def asetup(self) -> None:
        """See ``setup``."""
        resources, loop = await asyncio.to_thread(self._opened)
        await hop(loop, resources.setup())

    def close(self) -> None:
        """Close what was opened here, not a resource store that was handed in; idempotent."""
        with self._lock:
            driver, self._driver = self._driver, None
            thread, self._thread = self._thread, None
        if driver is not None:
            driver.close()
        if thread is not None:
            thread.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations in one transaction, from a thread that is not the loop's.

        Raises:
            InvalidRequestError: Called on the event loop that serves the store, or an operation
                is wrong.
            StorageError: The store is closed, or its backend failed.
        """
        operations = list(ops)
        resources, loop = self._opened()
        _refuse_own_loop(loop, _verb(operations))
        return post(loop, _run(resources, operations))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations in one transaction; see ``batch``."""
        operations = list(ops)
        if self._url is not None and self._driver is None:
            await self.asetup()
        resources, loop = self._opened()
        return await hop(loop, _run(resources, operations))

    def _opened(self) -> tuple[ResourceStore, asyncio.AbstractEventLoop]:
        """Return the resource store and its loop, opening and setting up an address once."""
        if self._loop is not None and os.getpid() != self._process:
            raise StorageError(
                "the store was opened before this process was forked; open it again here"
            )
        with self._lock:
            if self._loop is None:
                self._process = os.getpid()
                self._thread = LoopThread("threadkeep-items")
                self._loop = self._thread.loop
            if self._resources is None:
                self._driver, self._resources = self._open_address(self._loop)
            return self._resources, self._loop

    def _open_address(self, loop: asyncio.AbstractEventLoop) -> tuple[Driver, ResourceStore]:
        assert self._url is not None
        driver = open_driver(self._url)
        try:
            resources = driver.resources()
            post(loop, resources.setup())
        except BaseException:
            driver.close()
            raise
        return driver, resources


async def _run(resources: ResourceStore, operations: Sequence[Op]) -> list[Result]:
    results = list(await resources.items.apply([_operation(op) for op in operations]))
    for place, (op, result) in enumerate(zip(operations, results, strict=True)):
        match op:
            case GetOp():
                results[place] = None if result is None else _item(result)
            case SearchOp():
                found = await _rest(resources, op, list(result))
                results[place] = [_search_item(item) for item in found]
            case ListNamespacesOp():
                results[place] = [tuple(namespace) for namespace in result]
            case _:
                results[place] = None
    return results


async def _rest(resources: ResourceStore, op: SearchOp, found: list[Item]) -> list[Item]:
    """Read on where a limit is above the store's page bound, until it or the end is reached."""
    size = resources.max_page_size
    while len(found) < op.limit and found and len(found) % size == 0:
        query = _query(op, limit=min(size, op.limit - len(found)), skip=len(found))
        page = (await resources.items.search(query)).rows
        found.extend(page)
        if not page:
            break
    return found


def _operation(op: Op) -> ItemOperation:
    match op:
        case GetOp():
            return GetItem(_labels(op.namespace), op.key, refresh=op.refresh_ttl)
        case SearchOp():
            return _query(op, limit=op.limit, skip=0)
        case ListNamespacesOp():
            return _namespaces(op)
        case PutOp():
            address = _labels(op.namespace), str(op.key)
            if op.value is None:
                return DeleteItem(*address)
            return PutItem(*address, op.value, ttl_minutes=op.ttl)
    raise InvalidRequestError(f"a store does not know the operation {type(op).__name__}")


def _query(op: SearchOp, *, limit: int | None, skip: int) -> ItemQuery:
    if limit is None:
        raise InvalidRequestError("limit is None; a search of items needs a whole number")
    return ItemQuery(
        prefix=_labels(op.namespace_prefix),
        filter=op.filter or {},
        limit=limit,
        offset=op.offset + skip,
        refresh=op.refresh_ttl,
    )


def _namespaces(op: ListNamespacesOp) -> NamespaceQuery:
    paths: dict[str, Namespace] = {}
    for condition in op.match_conditions or ():
        if condition.match_type in paths:
            raise InvalidRequestError(
                f"list_namespaces takes one {condition.match_type} condition, not several"
            )
        paths[condition.match_type] = _labels(condition.path)
    return NamespaceQuery(
        prefix=paths.get("prefix", ()),
        suffix=paths.get("suffix", ()),
        max_depth=op.max_depth,
        limit=op.limit,
        offset=op.offset,
    )


def _labels(namespace: Any) -> Namespace:
    if isinstance(namespace, str):  # its letters would be taken for labels
        raise InvalidNamespaceError(
            f"a namespace is a tuple of labels, as ({namespace!r},) is, not {namespace!r}"
        )
    return tuple(namespace)


def _item(item: Item) -> StoreItem:
    return StoreItem(
        value=dict(item.value),
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _search_item(item: Item) -> SearchItem:
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=dict(item.value),
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=item.score,
    )


def _verb(operations: Sequence[Op]) -> str:
    """Name the method a batch most likely came from."""
    names = {GetOp: "get", SearchOp: "search", ListNamespacesOp: "list_namespaces", PutOp: "put"}
    found = {names.get(type(op), "batch") for op in operations}
    return found.pop() if len(found) == 1 else "batch"


def _refuse_own_loop(loop: asyncio.AbstractEventLoop, verb: str) -> None:
    if running_loop() is loop:
        raise InvalidRequestError(
            f"store.{verb}(…) was called on the event loop that serves the store, where it would "
            f"wait for itself; write `await store.a{verb}(…)`, or make the node a plain `def`"
        )


def _checked_ttl(ttl: TTLConfig | None) -> TTLConfig | None:
    minutes: Any = ttl.get("default_ttl") if ttl else None
    if minutes is None:
        return ttl
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not minutes > 0:
        raise ConfigError(f"ItemStore: ttl.default_ttl is {minutes!r}; expected minutes above 0")
    return ttl
