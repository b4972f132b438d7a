"""Runs in a SQL database: the rows are the queue."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from threadkeep.drivers.sql import run_units
from threadkeep.drivers.sql.database import All, Database, One, Work
from threadkeep.drivers.sql.database import Run as Step
from threadkeep.drivers.sql.rows import micros, moment, run_of, runs_of
from threadkeep.drivers.sql.units import is_owned, read_count, read_page, write
from threadkeep.drivers.sql.where import Dialect, runs_where
from threadkeep.errors import ThreadkeepError
from threadkeep.model.queries import Listing, RunQuery
from threadkeep.model.runs import Admission, CancelAction, Claim, NewRun, Outcome, Run
from threadkeep.model.threads import ThreadState, ThreadStatus
from threadkeep.ports.clock import Clock
from threadkeep.ports.resources.runs import Deliver
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    check_claim,
    check_run_ids,
    plain_enforced,
    plain_outcome,
    plain_run,
    plain_run_query,
    plain_state,
)
from threadkeep.rules.json_text import json_text
from threadkeep.rules.paging import MAX_OFFSET, listing_of, page_of
from threadkeep.rules.run_changes import lease_end


class SqlRunRepo:
    """Satisfies ``RunRepo``."""

    def __init__(
        self, database: Database, dialect: Dialect, *, clock: Clock, max_page_size: int
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._clock = clock
        self._max_page_size = max_page_size

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

        def work() -> Work[Admission | ThreadkeepError]:
            return run_units.admit(plain, claim, thread_status_in, enforced, self._clock.now())

        return await write(self._database, work)

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

        def work() -> Work[Run | None]:
            row = yield One("get_run", {"run_id": run_id})
            if row is None or thread_id not in (None, row["thread_id"]):
                return None
            if enforced:
                thread = yield One("get_thread", {"thread_id": row["thread_id"]})
                if not is_owned(thread, enforced):
                    return None
            return run_of(row)

        return await self._database.read(work)

    async def latest_of(
        self, thread_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Run | None:
        """See ``RunRepo.latest_of``."""
        check_identifier("thread_id", thread_id)
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[Run | None]:
            if enforced:
                thread = yield One("get_thread", {"thread_id": thread_id})
                if not is_owned(thread, enforced):
                    return None
            row = yield One("latest_run", {"thread_id": thread_id})
            return run_of(row) if row else None

        return await self._database.read(work)

    async def search(self, query: RunQuery) -> Listing[Run]:
        """See ``RunRepo.search``."""
        where = runs_where(plain_run_query(query), self._dialect)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self._max_page_size)

        def work() -> Work[Listing[Run]]:
            rows, total = yield from read_page("search_runs", "count_runs", where, page)
            return listing_of(runs_of(rows), page=page, total=total)

        return await self._database.read(work)

    async def count(self, query: RunQuery) -> int:
        """See ``RunRepo.count``."""
        where = runs_where(plain_run_query(query), self._dialect)
        return await self._database.read(lambda: read_count("count_runs", where))

    async def claim(self, claim: Claim, *, limit: int) -> Sequence[Run]:
        """See ``RunRepo.claim``."""
        check_claim(claim)

        def work() -> Work[Sequence[Run]]:
            now = self._clock.now()
            bound = {"now": micros(now), "limit": max(0, min(limit, MAX_OFFSET))}
            rows = yield All("startable_runs", bound)
            taken: list[Run] = []
            for run in runs_of(rows):
                started = yield from run_units.start(run, claim, now)
                taken.append(started)
            return taken

        return await self._database.write(work)

    async def extend(
        self, claim: Claim, run_ids: Sequence[str]
    ) -> Mapping[str, CancelAction | None]:
        """See ``RunRepo.extend``."""
        check_claim(claim)
        check_run_ids(run_ids)

        def work() -> Work[Mapping[str, CancelAction | None]]:
            bound = {
                "owner": claim.owner,
                "run_ids": json_text(list(run_ids)),
                "lease_expires_at": micros(lease_end(claim, self._clock.now())),
            }
            rows = yield All("owned_runs", bound)
            yield Step("renew_run_leases", bound)
            return {row["run_id"]: row["cancel"] for row in rows}

        return await self._database.write(work)

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

        def work() -> Work[Run | ThreadkeepError | None]:
            thread, run = yield from run_units.lock_run(run_id)
            if thread is None or run is None or run.status != "running" or run.fence != fence:
                return None
            if check is not None:
                check()
            now = self._clock.now()
            return (yield from run_units.settle(run, thread, final, left, now, deliver))

        return await write(self._database, work)

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

        def work() -> Work[Run | None]:
            return run_units.cancel(run_id, action, enforced, self._clock.now())

        return await self._database.write(work)

    async def release_expired(self, *, deliver: Deliver | None = None) -> Sequence[Run]:
        """See ``RunRepo.release_expired``."""

        def work() -> Work[Sequence[Run]]:
            now = self._clock.now()
            expired = yield All("expired_runs", {"now": micros(now)})
            released: list[Run] = []
            for run in runs_of(expired):
                thread = yield One("lock_thread", {"thread_id": run.thread_id})
                released.append((yield from run_units.release(run, thread, now, deliver)))
            return released

        return await self._database.write(work)

    async def next_start(self) -> float | None:
        """See ``RunRepo.next_start``."""

        def work() -> Work[float | None]:
            row = yield One("next_start")
            if row["start_at"] is None:
                return None
            return max(0.0, (moment(row["start_at"]) - self._clock.now()).total_seconds())

        return await self._database.read(work)

    async def delete(
        self, run_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """See ``RunRepo.delete``."""
        check_identifier("run_id", run_id)
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[bool]:
            thread = yield One("lock_thread_of_run", {"run_id": run_id})
            if not is_owned(thread, enforced):
                return False
            yield Step("remove_run", {"run_id": run_id})
            yield Step("erase_idempotency_of_run", {"run_id": run_id})
            yield Step("erase_deliveries_of_run", {"run_id": run_id})
            yield from run_units.free(thread)
            return True

        return await self._database.write(work)
