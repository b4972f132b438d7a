"""The awaiting face over a blocking store, so that one suite holds both."""

import asyncio
from collections.abc import Mapping, Sequence

from threadkeep.ports.documents import (
    Batch,
    DocumentStore,
    Fetched,
    Find,
    Inserted,
    Key,
    Page,
    Pruned,
    Pruning,
    Scope,
    Usage,
)


class Awaited:
    """Calls a blocking store in threads: what is gathered runs at once."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store

    @property
    def max_body_bytes(self) -> int:
        return self._store.max_body_bytes

    async def setup(self) -> None:
        await asyncio.to_thread(self._store.setup)

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        return await asyncio.to_thread(self._store.insert, scope, batch)

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        return await asyncio.to_thread(self._store.fetch, scope, thread_id, refs, nodes=nodes)

    async def find(self, scope: Scope, find: Find) -> Page:
        return await asyncio.to_thread(self._store.find, scope, find)

    async def count(self, scope: Scope, find: Find) -> int:
        return await asyncio.to_thread(self._store.count, scope, find)

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        return await asyncio.to_thread(self._store.remove, scope, thread_id, documents)

    async def erase(self, scope: Scope, thread_id: str) -> int:
        return await asyncio.to_thread(self._store.erase, scope, thread_id)

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        return await asyncio.to_thread(self._store.copy, scope, source, target)

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        return await asyncio.to_thread(self._store.prune, scope, thread_id, pruning)

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        return await asyncio.to_thread(self._store.lease, scope, thread_id, seconds)

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        return await asyncio.to_thread(self._store.extend_lease, scope, thread_id, token, seconds)

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        await asyncio.to_thread(self._store.release_lease, scope, thread_id, token)

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        return await asyncio.to_thread(self._store.measure, scope, thread_id)

    async def close(self) -> None:
        await asyncio.to_thread(self._store.close)
