"""The awaiting face of the document store in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from threadkeep.drivers.memory.documents import MemoryDocumentStore
from threadkeep.ports.documents import (
    Batch,
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
from threadkeep.ports.staging import Staged


class AsyncMemoryDocumentStore:
    """The awaiting face of the same documents; it never blocks, so it needs no thread."""

    def __init__(self, store: MemoryDocumentStore) -> None:
        self._store = store

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        return self._store.max_body_bytes

    async def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        self._store.setup()

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        return self._store.insert(scope, batch)

    def stage(
        self, scope: Scope, batch: Batch, *, within_seconds: float, after: Staged | None = None
    ) -> Staged:
        """See ``StagingDocumentStore.stage``; committed at once."""
        before = None if after is None else after.so_far()
        if before is not None and not before.written:
            return _Committed(Inserted(written=False))
        return _Committed(self._store.insert(scope, batch))

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        return self._store.fetch(scope, thread_id, refs, nodes=nodes)

    async def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        return self._store.find(scope, find)

    async def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        return self._store.count(scope, find)

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        """See ``DocumentStore.remove``."""
        return self._store.remove(scope, thread_id, documents)

    async def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        return self._store.erase(scope, thread_id)

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        return self._store.copy(scope, source, target)

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        return self._store.prune(scope, thread_id, pruning)

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        return self._store.lease(scope, thread_id, seconds)

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        return self._store.extend_lease(scope, thread_id, token, seconds)

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        self._store.release_lease(scope, thread_id, token)

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        return self._store.measure(scope, thread_id)

    async def close(self) -> None:
        """See ``DocumentStore.close``."""
        self._store.close()


@dataclass(frozen=True, slots=True)
class _Committed:
    """A staged batch that is already there."""

    inserted: Inserted

    async def committed(self) -> Inserted:
        """See ``Staged.committed``."""
        return self.inserted

    def so_far(self) -> Inserted:
        """See ``Staged.so_far``."""
        return self.inserted

    def when_known(self, call: Callable[[], None]) -> None:
        """See ``Staged.when_known``."""
        call()
