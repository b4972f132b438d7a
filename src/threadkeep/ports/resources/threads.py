"""Threads."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from threadkeep.model.queries import Listing, ThreadQuery
from threadkeep.model.runs import Run
from threadkeep.model.threads import NewThread, Thread, ThreadState
from threadkeep.model.unset import UNSET, Unset


class ThreadRepo(Protocol):
    """Threads."""

    async def create(self, new: NewThread) -> Thread:
        """Insert an idle thread; its lifetime, if any, starts now.

        Raises:
            AlreadyExistsError: The id is taken; the present row is untouched.
            InvalidRequestError: The lifetime is not a positive number of minutes.
        """
        ...

    async def get(
        self, thread_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Thread | None:
        """Read one, or ``None``; an expired one reads until it is swept.

        With enforced metadata, only one that contains it.
        """
        ...

    async def search(self, query: ThreadQuery) -> Listing[Thread]:
        """Read a page, ties broken by id in the same direction.

        Of what ``ThreadQuery.select`` leaves out nothing is read: it is empty in the rows.
        """
        ...

    async def count(self, query: ThreadQuery) -> int:
        """Count all that match, whatever the page."""
        ...

    async def copy(
        self,
        thread_id: str,
        *,
        copy_id: str,
        ttl_minutes: float | None = None,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Thread:
        """Insert a thread with metadata, config, values, interrupts, error and head of another.

        It has times and a lifetime of its own, and no runs; of a busy thread, it has the status
        that the last run left. Checkpoints are copied by the saver.

        Raises:
            NotFoundError: No such thread, or none whose metadata contains what is enforced.
            AlreadyExistsError: The copy's id is taken; the present row is untouched.
            InvalidRequestError: The lifetime is not a positive number of minutes.
        """
        ...

    async def list_expired(self, *, limit: int | None = None) -> Sequence[str]:
        """Read the ids of threads whose lifetime is over, longest first, then by id.

        It is over at its very moment. At most a page of them; a full one means look again.
        """
        ...

    async def update(
        self,
        thread_id: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        ttl_minutes: float | Unset | None = UNSET,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Thread:
        """Merge metadata (top-level keys) and set or clear the lifetime, whose clock restarts.

        What is enforced is compared with the metadata as it was, and never merged.

        Raises:
            NotFoundError: No such thread, or none whose metadata contains what is enforced.
            InvalidRequestError: The lifetime is not a positive number of minutes.
        """
        ...

    async def record_state(self, thread_id: str, state: ThreadState) -> Thread:
        """Write what a state update left; a thread with an active run stays ``busy``.

        Values above ``MIRRORED_VALUES_BYTES``, or that are not JSON, are left to the head
        checkpoint: the row then has none.

        Raises:
            NotFoundError: No such thread.
        """
        ...

    async def delete(
        self,
        thread_id: str,
        *,
        keep_undelivered: bool = False,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Sequence[Run]:
        """Delete a thread and all that is its own, in one transaction; unknown is no error.

        Its own are its runs, its crons, its idempotency records and its deliveries; one created
        anew under the id has nothing of them. Checkpoints are the saver's.

        Args:
            thread_id: The thread.
            keep_undelivered: Leave deliveries that are still to be sent; they go when they expire.
            enforced_metadata: Nothing is deleted unless the thread is there and its metadata
                contains it.

        Returns:
            The runs that were active, for their owners to stop.
        """
        ...
