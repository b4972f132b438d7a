"""Crons in memory."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from threadkeep.drivers.memory.run_admission import admit
from threadkeep.drivers.memory.tables import Tables, copy_row, listing_of_copies, sorted_rows
from threadkeep.errors import AlreadyExistsError, ConflictError, NotFoundError
from threadkeep.model.crons import Cron, CronFiring, CronPatch, NewCron
from threadkeep.model.queries import CronQuery, Listing
from threadkeep.model.runs import NewRun
from threadkeep.model.threads import NewThread, Thread
from threadkeep.rules.containment import contains
from threadkeep.rules.cron_changes import changed, may_fire, moved_on, planned
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    plain_cron,
    plain_cron_patch,
    plain_cron_query,
    plain_enforced,
    plain_moment,
    plain_run,
    plain_thread,
)
from threadkeep.rules.json_text import copy_json
from threadkeep.rules.run_changes import admitted
from threadkeep.rules.thread_changes import created


class MemoryCronRepo:
    """Satisfies ``CronRepo``."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def create(self, new: NewCron) -> Cron:
        """See ``CronRepo.create``."""
        plain = plain_cron(new)
        with self._tables.lock:
            if plain.thread_id is not None:
                self._tables.thread(plain.thread_id)
            if plain.cron_id in self._tables.crons:
                raise AlreadyExistsError("cron", plain.cron_id)
            self._tables.principals[plain.cron_id] = plain.principal
            return self._put(planned(plain, self._tables.now()))

    async def get(
        self, cron_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Cron | None:
        """See ``CronRepo.get``."""
        check_identifier("cron_id", cron_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            cron = self._tables.crons.get(cron_id)
            return copy_row(cron) if cron and contains(cron.metadata, enforced) else None

    async def principal_of(self, cron_id: str) -> Mapping[str, Any] | None:
        """See ``CronRepo.principal_of``."""
        check_identifier("cron_id", cron_id)
        with self._tables.lock:
            found: Mapping[str, Any] | None = copy_json(self._tables.principals.get(cron_id))
            return found

    async def search(self, query: CronQuery) -> Listing[Cron]:
        """See ``CronRepo.search``."""
        plain = plain_cron_query(query)
        page = self._tables.page(query.limit, query.offset)
        with self._tables.lock:
            found = self._found(plain)
            dated = [row for row in found if getattr(row, plain.sort_by) is not None]
            others = [row for row in found if getattr(row, plain.sort_by) is None]
            ordered = [*_sorted(dated, plain), *_sorted(others, plain, by_id=True)]
            return listing_of_copies(ordered, page)

    async def count(self, query: CronQuery) -> int:
        """See ``CronRepo.count``."""
        plain = plain_cron_query(query)
        with self._tables.lock:
            return len(self._found(plain))

    async def update(
        self,
        cron_id: str,
        patch: CronPatch,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Cron:
        """See ``CronRepo.update``."""
        check_identifier("cron_id", cron_id)
        plain = plain_cron_patch(patch)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            cron = self._tables.crons.get(cron_id)
            if cron is None or not contains(cron.metadata, enforced):
                raise NotFoundError("cron", cron_id)
            return self._put(changed(cron, plain, self._tables.now()))

    async def delete(
        self, cron_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """See ``CronRepo.delete``."""
        check_identifier("cron_id", cron_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            cron = self._tables.crons.get(cron_id)
            if cron is None or not contains(cron.metadata, enforced):
                return False
            return self._tables.drop_cron(cron_id)

    async def list_due(self, *, limit: int | None = None) -> Sequence[Cron]:
        """See ``CronRepo.list_due``."""
        page = self._tables.page(limit, 0)
        with self._tables.lock:
            return [copy_row(cron) for cron in self._due()[: page.limit]]

    async def fire(
        self,
        cron_id: str,
        *,
        token: int,
        next_run_date: datetime | None,
        new: NewRun | None,
        thread: NewThread | None = None,
    ) -> CronFiring | None:
        """See ``CronRepo.fire``."""
        check_identifier("cron_id", cron_id)
        at = None if next_run_date is None else plain_moment("next_run_date", next_run_date)
        run = None if new is None else plain_run(new)
        made = None if thread is None else plain_thread(thread)
        with self._tables.lock:
            cron = self._tables.crons.get(cron_id)
            if cron is None or not may_fire(cron, token):
                return None
            now = self._tables.now()
            fresh = None if made is None else created(made, now)
            if run is not None:
                admitted(run, now)  # what it refuses is no refusal of the thread's
            fired = self._put(moved_on(cron, at, now))
            try:
                return self._fired(fired, run, fresh)
            except (ConflictError, NotFoundError) as refusal:
                return CronFiring(fired, refusal=refusal)

    async def overdue_seconds(self) -> float | None:
        """See ``CronRepo.overdue_seconds``."""
        with self._tables.lock:
            dates = [cron.next_run_date for cron in self._due() if cron.next_run_date]
            return (self._tables.now() - dates[0]).total_seconds() if dates else None

    def _fired(self, cron: Cron, run: NewRun | None, fresh: Thread | None) -> CronFiring:
        if fresh is not None:
            if fresh.thread_id in self._tables.threads:
                raise AlreadyExistsError("thread", fresh.thread_id)
            self._tables.threads[fresh.thread_id] = fresh
        if run is None:
            return CronFiring(cron)
        return CronFiring(cron, admit(self._tables, run, claim=None))

    def _found(self, query: CronQuery) -> list[Cron]:
        return [row for row in self._tables.crons.values() if _matches(row, query)]

    def _due(self) -> list[Cron]:
        now = self._tables.now()
        due = [
            cron
            for cron in self._tables.crons.values()
            if cron.enabled and cron.next_run_date is not None and cron.next_run_date <= now
        ]
        return sorted(due, key=lambda cron: (cron.next_run_date, cron.cron_id))

    def _put(self, cron: Cron) -> Cron:
        self._tables.crons[cron.cron_id] = cron
        return copy_row(cron)


def _sorted(rows: list[Cron], query: CronQuery, *, by_id: bool = False) -> list[Cron]:
    return sorted_rows(
        rows,
        sort_by="cron_id" if by_id else query.sort_by,
        id_field="cron_id",
        sort_order=query.sort_order,
    )


def _matches(row: Cron, query: CronQuery) -> bool:
    return (
        query.assistant_id in (None, row.assistant_id)
        and query.thread_id in (None, row.thread_id)
        and query.enabled in (None, row.enabled)
        and contains(row.metadata, query.metadata)
        and contains(row.metadata, query.enforced_metadata)
    )
