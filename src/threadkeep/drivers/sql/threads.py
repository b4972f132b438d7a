"""Threads in a SQL database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from threadkeep.drivers.sql import run_units
from threadkeep.drivers.sql.database import All, Database, One, Work
from threadkeep.drivers.sql.database import Run as Step
from threadkeep.drivers.sql.rows import micros, runs_of, thread_bag, thread_of
from threadkeep.drivers.sql.units import is_owned, read_count, read_page, write
from threadkeep.drivers.sql.where import Dialect, threads_where
from threadkeep.errors import AlreadyExistsError, NotFoundError, ThreadkeepError
from threadkeep.model.queries import Listing, ThreadField, ThreadQuery
from threadkeep.model.runs import Run
from threadkeep.model.threads import NewThread, Thread, ThreadState
from threadkeep.model.unset import UNSET, Unset
from threadkeep.ports.clock import Clock
from threadkeep.rules.containment import contains
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    plain_change,
    plain_enforced,
    plain_state,
    plain_thread,
    plain_thread_query,
)
from threadkeep.rules.json_text import normal_object
from threadkeep.rules.paging import listing_of, page_of
from threadkeep.rules.thread_changes import copied, created, patched, with_state


class SqlThreadRepo:
    """Satisfies ``ThreadRepo``."""

    def __init__(
        self, database: Database, dialect: Dialect, *, clock: Clock, max_page_size: int
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._clock = clock
        self._max_page_size = max_page_size

    async def create(self, new: NewThread) -> Thread:
        """See ``ThreadRepo.create``."""
        plain = plain_thread(new)

        def work() -> Work[Thread | AlreadyExistsError]:
            row = created(plain, self._clock.now())
            added = yield Step("add_thread_row", thread_bag(row, shown=row.status))
            return row if added else AlreadyExistsError("thread", row.thread_id)

        return await write(self._database, work)

    async def get(
        self, thread_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Thread | None:
        """See ``ThreadRepo.get``."""
        check_identifier("thread_id", thread_id)
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[Thread | None]:
            row = yield One("get_thread", {"thread_id": thread_id})
            thread = thread_of(row) if row else None
            return thread if thread and contains(thread.metadata, enforced) else None

        return await self._database.read(work)

    async def search(self, query: ThreadQuery) -> Listing[Thread]:
        """See ``ThreadRepo.search``."""
        where = threads_where(plain_thread_query(query), self._dialect)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self._max_page_size)
        selected = {
            f"select_{name}": query.select is None or name in query.select
            for name in get_args(ThreadField)
        }

        def work() -> Work[Listing[Thread]]:
            rows, total = yield from read_page(
                "search_threads", "count_threads", where, page, selected
            )
            return listing_of([thread_of(row) for row in rows], page=page, total=total)

        return await self._database.read(work)

    async def count(self, query: ThreadQuery) -> int:
        """See ``ThreadRepo.count``."""
        where = threads_where(plain_thread_query(query), self._dialect)
        return await self._database.read(lambda: read_count("count_threads", where))

    async def copy(
        self,
        thread_id: str,
        *,
        copy_id: str,
        ttl_minutes: float | None = None,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Thread:
        """See ``ThreadRepo.copy``."""
        check_identifier("thread_id", thread_id)
        new = plain_thread(NewThread(copy_id, {}, ttl_minutes))
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[Thread | ThreadkeepError]:
            row = yield One("lock_thread", {"thread_id": thread_id})
            if not is_owned(row, enforced):
                return NotFoundError("thread", thread_id)
            copy = copied(thread_of(row, status_column="left_status"), new, self._clock.now())
            added = yield Step("add_thread_row", thread_bag(copy, shown=copy.status))
            return copy if added else AlreadyExistsError("thread", copy_id)

        return await write(self._database, work)

    async def list_expired(self, *, limit: int | None = None) -> Sequence[str]:
        """See ``ThreadRepo.list_expired``."""
        page = page_of(limit=limit, offset=0, max_page_size=self._max_page_size)

        def work() -> Work[Sequence[str]]:
            bound = {"now": micros(self._clock.now()), "limit": page.limit}
            rows = yield All("expired_threads", bound)
            return [row["thread_id"] for row in rows]

        return await self._database.read(work)

    async def update(
        self,
        thread_id: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        ttl_minutes: float | Unset | None = UNSET,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Thread:
        """See ``ThreadRepo.update``."""
        given = normal_object(metadata or {}, "metadata")
        lifetime = plain_change(ttl_minutes)

        def change(thread: Thread) -> Thread:
            return patched(thread, given, lifetime, self._clock.now())

        return await self._change(thread_id, change, plain_enforced(enforced_metadata))

    async def record_state(self, thread_id: str, state: ThreadState) -> Thread:
        """See ``ThreadRepo.record_state``."""
        plain = plain_state(state)

        def change(thread: Thread) -> Thread:
            return with_state(thread, plain, self._clock.now())

        return await self._change(thread_id, change, {})

    async def delete(
        self,
        thread_id: str,
        *,
        keep_undelivered: bool = False,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Sequence[Run]:
        """See ``ThreadRepo.delete``."""
        check_identifier("thread_id", thread_id)
        enforced = plain_enforced(enforced_metadata)
        key = {"thread_id": thread_id}

        def work() -> Work[Sequence[Run]]:
            row = yield One("lock_thread", key)
            if enforced and not is_owned(row, enforced):
                return []
            active = yield All("active_runs", key)
            yield Step("erase_idempotency_of_runs_of_thread", key)
            yield Step("remove_thread_row", key)
            yield Step("erase_idempotency_of_thread", key)
            if keep_undelivered:
                yield Step("erase_settled_deliveries_of_thread", key)
            else:
                yield Step("erase_deliveries_of_thread", key)
            return runs_of(active)

        return await self._database.write(work)

    async def _change(
        self,
        thread_id: str,
        change: Callable[[Thread], Thread],
        enforced: Mapping[str, Any],
    ) -> Thread:
        check_identifier("thread_id", thread_id)

        def work() -> Work[Thread | NotFoundError]:
            row = yield One("lock_thread", {"thread_id": thread_id})
            if not is_owned(row, enforced):
                return NotFoundError("thread", thread_id)
            changed = change(thread_of(row, status_column="left_status"))
            shown = yield from run_units.shown_by(changed)
            yield Step("change_thread", thread_bag(changed, shown=shown))
            return replace(changed, status=shown)

        return await write(self._database, work)
