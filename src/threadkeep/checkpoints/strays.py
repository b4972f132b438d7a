"""Pending writes whose checkpoint never came: found by their keys alone, and swept after a time.

Each step reads one page of keys, or deletes in one transaction what one page showed of one thread.
A checkpoint id tells its time, so no clock stands beside the writes; one that tells none is kept.
"""

from collections.abc import Collection, Iterable, Mapping

from threadkeep.checkpoints.steps import Prune, Steps
from threadkeep.model.uuid_times import made_at
from threadkeep.ports.documents import (
    CHECKPOINTS,
    CHECKPOINTS_V1,
    IN_LIMIT,
    WRITES,
    Document,
    Find,
    In,
    Key,
    Page,
    Pruned,
    Pruning,
)


def sweep(before: int, thread_id: str | None = None) -> Steps[int]:
    """Delete the writes of checkpoints that were made before a time and are not stored.

    Args:
        before: In ticks of a UUIDv6.
        thread_id: One thread, or ``None`` for every one.

    Returns:
        How many documents of writes are gone.
    """
    gone = 0
    after: tuple[str, Key] | None = None
    while True:
        page: Page = yield Find(WRITES, thread_id, after=after, limit=IN_LIMIT, bodies=False)
        for thread, keys in _by_thread(page.documents, before).items():
            strays = yield from absent(thread, keys)
            strays = yield from absent(thread, strays, CHECKPOINTS_V1)
            if strays:
                pruned: Pruned = yield Prune(thread, Pruning((), strays=strays))
                gone += pruned.writes
        if not page.more or not page.documents:
            return gone
        after = page.documents[-1].thread_id, page.documents[-1].key


def _by_thread(documents: Iterable[Document], before: int) -> Mapping[str, Collection[Key]]:
    """Name the checkpoints that some writes belong to, if they were made before a time."""
    found: dict[str, dict[Key, None]] = {}
    for document in documents:
        if 0 < made_at(str(document.key[1])) < before:
            found.setdefault(document.thread_id, {})[document.key[:2]] = None
    return found


def absent(
    thread_id: str, keys: Collection[Key], collection: str = CHECKPOINTS
) -> Steps[list[Key]]:
    """Leave out the checkpoints that are stored, of at most ``IN_LIMIT``."""
    if not keys:
        return []
    asked = In("checkpoint_id", [ident for _, ident in keys])
    stored: set[Key] = set()
    after: tuple[str, Key] | None = None
    while True:
        page: Page = yield Find(collection, thread_id, [asked], after=after, bodies=False)
        stored.update(document.key for document in page.documents)
        if not page.more or not page.documents:
            return [key for key in keys if key not in stored]
        after = thread_id, page.documents[-1].key
