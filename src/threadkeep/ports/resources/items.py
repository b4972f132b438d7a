"""Long-term memory items."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from threadkeep.model.item_index import IndexEntry, IndexProgress, IndexSpec
from threadkeep.model.items import (
    Item,
    ItemOperation,
    ItemQuery,
    Namespace,
    NamespaceQuery,
    UnindexedItem,
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

        A ranked query reads the best matches first instead: by vectors, score is the cosine of the
        best of an item's passages, equal within 1e-5 on every driver; by words, a higher one is
        better; by both, see ``rules.ranking``, and ``total`` counts what the rankings hold. Ties
        are broken by namespace and key.

        Raises:
            NotSupportedError: A ranked query without an index in use.
            InvalidRequestError: The vector does not fit the index.
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
        operation that is refused refuses the batch. A put's passages replace all that the index
        held of the item; they are left out where no index is in use.

        Raises:
            InvalidRequestError: What the operation's own method raises.
        """
        ...

    async def sweep(self, *, limit: int) -> int:
        """Delete up to ``limit`` expired items, longest expired first; return how many."""
        ...

    async def use_index(self, spec: IndexSpec, *, build: bool = False) -> None:
        """Make what an index needs, and use it from now on in this store.

        An index is in force once it was used while no other held anything, or was finished. Then
        another one is refused, unless it is to be built beside it.

        Raises:
            ConfigError: Another index is in force; names both and the remedy.
            NotSupportedError: This driver, server or installation cannot; names what is missing.
        """
        ...

    async def index_progress(self) -> IndexProgress:
        """Say how much of the live items the index in use holds.

        Raises:
            NotSupportedError: None is in use; here and below.
        """
        ...

    async def unindexed(self, *, limit: int) -> Sequence[UnindexedItem]:
        """Read up to ``limit`` live items that the index in use lacks, oldest first."""
        ...

    async def index_items(self, entries: Sequence[IndexEntry]) -> int:
        """Put entries into the index in use, atomically; return how many were.

        An item that was put since its ``updated_at``, or is gone, is left out.
        """
        ...

    async def finish_index(self) -> bool:
        """Bring the index in use into force, if it lacks no live item; others are retired.

        A retired one is still searched and written by who uses it already.
        """
        ...

    async def tidy_index(self) -> None:
        """Delete retired indexes, and what the one in use no longer needs."""
        ...


class ItemHolder(Protocol):
    """What has items; a ``ResourceStore`` is one."""

    @property
    def items(self) -> ItemRepo:
        """Items."""
        ...

    @property
    def max_page_size(self) -> int:
        """The page bound in force."""
        ...

    async def setup(self) -> None:
        """See ``ResourceStore.setup``."""
        ...
