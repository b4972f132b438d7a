"""Crons in a SQL database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from threadkeep.drivers.sql import run_units
from threadkeep.drivers.sql.database import All, Database, One, Run, Work
from threadkeep.drivers.sql.rows import (
    Bag,
    Row,
    micros,
    moment,
    optional_micros,
    optional_moment,
    thread_bag,
)
from threadkeep.drivers.sql.units import is_owned, read_count, read_page, write
from threadkeep.drivers.sql.where import Dialect, crons_where
from threadkeep.errors import AlreadyExistsError, NotFoundError, ThreadkeepError
from threadkeep.model.crons import Cron, CronFiring, CronPatch, NewCron
from threadkeep.model.queries import CronQuery, Listing
from threadkeep.model.runs import NewRun
from threadkeep.model.threads import NewThread
from threadkeep.ports.clock import Clock
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
from threadkeep.rules.json_text import decode_json, json_text
from threadkeep.rules.paging import listing_of, page_of
from threadkeep.rules.thread_changes import created


class SqlCronRepo:
    """Satisfies ``CronRepo``."""

    def __init__(
        self, database: Database, dialect: Dialect, *, clock: Clock, max_page_size: int
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._clock = clock
        self._max_page_size = max_page_size

    async def create(self, new: NewCron) -> Cron:
        """See ``CronRepo.create``."""
        plain = plain_cron(new)

        def work() -> Work[Cron | ThreadkeepError]:
            if plain.thread_id is not None:
                thread = yield One("lock_thread", {"thread_id": plain.thread_id})
                if thread is None:
                    return NotFoundError("thread", plain.thread_id)
            cron = planned(plain, self._clock.now())
            added = yield Run("add_cron", cron_bag(cron) | _principal_bag(plain))
            return cron if added else AlreadyExistsError("cron", cron.cron_id)

        return await write(self._database, work)

    async def get(
        self, cron_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Cron | None:
        """See ``CronRepo.get``."""
        check_identifier("cron_id", cron_id)
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[Cron | None]:
            row = yield One("get_cron", {"cron_id": cron_id})
            cron = cron_of(row) if row else None
            return cron if cron and contains(cron.metadata, enforced) else None

        return await self._database.read(work)

    async def principal_of(self, cron_id: str) -> Mapping[str, Any] | None:
        """See ``CronRepo.principal_of``."""
        check_identifier("cron_id", cron_id)

        def work() -> Work[Mapping[str, Any] | None]:
            row = yield One("get_cron", {"cron_id": cron_id})
            if row is None or row["principal"] is None:
                return None
            principal: Mapping[str, Any] = decode_json(row["principal"])
            return principal

        return await self._database.read(work)

    async def search(self, query: CronQuery) -> Listing[Cron]:
        """See ``CronRepo.search``."""
        where = crons_where(plain_cron_query(query), self._dialect)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self._max_page_size)

        def work() -> Work[Listing[Cron]]:
            rows, total = yield from read_page("search_crons", "count_crons", where, page)
            return listing_of([cron_of(row) for row in rows], page=page, total=total)

        return await self._database.read(work)

    async def count(self, query: CronQuery) -> int:
        """See ``CronRepo.count``."""
        where = crons_where(plain_cron_query(query), self._dialect)
        return await self._database.read(lambda: read_count("count_crons", where))

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

        def work() -> Work[Cron | ThreadkeepError]:
            row = yield One("lock_cron", {"cron_id": cron_id})
            if not is_owned(row, enforced):
                return NotFoundError("cron", cron_id)
            cron = changed(cron_of(row), plain, self._clock.now())
            yield Run("change_cron", cron_bag(cron))
            return cron

        return await write(self._database, work)

    async def delete(
        self, cron_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """See ``CronRepo.delete``."""
        check_identifier("cron_id", cron_id)
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[bool]:
            row = yield One("lock_cron", {"cron_id": cron_id})
            if not is_owned(row, enforced):
                return False
            removed = yield Run("remove_cron", {"cron_id": cron_id})
            return bool(removed)

        return await self._database.write(work)

    async def list_due(self, *, limit: int | None = None) -> Sequence[Cron]:
        """See ``CronRepo.list_due``."""
        page = page_of(limit=limit, offset=0, max_page_size=self._max_page_size)

        def work() -> Work[Sequence[Cron]]:
            bound = {"now": micros(self._clock.now()), "limit": page.limit}
            rows = yield All("due_crons", bound)
            return [cron_of(row) for row in rows]

        return await self._database.read(work)

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

        def work() -> Work[CronFiring | None]:
            now = self._clock.now()
            if run is not None:
                # A thread is locked before its crons, as its deletion does.
                yield One("lock_thread", {"thread_id": run.thread_id})
            row = yield One("get_cron", {"cron_id": cron_id})
            if row is None or not may_fire(cron_of(row), token):
                return None
            cron = moved_on(cron_of(row), at, now)
            won = yield Run("move_cron", cron_bag(cron) | {"token": token})
            if not won:
                return None
            return (yield from _fired(cron, run, made, now))

        return await self._database.write(work)

    async def overdue_seconds(self) -> float | None:
        """See ``CronRepo.overdue_seconds``."""

        def work() -> Work[float | None]:
            now = self._clock.now()
            row = yield One("first_due_cron", {"now": micros(now)})
            if row["next_run_date"] is None:
                return None
            return (now - moment(row["next_run_date"])).total_seconds()

        return await self._database.read(work)


def _fired(
    cron: Cron, run: NewRun | None, thread: NewThread | None, now: datetime
) -> Work[CronFiring]:
    if thread is not None:
        fresh = created(thread, now)
        added = yield Run("add_thread_row", thread_bag(fresh, shown=fresh.status))
        if not added:
            return CronFiring(cron, refusal=AlreadyExistsError("thread", thread.thread_id))
    if run is None:
        return CronFiring(cron)
    admission = yield from run_units.admit(run, None, None, {}, now)
    if isinstance(admission, ThreadkeepError):
        return CronFiring(cron, refusal=admission)
    return CronFiring(cron, admission)


def _principal_bag(new: NewCron) -> Bag:
    return {"principal": None if new.principal is None else json_text(new.principal)}


def cron_bag(cron: Cron) -> Bag:
    """Return the columns of a cron, but for its principal."""
    return {
        "cron_id": cron.cron_id,
        "assistant_id": cron.assistant_id,
        "thread_id": cron.thread_id,
        "schedule": cron.schedule,
        "timezone": cron.timezone,
        "end_time": optional_micros(cron.end_time),
        "next_run_date": optional_micros(cron.next_run_date),
        "enabled": cron.enabled,
        "on_run_completed": cron.on_run_completed,
        "payload": json_text(cron.payload),
        "metadata": json_text(cron.metadata),
        "user_id": cron.user_id,
        "created_at": micros(cron.created_at),
        "updated_at": micros(cron.updated_at),
        "token": cron.token,
    }


def cron_of(row: Row) -> Cron:
    """Return the cron that a row holds."""
    return Cron(
        cron_id=row["cron_id"],
        assistant_id=row["assistant_id"],
        thread_id=row["thread_id"],
        schedule=row["schedule"],
        timezone=row["timezone"],
        end_time=optional_moment(row["end_time"]),
        next_run_date=optional_moment(row["next_run_date"]),
        enabled=bool(row["enabled"]),
        on_run_completed=row["on_run_completed"],
        payload=decode_json(row["payload"]),
        metadata=decode_json(row["metadata"]),
        user_id=row["user_id"],
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        token=row["token"],
    )
