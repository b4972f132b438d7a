"""What the memory repos share: one lock, one clock, and the rows.

Rows are frozen dataclasses whose JSON belongs to the tables alone; ``copy_row`` makes the copy a
caller is given. A thread's ``status`` here is its own; ``shown`` adds ``busy``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter
from threading import RLock
from typing import Any, TypeVar

from threadkeep.drivers.memory.item_indexes import ItemIndexes
from threadkeep.errors import NotFoundError
from threadkeep.model.assistants import Assistant
from threadkeep.model.crons import Cron
from threadkeep.model.deliveries import Delivery
from threadkeep.model.idempotency import IdempotencyRecord
from threadkeep.model.items import Item, Namespace
from threadkeep.model.queries import Listing, SortOrder
from threadkeep.model.runs import Run
from threadkeep.model.threads import Thread, ThreadStatus
from threadkeep.ports.clock import Clock
from threadkeep.rules.containment import contains
from threadkeep.rules.json_text import copy_json
from threadkeep.rules.paging import Page, cut, page_of
from threadkeep.rules.run_states import is_active, shown_status

RowT = TypeVar("RowT", Assistant, Thread, Run, Item, Cron, Delivery)


@dataclass(slots=True)
class RunTable:
    """Runs by id and by thread, in the order they were admitted, and which of them are active."""

    rows: dict[str, Run] = field(default_factory=dict)
    active: dict[str, Run] = field(default_factory=dict)
    _of_thread: dict[str, dict[str, Run]] = field(default_factory=dict)
    _active_of_thread: dict[str, dict[str, Run]] = field(default_factory=dict)

    def put(self, run: Run) -> None:
        """Insert or replace one; its place in the order stays."""
        self.rows[run.run_id] = run
        self._of_thread.setdefault(run.thread_id, {})[run.run_id] = run
        if is_active(run.status):
            self.active[run.run_id] = run
            self._active_of_thread.setdefault(run.thread_id, {})[run.run_id] = run
        else:
            self._retire(run)

    def drop(self, run: Run) -> None:
        """Delete one."""
        del self.rows[run.run_id]
        _drop_from(self._of_thread, run)
        self._retire(run)

    def of_thread(self, thread_id: str) -> Sequence[Run]:
        """Return a thread's runs, oldest first."""
        return tuple(self._of_thread.get(thread_id, {}).values())

    def active_of(self, thread_id: str) -> Sequence[Run]:
        """Return a thread's active runs, oldest first."""
        return tuple(self._active_of_thread.get(thread_id, {}).values())

    def is_busy(self, thread_id: str) -> bool:
        """Say whether a thread has an active run."""
        return thread_id in self._active_of_thread

    def heads(self) -> list[Run]:
        """Return each thread's oldest active run where that is pending, oldest first.

        A running run is always its thread's oldest active one: only the oldest may start.
        """
        oldest = {next(iter(waiting)) for waiting in self._active_of_thread.values()}
        active = self.active.values()
        return [run for run in active if run.status == "pending" and run.run_id in oldest]

    def _retire(self, run: Run) -> None:
        self.active.pop(run.run_id, None)
        _drop_from(self._active_of_thread, run)


def _drop_from(threads: dict[str, dict[str, Run]], run: Run) -> None:
    held = threads.get(run.thread_id, {})
    held.pop(run.run_id, None)
    if not held:
        threads.pop(run.thread_id, None)


@dataclass(slots=True)
class Tables:
    """All rows of one memory store; hold ``lock`` around each method of a repo."""

    clock: Clock
    max_page_size: int
    lock: RLock = field(default_factory=RLock)
    assistants: dict[str, Assistant] = field(default_factory=dict)
    versions: dict[str, dict[int, Assistant]] = field(default_factory=dict)
    threads: dict[str, Thread] = field(default_factory=dict)
    runs: RunTable = field(default_factory=RunTable)
    items: dict[tuple[Namespace, str], Item] = field(default_factory=dict)
    crons: dict[str, Cron] = field(default_factory=dict)
    principals: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    records: dict[tuple[str, str], IdempotencyRecord] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    indexes: ItemIndexes = field(default_factory=ItemIndexes)

    def now(self) -> datetime:
        """Return the present moment."""
        return self.clock.now()

    def page(self, limit: int | None, offset: int) -> Page:
        """Return a page within the bound."""
        return page_of(limit=limit, offset=offset, max_page_size=self.max_page_size)

    def thread(self, thread_id: str, enforced: Mapping[str, Any] | None = None) -> Thread:
        """Return a thread's row.

        Raises:
            NotFoundError: There is none, or none whose metadata contains what is enforced.
        """
        thread = self.threads.get(thread_id)
        if thread is None or not contains(thread.metadata, enforced or {}):
            raise NotFoundError("thread", thread_id)
        return thread

    def drop_cron(self, cron_id: str) -> bool:
        """Delete a cron; false when there is none."""
        self.principals.pop(cron_id, None)
        return self.crons.pop(cron_id, None) is not None

    def forget_run(self, run: Run) -> None:
        """Delete a run with what was sent and answered of it."""
        self.runs.drop(run)
        self.drop_answers(lambda row: row.run_id == run.run_id)

    def drop_answers(self, is_gone: Callable[[Delivery | IdempotencyRecord], bool]) -> None:
        """Delete deliveries and idempotency records."""
        for address, record in [*self.records.items()]:
            if is_gone(record):
                del self.records[address]
        for delivery_id, delivery in [*self.deliveries.items()]:
            if is_gone(delivery):
                del self.deliveries[delivery_id]

    def shown(self, thread: Thread) -> Thread:
        """Return a copy of a thread with the status it shows."""
        return replace(copy_row(thread), status=self.shown_status(thread))

    def shown_status(self, thread: Thread) -> ThreadStatus:
        """Return the status a thread shows."""
        return shown_status(thread.status, is_active=self.runs.is_busy(thread.thread_id))


def copy_row(row: RowT) -> RowT:
    """Return a copy that shares no JSON with the row."""
    held = ((each.name, getattr(row, each.name)) for each in fields(row))
    copies: Mapping[str, Any] = {
        name: copy_json(value) for name, value in held if isinstance(value, (dict, list))
    }
    return replace(row, **copies)


def sorted_rows(
    rows: Iterable[RowT], *, sort_by: str, id_field: str, sort_order: SortOrder
) -> list[RowT]:
    """Return rows in order, ties broken by id in the same direction."""
    key = attrgetter(sort_by, id_field)
    return sorted(rows, key=key, reverse=sort_order == "desc")


def listing_of_copies(rows: Sequence[RowT], page: Page) -> Listing[RowT]:
    """Return one page of rows, as copies."""
    listing = cut(rows, page)
    return replace(listing, rows=[copy_row(row) for row in listing.rows])
