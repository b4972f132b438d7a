"""A document store that can take a batch now and commit it a moment later."""

from collections.abc import Callable
from typing import Protocol

from threadkeep.ports.documents import AsyncDocumentStore, Batch, Inserted, Scope


class StagingDocumentStore(AsyncDocumentStore, Protocol):
    """A store that can also take a batch now and commit it a moment later.

    Staged batches and the inserts, erasures and resource writes handed over after them commit in
    the order they were handed over, and share transactions where they can. Every read of the same
    process sees what was staged before it.
    """

    def stage(
        self,
        scope: Scope,
        batch: Batch,
        *,
        within_seconds: float,
        after: "Staged | None" = None,
    ) -> "Staged":
        """Hand over a batch that is to be committed within a time, or with the next write.

        Returns at once; must be called on the running event loop. The batch is checked as
        ``insert`` checks it, before it is taken.

        Args:
            scope: Whose documents.
            batch: What to write.
            within_seconds: When it is due.
            after: A batch that was staged here before, and that this one relies on: where that
                one is not written, for whatever reason, neither is this one.

        Raises:
            InvalidRequestError: See ``DocumentStore.insert``.
            DocumentTooLargeError: See ``DocumentStore.insert``.
            UnavailableError: More batches are waiting than the store holds.
        """
        ...


class Staged(Protocol):
    """A batch on its way to the store."""

    async def committed(self) -> Inserted:
        """Wait until the batch is durable.

        Raises:
            StorageError: The backend failed; the batch is not written.
        """
        ...

    def so_far(self) -> Inserted | None:
        """Return what became of the batch, without waiting; ``None`` while it is not known.

        Inside a unit of work that was handed over to the same database after the batch it is
        known: then the batch is durable, or becomes so together with that unit.

        Raises:
            StorageError: The backend failed; the batch is not written.
        """
        ...

    def when_known(self, call: Callable[[], None]) -> None:
        """Call a function on the staging event loop, once it is known what became of the batch."""
        ...
