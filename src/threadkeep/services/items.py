"""Long-term memory over HTTP: the very store that the graphs are given, and nothing beside it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    Item,
    SearchItem,
)
from langgraph.store.base import InvalidNamespaceError as RefusedNamespace

from threadkeep.auth.scope import current_scope
from threadkeep.errors import InvalidNamespaceError, NotFoundError, NotSupportedError
from threadkeep.model.items import Namespace
from threadkeep.model.unset import UNSET, Unset
from threadkeep.savers.indexing import Mode
from threadkeep.savers.store import ItemStore


class ItemService:
    """Items by address and by search."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        index: Literal[False] | list[str] | None = None,
        ttl_minutes: float | None | Unset = UNSET,
    ) -> None:
        """Insert or replace an item.

        Args:
            index: The paths to index, ``False`` for none, ``None`` for the store's own choice.
            ttl_minutes: Its lifetime; ``None`` for one without end, ``UNSET`` for the store's own
                choice.

        Raises:
            InvalidNamespaceError: The namespace or the key cannot be an address.
            ValueNotStorableError: The value cannot be stored.
        """
        ttl = NOT_PROVIDED if isinstance(ttl_minutes, Unset) else ttl_minutes
        asked = await _asked("put", namespace=namespace, key=key, value=dict(value), index=index)
        namespace, key, value = asked["namespace"], asked["key"], asked["value"]
        with _own_words():
            await self._store.aput(namespace, key, dict(value), index=index, ttl=ttl)

    async def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None) -> Item:
        """Read an item.

        Raises:
            InvalidNamespaceError: The namespace cannot be an address.
            NotFoundError: There is none, or its lifetime is over.
        """
        asked = await _asked("get", namespace=namespace, key=key)
        namespace, key = asked["namespace"], asked["key"]
        with _own_words():
            item = await self._store.aget(namespace, key, refresh_ttl=refresh_ttl)
        if item is None:
            raise NotFoundError("item", ".".join((*namespace, key)))
        return item

    async def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item; an unknown one is no error."""
        asked = await _asked("delete", namespace=namespace, key=key)
        namespace, key = asked["namespace"], asked["key"]
        with _own_words():
            await self._store.adelete(namespace, key)

    async def search(
        self,
        prefix: Namespace,
        *,
        query: str | None,
        filter: Mapping[str, Any] | None,
        limit: int,
        offset: int,
        refresh_ttl: bool | None,
        mode: Mode | None = None,
    ) -> Sequence[SearchItem]:
        """Read a page of the items below a namespace, best match first when there is a query.

        Args:
            mode: How a query ranks; ``None``: as the store does by itself.

        Raises:
            NotSupportedError: A mode, for a store that knows none.
            InvalidFilterError: The filter is no filter.
        """
        more: dict[str, Any] = {}
        if mode is not None:
            if not isinstance(self._store, ItemStore):
                kind = type(self._store).__name__
                raise NotSupportedError(f"mode: the store of this server, {kind}, has no modes")
            more["mode"] = mode
        asked = await _asked(
            "search", namespace=prefix, query=query, filter=filter, limit=limit, offset=offset
        )
        filter = asked["filter"]
        with _own_words():
            return await self._store.asearch(
                asked["namespace"] or (),
                **more,
                query=query,
                filter=dict(filter) if filter else None,
                limit=limit,
                offset=offset,
                refresh_ttl=refresh_ttl,
            )

    async def list_namespaces(
        self,
        *,
        prefix: Namespace | None,
        suffix: Namespace | None,
        max_depth: int | None,
        limit: int,
        offset: int,
    ) -> Sequence[Namespace]:
        """Read a page of the distinct namespaces, label by label in order."""
        asked = await _asked(
            "list_namespaces",
            namespace=prefix,
            suffix=suffix,
            max_depth=max_depth,
            limit=limit,
            offset=offset,
        )
        prefix = asked["namespace"] or None
        with _own_words():
            return await self._store.alist_namespaces(
                prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset
            )


async def _asked(action: str, **value: Any) -> dict[str, Any]:
    """Return what is asked for, as the caller's rules leave it."""
    scope = current_scope.get()
    return value if scope is None else await scope.rewritten(action, value)


@contextmanager
def _own_words() -> Iterator[None]:
    """Say in this package's error what LangGraph's base class refuses."""
    try:
        yield
    except RefusedNamespace as error:
        raise InvalidNamespaceError(str(error)) from error
