"""Runs. The rows are the queue: who executes a run is its ``owner`` under a lease."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from threadkeep.model.deliveries import NewDelivery
from threadkeep.model.queries import Listing, RunQuery
from threadkeep.model.runs import Admission, CancelAction, Claim, NewRun, Outcome, Run
from threadkeep.model.threads import ThreadState, ThreadStatus

Deliver = Callable[[Run], NewDelivery | None]


class RunRepo(Protocol):
    """Runs. The rows are the queue: who executes a run is its ``owner`` under a lease."""

    async def admit(
        self,
        new: NewRun,
        *,
        claim: Claim | None,
        thread_status_in: Sequence[ThreadStatus] | None = None,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Admission:
        """Insert a run where its thread lets it, in one transaction.

        With no active run on the thread and a ``claim`` given (and nothing to wait for), the run
        starts ``running``, owned and leased; else it is ``pending``. The thread becomes ``busy``.
        ``reject`` with an active run is refused; ``interrupt`` and ``rollback`` ask the active
        runs to stop, and end those still pending at once (status ``interrupted``, reason
        ``cancelled``; with ``rollback`` the row is deleted). The status the thread had is kept
        behind ``busy``, and comes back if every run goes away without having started.

        Raises, the first that applies:
            NotFoundError: No such thread, or none whose metadata contains what is enforced.
            ThreadStatusError: The thread's status is not in ``thread_status_in``.
            ThreadBusyError: ``reject``, and the thread has an active run.
            AlreadyExistsError: The run id is taken.
            InvalidRequestError: ``after_seconds`` is negative.
        """
        ...

    async def get(
        self,
        run_id: str,
        *,
        thread_id: str | None = None,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Run | None:
        """Read one, or ``None``; with a thread id, only if it is that thread's.

        With enforced metadata, only if its thread's metadata contains it: a run is its thread
        owner's.
        """
        ...

    async def latest_of(
        self, thread_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Run | None:
        """Read a thread's newest run by (created_at, run_id), or ``None``.

        With enforced metadata, only if the thread's metadata contains it.
        """
        ...

    async def search(self, query: RunQuery) -> Listing[Run]:
        """Read a page, newest first, of one thread or of all."""
        ...

    async def count(self, query: RunQuery) -> int:
        """Count all that match, whatever the page."""
        ...

    async def claim(self, claim: Claim, *, limit: int) -> Sequence[Run]:
        """Take up to ``limit`` pending runs that may start now, oldest first.

        Oldest means admitted first, whatever the clocks said. A run may start when its ``start_at``
        has come and no run of its thread is running and no older one is pending. Each taken run
        becomes ``running``, owned, leased, its ``fence`` one higher. Two claimers never take one
        run, nor two runs of one thread.
        """
        ...

    async def extend(
        self, claim: Claim, run_ids: Sequence[str]
    ) -> Mapping[str, CancelAction | None]:
        """Renew the leases of the owner's runs; one that ran out but was not released is renewed.

        Returns:
            For each run that is still the owner's, what somebody asked of it; runs left out are
            the owner's no longer (lease lost, or deleted) and must stop without settling.
        """
        ...

    async def settle(
        self,
        run_id: str,
        *,
        fence: int,
        outcome: Outcome,
        state: ThreadState | None,
        check: Callable[[], None] | None = None,
        deliver: Deliver | None = None,
    ) -> Run | None:
        """Write a run's final status and its thread's state together, in one transaction.

        The thread shows ``busy`` when another run of it is pending, else ``state.status``; with no
        state it keeps its values, head and interrupts, takes the outcome's error, and becomes
        ``error`` when the run failed or timed out, else ``idle``. See ``ThreadRepo.record_state``
        for values that are large.

        ``check`` is called inside the transaction, on whatever thread commits it and perhaps
        twice; where it raises, nothing is written and what it raised is raised here. ``deliver``
        is called there, too: what it returns for the settled run is in the outbox
        (``DeliveryRepo``) if, and only if, the status is written.

        Returns:
            The settled run, or ``None`` when ``fence`` is stale or the run is gone, pending or
            final: then nothing is written.

        Raises:
            InvalidRequestError: The outcome's status is not final.
            AlreadyExistsError: The delivery's id is taken; nothing is written.
        """
        ...

    async def request_cancel(
        self,
        run_id: str,
        action: CancelAction,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Run | None:
        """Ask a run to stop; a rollback once asked for stays one.

        A pending one is final at once (``interrupted``, reason ``cancelled``; deleted with
        ``rollback``) and its thread freed when nothing else is active; a running one carries
        ``cancel`` for its owner; a final one stays as it is.

        Returns:
            The run as it now is (as it was, when deleted), or ``None`` for an unknown one: with
            enforced metadata also for one whose thread's metadata does not contain it.
        """
        ...

    async def release_expired(self, *, deliver: Deliver | None = None) -> Sequence[Run]:
        """Settle every run whose lease ran out, and free its thread, in one transaction.

        Each becomes ``error`` with reason ``server_restarted``, its thread as ``settle`` without a
        state has it; runs with a live lease are never touched. ``deliver`` as in ``settle``,
        but a delivery whose id is taken is left out.

        Returns:
            The runs settled.
        """
        ...

    async def next_start(self) -> float | None:
        """Return the seconds until the earliest pending run may start, 0 if one may now.

        ``None`` when none is pending but those that wait for another run of their thread.
        """
        ...

    async def delete(
        self, run_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """Delete a run, whatever its status; false when there is none.

        Its idempotency records and deliveries go with it, in one transaction. A thread with
        nothing else active is freed: it shows what its last state left. With enforced metadata,
        only one whose thread's metadata contains it.
        """
        ...
