"""The resource store: one repo per protocol resource, all over one backend.

Every list and search is bounded by ``max_page_size``, also without a limit; a larger limit is
clamped, and ``Listing`` says what a page left out. Rows are values: what a caller is given or
gives is never shared with the store. Times come from the store's ``Clock``.

Everywhere: an identifier or name that is empty or holds NUL or a lone surrogate, and a negative
limit or offset, are refused with ``InvalidRequestError``; JSON comes back exactly, and what of it
is refused, with ``ValueNotStorableError``, is said in ``rules.json_text``. What is refused changes
nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from threadkeep.model.assistants import Assistant, AssistantPatch, NewAssistant
from threadkeep.model.items import (
    Item,
    ItemOperation,
    ItemQuery,
    Namespace,
    NamespaceQuery,
)
from threadkeep.model.queries import (
    AssistantQuery,
    Listing,
    RunQuery,
    ThreadQuery,
    VersionQuery,
)
from threadkeep.model.runs import Admission, CancelAction, Claim, NewRun, Outcome, Run
from threadkeep.model.threads import NewThread, Thread, ThreadState, ThreadStatus
from threadkeep.model.unset import UNSET, Unset


class AssistantRepo(Protocol):
    """Assistants and their versions."""

    async def create(self, new: NewAssistant) -> Assistant:
        """Insert version 1 and its snapshot in one transaction.

        Raises:
            AlreadyExistsError: The id is taken; the present row is untouched.
        """
        ...

    async def ensure(self, new: Sequence[NewAssistant]) -> None:
        """Insert those whose id is absent, in one transaction; present ones stay as they are."""
        ...

    async def get(self, assistant_id: str) -> Assistant | None:
        """Read one, or ``None``."""
        ...

    async def search(self, query: AssistantQuery) -> Listing[Assistant]:
        """Read a page, ties broken by id in the same direction."""
        ...

    async def update(self, assistant_id: str, patch: AssistantPatch) -> Assistant:
        """Make a new version, one above the highest there ever was, and make it active.

        Raises:
            NotFoundError: No such assistant.
        """
        ...

    async def list_versions(self, assistant_id: str, query: VersionQuery) -> Listing[Assistant]:
        """Read a page of snapshots, highest version first; none for an unknown assistant."""
        ...

    async def set_latest(self, assistant_id: str, version: int) -> Assistant:
        """Make a snapshot active again; no version is made.

        Raises:
            NotFoundError: No such assistant, or no such version of it.
        """
        ...

    async def delete(self, assistant_id: str) -> bool:
        """Delete an assistant and its snapshots in one transaction; false when there is none."""
        ...


class ThreadRepo(Protocol):
    """Threads."""

    async def create(self, new: NewThread) -> Thread:
        """Insert an idle thread; its lifetime, if any, starts now.

        Raises:
            AlreadyExistsError: The id is taken; the present row is untouched.
            InvalidRequestError: The lifetime is not a positive number of minutes.
        """
        ...

    async def get(self, thread_id: str) -> Thread | None:
        """Read one, or ``None``; an expired one reads until it is swept."""
        ...

    async def search(self, query: ThreadQuery) -> Listing[Thread]:
        """Read a page, ties broken by id in the same direction."""
        ...

    async def update(
        self,
        thread_id: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        ttl_minutes: float | Unset | None = UNSET,
    ) -> Thread:
        """Merge metadata (top-level keys) and set or clear the lifetime, whose clock restarts.

        Raises:
            NotFoundError: No such thread.
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

    async def delete(self, thread_id: str) -> Sequence[Run]:
        """Delete a thread and its runs in one transaction; an unknown one is no error.

        Returns:
            The runs that were active, for their owners to stop.
        """
        ...


