"""On what terms a write is stored, and what it means that it was not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from threadkeep.checkpoints.steps import Insert, Steps
from threadkeep.errors import LeaseLostError, NotFoundError
from threadkeep.model.uuid_times import made_at
from threadkeep.ports.documents import Batch, Inserted, Key

ATTEMPTS = 5  # of one write; each but the first takes a prune or an erasure that came between


@dataclass(frozen=True, slots=True)
class Terms:
    """What must be so for a write to be stored; see ``Batch``."""

    requires: Sequence[tuple[str, Key]] = ()
    after: Sequence[tuple[Key, int]] = ()
    lease: int | None = None


def belonging(checkpoints: Iterable[tuple[str, str]]) -> list[tuple[Key, int]]:
    """State checkpoints, given by namespace and id, as ``Batch.after`` does."""
    return [((namespace, ident), made_at(ident)) for namespace, ident in checkpoints]


def insert_all(thread_id: str, batches: Sequence[Batch]) -> Steps[list[Inserted] | None]:
    """Write batches in order, as long as what they require is there.

    Returns:
        What each did, or ``None`` where something required is absent: then not all are written.

    Raises:
        LeaseLostError: The lease they were to be written under is another's.
        NotFoundError: The thread was deleted after what they belong to was made.
    """
    done: list[Inserted] = []
    for batch in batches:
        inserted: Inserted = yield Insert(batch)
        if inserted.stale:
            raise LeaseLostError(thread_id)
        if inserted.erased:
            raise NotFoundError("thread", thread_id)
        if not inserted.written:
            return None
        done.append(inserted)
    return done
