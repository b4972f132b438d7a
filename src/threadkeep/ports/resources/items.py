"""Long-term memory items."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from threadkeep.model.items import (
    Item,
    ItemOperation,
    ItemQuery,
    Namespace,
    NamespaceQuery,
)
from threadkeep.model.queries import Listing


class ItemRepo(Protocol):
    """Long-term memory items. Expired ones read as absent everywhere."""

    async def get(self, namespace: Namespace, key: str, *, refresh: bool = True) -> Item | None:
        """Read one; ``refresh`` restarts its lifetime, if it has one.

        Raises:
            InvalidNamespaceError: See ``put``; here and below, for every address.
        """
        ...

    async def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        ttl_minutes: float | None = None,
    ) -> Item:
        """Insert or replace; ``created_at`` of a live one is kept, its lifetime is replaced.

        Raises:
            InvalidNamespaceError: The address can name no item (``rules.namespaces``): no label,
                an empty or over-long one, a period in one, ``langgraph`` as the root.
            ValueNotStorableError: The value is not JSON, or not an object.
            InvalidRequestError: The lifetime is not a positive number of minutes.
        """
        ...

    async def delete(self, namespace: Namespace, key: str) -> None:
        """Delete one; an unknown one is no error."""
        ...

    async def search(self, query: ItemQuery) -> Listing[Item]:
        """Read a page, latest update first, then by namespace and key, both by code point.

        Raises:
            InvalidFilterError: The filter is no filter.
            InvalidNamespaceError: The prefix is none.
        """
        ...

    async def list_namespaces(self, query: NamespaceQuery) -> Listing[Namespace]:
        """Read a page of distinct namespaces, label by label in code point order.

        Match, then cut to ``max_depth``, then drop repeats, then page.

        Raises:
            InvalidNamespaceError: The prefix or suffix is none.
            InvalidRequestError: ``max_depth`` is below 1.
        """
        ...

    async def apply(self, operations: Sequence[ItemOperation]) -> Sequence[Any]:
        """Do several operations in one transaction, as LangGraph's ``batch`` means them.

        Every read sees the state before the batch; of puts and deletes of one address the last
        wins; results come in the order of the operations: an ``Item`` or ``None`` for a get, a
        sequence of items or namespaces for a search or listing, ``None`` for a put or delete. One
        operation that is refused refuses the batch.

        Raises:
            InvalidRequestError: What the operation's own method raises.
        """
        ...

    async def sweep(self, *, limit: int) -> int:
        """Delete up to ``limit`` expired items, longest expired first; return how many."""
        ...
