"""Threads in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from threadkeep.drivers.memory.tables import Tables, copy_row, listing_of_copies, sorted_rows
from threadkeep.errors import AlreadyExistsError
from threadkeep.model.deliveries import Delivery
from threadkeep.model.idempotency import IdempotencyRecord
from threadkeep.model.queries import Listing, ThreadQuery
from threadkeep.model.runs import Run
from threadkeep.model.threads import NewThread, Thread, ThreadState
from threadkeep.model.unset import UNSET, Unset
from threadkeep.rules.containment import contains
from threadkeep.rules.expiry import is_live
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    plain_change,
    plain_enforced,
    plain_state,
    plain_thread,
    plain_thread_query,
)
from threadkeep.rules.json_text import normal_object
from threadkeep.rules.run_states import is_active
from threadkeep.rules.thread_changes import copied, created, patched, with_state, without


class MemoryThreadRepo:
    """Satisfies ``ThreadRepo``."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def create(self, new: NewThread) -> Thread:
        """See ``ThreadRepo.create``."""
        plain = plain_thread(new)
        with self._tables.lock:
            row = created(plain, self._tables.now())
            if row.thread_id in self._tables.threads:
                raise AlreadyExistsError("thread", row.thread_id)
            return self._put(row)

    async def get(
        self, thread_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Thread | None:
        """See ``ThreadRepo.get``."""
        check_identifier("thread_id", thread_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            row = self._tables.threads.get(thread_id)
            if row is None or not contains(row.metadata, enforced):
                return None
            return self._tables.shown(row)

    async def search(self, query: ThreadQuery) -> Listing[Thread]:
        """See ``ThreadRepo.search``."""
        plain = plain_thread_query(query)
        page = self._tables.page(query.limit, query.offset)
        with self._tables.lock:
            found = sorted_rows(
                self._found(plain),
                sort_by=plain.sort_by,
                id_field="thread_id",
                sort_order=plain.sort_order,
            )
            return listing_of_copies([without(row, plain.select) for row in found], page)

    async def count(self, query: ThreadQuery) -> int:
        """See ``ThreadRepo.count``."""
        plain = plain_thread_query(query)
        with self._tables.lock:
            return len(self._found(plain))

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
        with self._tables.lock:
            source = self._tables.thread(thread_id, enforced)
            row = copied(source, new, self._tables.now())
            if copy_id in self._tables.threads:
                raise AlreadyExistsError("thread", copy_id)
            return self._put(copy_row(row))

    async def list_expired(self, *, limit: int | None = None) -> Sequence[str]:
        """See ``ThreadRepo.list_expired``."""
        page = self._tables.page(limit, 0)
        with self._tables.lock:
            now = self._tables.now()
            ends = [
                (row.expires_at, row.thread_id)
                for row in self._tables.threads.values()
                if row.expires_at is not None and not is_live(row.expires_at, now)
            ]
            return [thread_id for _, thread_id in sorted(ends)[: page.limit]]

    async def update(
        self,
        thread_id: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        ttl_minutes: float | Unset | None = UNSET,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Thread:
        """See ``ThreadRepo.update``."""
        check_identifier("thread_id", thread_id)
        given = normal_object(metadata or {}, "metadata")
        lifetime = plain_change(ttl_minutes)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            row = self._tables.thread(thread_id, enforced)
            return self._put(patched(row, given, lifetime, self._tables.now()))

    async def record_state(self, thread_id: str, state: ThreadState) -> Thread:
        """See ``ThreadRepo.record_state``."""
        check_identifier("thread_id", thread_id)
        plain = plain_state(state)
        with self._tables.lock:
            row = self._tables.thread(thread_id)
            return self._put(with_state(row, plain, self._tables.now()))

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

        def is_gone(row: Delivery | IdempotencyRecord) -> bool:
            kept = keep_undelivered and row.status in {"pending", "delivering"}
            return not kept and (row.thread_id == thread_id or is_answer_of_run(row))

        def is_answer_of_run(row: Delivery | IdempotencyRecord) -> bool:
            return isinstance(row, IdempotencyRecord) and row.run_id in run_ids

        with self._tables.lock:
            row = self._tables.threads.get(thread_id)
            if enforced and (row is None or not contains(row.metadata, enforced)):
                return []
            runs = self._tables.runs
            gone = runs.of_thread(thread_id)
            run_ids = {run.run_id for run in gone}
            for run in gone:
                runs.drop(run)
            self._tables.threads.pop(thread_id, None)
            for cron in [*self._tables.crons.values()]:
                if cron.thread_id == thread_id:
                    self._tables.drop_cron(cron.cron_id)
            self._tables.drop_answers(is_gone)
            return [copy_row(run) for run in gone if is_active(run.status)]

    def _found(self, query: ThreadQuery) -> list[Thread]:
        rows = self._tables.threads.values()
        shown = (replace(row, status=self._tables.shown_status(row)) for row in rows)
        return [row for row in shown if _matches(row, query)]

    def _put(self, row: Thread) -> Thread:
        self._tables.threads[row.thread_id] = row
        return self._tables.shown(row)


def _matches(row: Thread, query: ThreadQuery) -> bool:
    return (
        query.status in (None, row.status)
        and (query.ids is None or row.thread_id in query.ids)
        and contains(row.metadata, query.metadata)
        and contains(row.metadata, query.enforced_metadata)
        and _has_values(row, query.values)
    )


def _has_values(row: Thread, wanted: Mapping[str, Any]) -> bool:
    return not wanted or (row.values is not None and contains(row.values, wanted))
