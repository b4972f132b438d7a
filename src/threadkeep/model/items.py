"""A long-term memory item."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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
class GetItem:
    """Read one item; ``refresh`` restarts its lifetime."""

    namespace: Namespace
    key: str
    refresh: bool = True


@dataclass(frozen=True, slots=True)
class PutItem:
    """Insert or replace one item."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    ttl_minutes: float | None = None


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
    """

    prefix: Namespace = ()
    filter: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    offset: int = 0
    refresh: bool = True


@dataclass(frozen=True, slots=True)
class NamespaceQuery:
    """Which namespaces; ``*`` in prefix and suffix stands for exactly one label."""

    prefix: Namespace = ()
    suffix: Namespace = ()
    max_depth: int | None = None
    limit: int | None = None
    offset: int = 0


ItemOperation = GetItem | PutItem | DeleteItem | ItemQuery | NamespaceQuery
