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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
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

from threadkeep.errors import ConfigError, InvalidRequestError, StorageError
from threadkeep.model.identity import current_user
from threadkeep.model.item_index import IndexProgress
from threadkeep.model.items import Namespace
from threadkeep.ports.drivers import Driver, open_driver
from threadkeep.ports.resources import ItemHolder, ItemRepo
from threadkeep.rules.scoping import check_scope, scope_of
from threadkeep.savers.indexing import Indexing, Mode, Ranks, indexing_of, reembed
from threadkeep.savers.loop import LoopThread, hop, post, running_loop
from threadkeep.savers.store_operations import ModeSearchOp, run


class ItemStore(BaseStore):
    """Long-term memory: items under namespaces, with filters and lifetimes.

    ``search`` answers 10 items unless told otherwise and reads further pages of the store for a
    limit above its page bound. A ``query`` has no effect without an index, as in LangGraph: the
    latest update comes first. With one, the best matches come first, and only what is indexed is
    found.
    """

    __slots__ = (
        "_driver",
        "_indexing",
        "_lock",
        "_loop",
        "_process",
        "_resources",
        "_scope",
        "_thread",
        "_url",
        "ttl_config",
    )

    supports_ttl = True

    def __init__(
        self,
        resources: ItemHolder | None = None,
        *,
        url: str | None = None,
        index: Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        folder: Path | None = None,
        ranks: Ranks | None = None,
        scope: Sequence[str] = (),
    ) -> None:
        """Take an open resource store, or an address to open at the first use.

        With ``resources`` the running event loop is the store's, or a loop of its own when none
        runs.

        Args:
            resources: An open resource store; stays the caller's to close.
            url: A storage address instead; see ``from_url``.
            index: What is searched by meaning and by words: ``embed``, ``dims``, ``fields``,
                ``hnsw`` and ``mode``; without it nothing is.
            ttl: ``default_ttl`` in minutes and ``refresh_on_read``.
            folder: What the path of ``index["embed"]`` is relative to; else the working directory.

            ranks: An index that is made already, instead of ``index``.
            scope: Labels that every namespace lies below, and no caller sees: ``{identity}`` or
                another field in braces is the authenticated caller's (``rules.scoping``).

        Raises:
            ConfigError: Neither or both of ``resources`` and ``url``, or a wrong ``index`` or
                ``ttl``.
        """
        if (resources is None) == (url is None):
            raise ConfigError("ItemStore: give an open resource store or an address, not both")
        self.ttl_config = _checked_ttl(ttl)
        self._scope = check_scope(scope) if scope else ()
        self._indexing: Ranks | None = ranks or indexing_of(index, folder=folder)
        self._resources = resources
        self._url = url
        self._lock = threading.Lock()
        self._driver: Driver | None = None
        self._thread: LoopThread | None = None
        self._loop = running_loop() if resources is not None else None
        self._process = os.getpid()

    @classmethod
    def from_url(
        cls, url: str, *, index: Mapping[str, Any] | None = None, ttl: TTLConfig | None = None
    ) -> "ItemStore":
        """Return a store on a storage address, for ``with`` or ``async with``.

        It is opened, set up and given a loop of its own in one thread when it is entered, or at
        its first use; leaving the block, or ``close``, closes what was opened.

        Raises:
            ConfigError: The ``index`` or the ``ttl`` is wrong.
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

    @property
    def items(self) -> ItemRepo:
        """The repo of the items, for what runs on the store's loop."""
        return self._opened()[0].items

    def setup(self) -> None:
        """Create or migrate what is missing; idempotent, safe when several processes do it."""
        resources, loop = self._opened()
        _refuse_own_loop(loop, "setup")
        post(loop, self._prepare(resources))

    async def asetup(self) -> None:
        """See ``setup``."""
        resources, loop = await asyncio.to_thread(self._opened)
        await hop(loop, self._prepare(resources))

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
            UnauthenticatedError: The store has a scope, and nobody is authenticated.
            StorageError: The store is closed, or its backend failed.
        """
        operations = list(ops)
        scope = scope_of(self._scope, current_user.get())  # of whoever calls, on this thread
        resources, loop = self._opened()
        _refuse_own_loop(loop, _verb(operations))
        return post(loop, self._run(resources, operations, scope))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations in one transaction; see ``batch``."""
        operations = list(ops)
        scope = scope_of(self._scope, current_user.get())
        if self._url is not None and self._driver is None:
            await self.asetup()
        resources, loop = self._opened()
        return await hop(loop, self._run(resources, operations, scope))

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        mode: Mode | None = None,
    ) -> list[SearchItem]:
        """Search as every ``BaseStore`` does, and choose how a query ranks.

        Args:
            mode: ``vector``: by meaning; ``text``: by words; ``hybrid``: by both; ``auto``:
                hybrid where the query has words. ``None``: as the index is configured.

        Raises:
            InvalidRequestError: The mode is none, or an argument is wrong.
        """
        op = self._search_op(
            namespace_prefix, filter, limit, offset, query, refresh_ttl=refresh_ttl
        )
        found: Any = self.batch([ModeSearchOp.of(op, mode)])[0]
        return list(found)

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        mode: Mode | None = None,
    ) -> list[SearchItem]:
        """Search; see ``search``."""
        op = self._search_op(
            namespace_prefix, filter, limit, offset, query, refresh_ttl=refresh_ttl
        )
        found: Any = (await self.abatch([ModeSearchOp.of(op, mode)]))[0]
        return list(found)

    async def reembed(self, on_progress: Callable[[IndexProgress], None] | None = None) -> bool:
        """Index all items as configured, beside the index in force, and then bring it into force.

        May be broken off and begun anew: what is indexed stays. Others go on reading and writing,
        and search the old index until they are opened with this one. Once nothing is lacking, what
        no index needs any more is deleted by the next call.

        Args:
            on_progress: Told how far it is after each page.

        Returns:
            Whether the index was in force already, and only brought up to date.

        Raises:
            ConfigError: The store has no ``index``.
            UnavailableError: The embedder failed.
        """
        if not isinstance(self._indexing, Indexing):
            raise ConfigError("reembed: no store.index is configured, so there is nothing to embed")
        await asyncio.to_thread(self._opened, prepared=False)
        resources, loop = self._opened(prepared=False)
        return await hop(loop, reembed(resources.items, self._indexing, on_progress))

    def _search_op(
        self,
        prefix: tuple[str, ...],
        filter: dict[str, Any] | None,
        limit: int,
        offset: int,
        query: str | None,
        *,
        refresh_ttl: bool | None,
    ) -> SearchOp:
        refresh = (self.ttl_config or {}).get("refresh_on_read", True)
        refresh = refresh if refresh_ttl is None else refresh_ttl
        return SearchOp(prefix, filter, limit, offset, query, bool(refresh))

    async def _prepare(self, resources: ItemHolder) -> None:
        await resources.setup()
        if self._indexing is not None:
            await self._indexing.use(resources.items)

    async def _run(
        self, resources: ItemHolder, operations: Sequence[Op], scope: Namespace
    ) -> list[Result]:
        if self._indexing is not None:
            await self._indexing.use(resources.items)
        return await run(resources, operations, self._indexing, scope)

    def _opened(self, *, prepared: bool = True) -> tuple[ItemHolder, asyncio.AbstractEventLoop]:
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
                self._driver, self._resources = self._open_address(self._loop, prepared=prepared)
            return self._resources, self._loop

    def _open_address(
        self, loop: asyncio.AbstractEventLoop, *, prepared: bool
    ) -> tuple[Driver, ItemHolder]:
        assert self._url is not None
        driver = open_driver(self._url)
        try:
            resources = driver.resources()
            post(loop, self._prepare(resources) if prepared else resources.setup())
        except BaseException:
            driver.close()
            raise
        return driver, resources


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