class RunRepo(Protocol):
    """Runs. The rows are the queue: who executes a run is its ``owner`` under a lease."""

    async def admit(
        self,
        new: NewRun,
        *,
        claim: Claim | None,
        thread_status_in: Sequence[ThreadStatus] | None = None,
    ) -> Admission:
        """Insert a run where its thread lets it, in one transaction.

        With no active run on the thread and a ``claim`` given (and nothing to wait for), the run
        starts ``running``, owned and leased; else it is ``pending``. The thread becomes ``busy``.
        ``reject`` with an active run is refused; ``interrupt`` and ``rollback`` ask the active
        runs to stop, and end those still pending at once (status ``interrupted``, reason
        ``cancelled``; with ``rollback`` the row is deleted). The status the thread had is kept
        behind ``busy``, and comes back if every run goes away without having started.

        Raises, the first that applies:
            NotFoundError: No such thread.
            ThreadStatusError: The thread's status is not in ``thread_status_in``.
            ThreadBusyError: ``reject``, and the thread has an active run.
            AlreadyExistsError: The run id is taken.
            InvalidRequestError: ``after_seconds`` is negative.
        """
        ...

    async def get(self, run_id: str, *, thread_id: str | None = None) -> Run | None:
        """Read one, or ``None``; with a thread id, only if it is that thread's."""
        ...

    async def search(self, query: RunQuery) -> Listing[Run]:
        """Read a page, newest first."""
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
    ) -> Run | None:
        """Write a run's final status and its thread's state together, in one transaction.

        The thread shows ``busy`` when another run of it is pending, else ``state.status``; with no
        state it keeps its values, head and interrupts, takes the outcome's error, and becomes
        ``error`` when the run failed or timed out, else ``idle``. See ``ThreadRepo.record_state``
        for values that are large.

        ``check`` is called inside the transaction, on whatever thread commits it and perhaps
        twice; where it raises, nothing is written and what it raised is raised here.

        Returns:
            The settled run, or ``None`` when ``fence`` is stale or the run is gone, pending or
            final: then nothing is written.

        Raises:
            InvalidRequestError: The outcome's status is not final.
        """
        ...

    async def request_cancel(self, run_id: str, action: CancelAction) -> Run | None:
        """Ask a run to stop; a rollback once asked for stays one.

        A pending one is final at once (``interrupted``, reason ``cancelled``; deleted with
        ``rollback``) and its thread freed when nothing else is active; a running one carries
        ``cancel`` for its owner; a final one stays as it is.

        Returns:
            The run as it now is (as it was, when deleted), or ``None`` for an unknown one.
        """
        ...

    async def release_expired(self) -> Sequence[Run]:
        """Settle every run whose lease ran out, and free its thread, in one transaction.

        Each becomes ``error`` with reason ``server_restarted``, its thread as ``settle`` without a
        state has it; runs with a live lease are never touched.

        Returns:
            The runs settled.
        """
        ...

    async def next_start(self) -> float | None:
        """Return the seconds until the earliest pending run may start, 0 if one may now.

        ``None`` when none is pending but those that wait for another run of their thread.
        """
        ...

    async def delete(self, run_id: str) -> bool:
        """Delete a run, whatever its status; false when there is none.

        A thread with nothing else active is freed: it shows what its last state left.
        """
        ...


class ItemRepo(Protocol):
    """Long-term memory items. Expired ones read as absent everywhere."""

    async def get(self, namespace: Namespace, key: str, *, refresh: bool = True) -> Item | None:
        """Read one; ``refresh`` restarts its lifetime, if it has one.

        Raises:
            InvalidNamespaceError: See ``put``; here and below, for every address.
        """
        ...

    async def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        ttl_minutes: float | None = None,
    ) -> Item:
        """Insert or replace; ``created_at`` of a live one is kept, its lifetime is replaced.

        Raises:
            InvalidNamespaceError: The address can name no item (``rules.namespaces``): no label,
                an empty or over-long one, a period in one, ``langgraph`` as the root.
            ValueNotStorableError: The value is not JSON, or not an object.
            InvalidRequestError: The lifetime is not a positive number of minutes.
        """
        ...

    async def delete(self, namespace: Namespace, key: str) -> None:
        """Delete one; an unknown one is no error."""
        ...

    async def search(self, query: ItemQuery) -> Listing[Item]:
        """Read a page, latest update first, then by namespace and key, both by code point.

        Raises:
            InvalidFilterError: The filter is no filter.
            InvalidNamespaceError: The prefix is none.
        """
        ...

    async def list_namespaces(self, query: NamespaceQuery) -> Listing[Namespace]:
        """Read a page of distinct namespaces, label by label in code point order.

        Match, then cut to ``max_depth``, then drop repeats, then page.

        Raises:
            InvalidNamespaceError: The prefix or suffix is none.
            InvalidRequestError: ``max_depth`` is below 1.
        """
        ...

    async def apply(self, operations: Sequence[ItemOperation]) -> Sequence[Any]:
        """Do several operations in one transaction, as LangGraph's ``batch`` means them.

        Every read sees the state before the batch; of puts and deletes of one address the last
        wins; results come in the order of the operations: an ``Item`` or ``None`` for a get, a
        sequence of items or namespaces for a search or listing, ``None`` for a put or delete. One
        operation that is refused refuses the batch.

        Raises:
            InvalidRequestError: What the operation's own method raises.
        """
        ...

    async def sweep(self, *, limit: int) -> int:
        """Delete up to ``limit`` expired items, longest expired first; return how many."""
        ...


class ResourceStore(Protocol):
    """Every repo of one backend."""

    @property
    def assistants(self) -> AssistantRepo:
        """Assistants."""
        ...

    @property
    def threads(self) -> ThreadRepo:
        """Threads."""
        ...

    @property
    def runs(self) -> RunRepo:
        """Runs."""
        ...

    @property
    def items(self) -> ItemRepo:
        """Items."""
        ...

    @property
    def max_page_size(self) -> int:
        """The page bound in force."""
        ...

    async def setup(self) -> None:
        """Create or migrate what is missing; idempotent, safe when several processes do it.

        Raises:
            SchemaTooNewError: The store was written by a newer release.
        """
        ...
