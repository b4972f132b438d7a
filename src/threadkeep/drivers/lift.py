"""The awaiting face of a document store that only has the blocking one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

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

T = TypeVar("T")

WORKERS = 8  # calls in a store at once, per lifted store; the loop's own executor is left alone


class InThreads:
    """An ``AsyncDocumentStore`` that calls a blocking store in worker threads of its own."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._executor = ThreadPoolExecutor(WORKERS, thread_name_prefix="threadkeep-documents")

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return self._store.max_body_bytes

    async def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        await self._call(self._store.setup)

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        return await self._call(partial(self._store.insert, scope, batch))

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        return await self._call(partial(self._store.fetch, scope, thread_id, refs, nodes=nodes))

    async def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return await self._call(partial(self._store.find, scope, find))

    async def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return await self._call(partial(self._store.count, scope, find))

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        """See ``DocumentStore.remove``."""
        return await self._call(partial(self._store.remove, scope, thread_id, documents))

    async def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        return await self._call(partial(self._store.erase, scope, thread_id))

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        return await self._call(partial(self._store.copy, scope, source, target))

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        return await self._call(partial(self._store.prune, scope, thread_id, pruning))

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return await self._call(partial(self._store.lease, scope, thread_id, seconds))

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        return await self._call(partial(self._store.extend_lease, scope, thread_id, token, seconds))

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        await self._call(partial(self._store.release_lease, scope, thread_id, token))

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return await self._call(partial(self._store.measure, scope, thread_id))

    async def close(self) -> None:
        """See ``DocumentStore.close``; the workers stay, so that a late call is told why."""
        await self._call(self._store.close)

    async def _call(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)
