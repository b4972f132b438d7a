"""Runs in memory: the rows are the queue here, too."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from threadkeep.drivers.memory.deliveries import add_delivery
from threadkeep.drivers.memory.run_admission import admit, stop
from threadkeep.drivers.memory.tables import Tables, copy_row, listing_of_copies
from threadkeep.errors import AlreadyExistsError
from threadkeep.model.queries import Listing, RunQuery
from threadkeep.model.runs import Admission, CancelAction, Claim, NewRun, Outcome, Run
from threadkeep.model.threads import ThreadState, ThreadStatus
from threadkeep.ports.resources.runs import Deliver
from threadkeep.rules.containment import contains
from threadkeep.rules.expiry import is_live
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    check_claim,
    check_run_ids,
    plain_delivery,
    plain_enforced,
    plain_outcome,
    plain_run,
    plain_run_query,
    plain_state,
)
from threadkeep.rules.run_changes import ended, lease_end, started
from threadkeep.rules.run_states import SERVER_RESTARTED
from threadkeep.rules.thread_changes import settled


class MemoryRunRepo:
    """Satisfies ``RunRepo``."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def admit(
        self,
        new: NewRun,
        *,
        claim: Claim | None,
        thread_status_in: Sequence[ThreadStatus] | None = None,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Admission:
        """See ``RunRepo.admit``."""
        plain = plain_run(new)
        if claim is not None:
            check_claim(claim)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            return admit(
                self._tables,
                plain,
                claim=claim,
                thread_status_in=thread_status_in,
                enforced=enforced,
            )

    async def get(
        self,
        run_id: str,
        *,
        thread_id: str | None = None,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Run | None:
        """See ``RunRepo.get``."""
        check_identifier("run_id", run_id)
        if thread_id is not None:
            check_identifier("thread_id", thread_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            run = self._tables.runs.rows.get(run_id)
            if run is None or thread_id not in (None, run.thread_id):
                return None
            return copy_row(run) if self._is_owned(run, enforced) else None

    async def latest_of(
        self, thread_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Run | None:
        """See ``RunRepo.latest_of``."""
        check_identifier("thread_id", thread_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            runs = self._tables.runs.of_thread(thread_id)
            newest = max(runs, key=lambda run: (run.created_at, run.run_id), default=None)
            if newest is None or not self._is_owned(newest, enforced):
                return None
            return copy_row(newest)

    async def search(self, query: RunQuery) -> Listing[Run]:
        """See ``RunRepo.search``."""
        plain = plain_run_query(query)
        page = self._tables.page(query.limit, query.offset)
        with self._tables.lock:
            found = self._found(plain)
            found.sort(key=lambda run: (run.created_at, run.run_id), reverse=True)
            return listing_of_copies(found, page)

    async def count(self, query: RunQuery) -> int:
        """See ``RunRepo.count``."""
        plain = plain_run_query(query)
        with self._tables.lock:
            return len(self._found(plain))

    async def claim(self, claim: Claim, *, limit: int) -> Sequence[Run]:
        """See ``RunRepo.claim``."""
        check_claim(claim)
        with self._tables.lock:
            now = self._tables.now()
            startable = [run for run in self._tables.runs.heads() if run.start_at <= now]
            taken = [started(run, claim, now) for run in startable[: max(limit, 0)]]
            for run in taken:
                self._tables.runs.put(run)
            return [copy_row(run) for run in taken]

    async def extend(
        self, claim: Claim, run_ids: Sequence[str]
    ) -> Mapping[str, CancelAction | None]:
        """See ``RunRepo.extend``."""
        check_claim(claim)
        check_run_ids(run_ids)
        with self._tables.lock:
            lease = lease_end(claim, self._tables.now())
            found = (self._tables.runs.active.get(run_id) for run_id in run_ids)
            owned = [run for run in found if run is not None and run.owner == claim.owner]
            for run in owned:
                self._tables.runs.put(replace(run, lease_expires_at=lease))
            return {run.run_id: run.cancel for run in owned}

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
        """See ``RunRepo.settle``."""
        check_identifier("run_id", run_id)
        final = plain_outcome(outcome)
        left = None if state is None else plain_state(state)
        with self._tables.lock:
            run = self._tables.runs.active.get(run_id)
            if run is None or run.status != "running" or run.fence != fence:
                return None
            if check is not None:
                check()
            return self._settle(run, final, left, deliver)

    async def request_cancel(
        self,
        run_id: str,
        action: CancelAction,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Run | None:
        """See ``RunRepo.request_cancel``."""
        check_identifier("run_id", run_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            run = self._tables.runs.rows.get(run_id)
            if run is None or not self._is_owned(run, enforced):
                return None
            return copy_row(stop(self._tables, run, action))

    async def release_expired(self, *, deliver: Deliver | None = None) -> Sequence[Run]:
        """See ``RunRepo.release_expired``."""
        with self._tables.lock:
            now = self._tables.now()
            gone = [
                run
                for run in self._tables.runs.active.values()
                if run.status == "running" and not is_live(run.lease_expires_at, now)
            ]
            return [self._release(run, deliver) for run in gone]

    async def next_start(self) -> float | None:
        """See ``RunRepo.next_start``."""
        with self._tables.lock:
            now = self._tables.now()
            waits = [(run.start_at - now).total_seconds() for run in self._tables.runs.heads()]
            return max(0.0, min(waits)) if waits else None

    async def delete(
        self, run_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """See ``RunRepo.delete``."""
        check_identifier("run_id", run_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            run = self._tables.runs.rows.get(run_id)
            if run is None or not self._is_owned(run, enforced):
                return False
            self._tables.forget_run(run)
            return True

    def _found(self, query: RunQuery) -> list[Run]:
        runs = self._tables.runs
        rows = runs.of_thread(query.thread_id) if query.thread_id else runs.rows.values()
        return [
            run
            for run in rows
            if _matches(run, query) and self._is_owned(run, query.enforced_metadata)
        ]

    def _is_owned(self, run: Run, enforced: Mapping[str, Any]) -> bool:
        return contains(self._tables.thread(run.thread_id).metadata, enforced)

    def _release(self, run: Run, deliver: Deliver | None) -> Run:
        try:
            return self._settle(run, SERVER_RESTARTED, None, deliver)
        except AlreadyExistsError:
            return self._settle(run, SERVER_RESTARTED, None, None)

    def _settle(
        self, run: Run, outcome: Outcome, state: ThreadState | None, deliver: Deliver | None
    ) -> Run:
        now = self._tables.now()
        changed = ended(run, outcome, now)
        if deliver is not None and (new := deliver(copy_row(changed))) is not None:
            add_delivery(self._tables, plain_delivery(new), changed)
        thread = self._tables.thread(run.thread_id)
        self._tables.threads[run.thread_id] = settled(thread, outcome, state, now)
        self._tables.runs.put(changed)
        return copy_row(changed)


def _matches(run: Run, query: RunQuery) -> bool:
    return (
        query.thread_id in (None, run.thread_id)
        and query.assistant_id in (None, run.assistant_id)
        and (query.statuses is None or run.status in query.statuses)
        and contains(run.metadata, query.metadata)
    )
