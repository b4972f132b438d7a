"""A long-term memory item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from threadkeep.model.item_index import Passage, Vector

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One remembered value under its address.

    Attributes:
        namespace: Where it is; at least one label.
        key: Its name there.
        value: A JSON object.
        ttl_minutes: Its lifetime, or ``None`` for ever.
        expires_at: From when it reads as absent, or ``None``.
        score: How well it matched a query, in searches that rank; else ``None``.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl_minutes: float | None = None
    expires_at: datetime | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class UnindexedItem:
    """An item that an index lacks.

    Attributes:
        paths: Which fields its last put chose to index; ``None``: the store's own.
    """

    item: Item
    paths: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class GetItem:
    """Read one item; ``refresh`` restarts its lifetime."""

    namespace: Namespace
    key: str
    refresh: bool = True


@dataclass(frozen=True, slots=True)
class PutItem:
    """Insert or replace one item.

    Attributes:
        passages: What the index holds of it; ``None`` when nobody has looked, so that it is
            missing in the index. What the index held before is gone either way.
        paths: Which fields the passages were taken from, where this put chose them.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    ttl_minutes: float | None = None
    passages: Sequence[Passage] | None = None
    paths: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class DeleteItem:
    """Delete one item."""

    namespace: Namespace
    key: str


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """Which items: those below a namespace prefix that match a filter.

    Attributes:
        prefix: Leading labels, every character literal; empty means everywhere.
        filter: See ``rules.item_filter``.
        limit: At most so many; ``None`` means the store's page bound.
        refresh: Restart the lifetime of what is found.
        vector: Rank by likeness to it, best first; only items with a passage are found then.
        text: Rank by its words, best first; only items with one of them are found then. With
            ``vector`` both rankings are fused (``rules.ranking``).
    """

    prefix: Namespace = ()
    filter: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    offset: int = 0
    refresh: bool = True
    vector: Vector | None = None
    text: str | None = None

    @property
    def is_ranked(self) -> bool:
        """Whether it asks for the best matches first."""
        return self.vector is not None or self.text is not None


@dataclass(frozen=True, slots=True)
class NamespaceQuery:
    """Which namespaces; ``*`` in prefix and suffix stands for exactly one label.

    Attributes:
        more: Further pairs of prefix and suffix; a namespace has the shape of each.
    """

    prefix: Namespace = ()
    suffix: Namespace = ()
    max_depth: int | None = None
    limit: int | None = None
    offset: int = 0
    more: tuple[tuple[Namespace, Namespace], ...] = ()

    @property
    def shapes(self) -> tuple[tuple[Namespace, Namespace], ...]:
        """Every pair of prefix and suffix."""
        return ((self.prefix, self.suffix), *self.more)


ItemOperation = GetItem | PutItem | DeleteItem | ItemQuery | NamespaceQuery
