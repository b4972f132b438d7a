"""Deliveries in memory."""

from collections.abc import Sequence
from datetime import datetime

from threadkeep.drivers.memory.tables import Tables, copy_row, listing_of_copies
from threadkeep.errors import AlreadyExistsError
from threadkeep.model.deliveries import Attempt, Delivery, NewDelivery
from threadkeep.model.queries import DeliveryQuery, Listing
from threadkeep.model.runs import Run
from threadkeep.rules.delivery_changes import attempted, begun, claimed, is_due, replayed
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    check_seconds,
    plain_attempt,
    plain_delivery,
    plain_delivery_query,
)


def add_delivery(tables: Tables, new: NewDelivery, run: Run | None) -> Delivery:
    """Insert a delivery; hold the tables' lock.

    Raises:
        AlreadyExistsError: The id is taken.
    """
    if new.delivery_id in tables.deliveries:
        raise AlreadyExistsError("delivery", new.delivery_id)
    delivery = begun(new, run, tables.now())
    tables.deliveries[delivery.delivery_id] = delivery
    return copy_row(delivery)


class MemoryDeliveryRepo:
    """Satisfies ``DeliveryRepo``."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def add(self, new: NewDelivery) -> Delivery:
        """See ``DeliveryRepo.add``."""
        plain = plain_delivery(new)
        with self._tables.lock:
            return add_delivery(self._tables, plain, self._tables.runs.rows.get(plain.run_id))

    async def get(self, delivery_id: str) -> Delivery | None:
        """See ``DeliveryRepo.get``."""
        check_identifier("delivery_id", delivery_id)
        with self._tables.lock:
            row = self._tables.deliveries.get(delivery_id)
            return None if row is None else copy_row(row)

    async def search(self, query: DeliveryQuery) -> Listing[Delivery]:
        """See ``DeliveryRepo.search``."""
        plain = plain_delivery_query(query)
        page = self._tables.page(query.limit, query.offset)
        with self._tables.lock:
            found = [row for row in self._tables.deliveries.values() if _matches(row, plain)]
            found.sort(key=lambda row: (row.created_at, row.delivery_id), reverse=True)
            return listing_of_copies(found, page)

    async def list_due(self, *, limit: int | None = None) -> Sequence[Delivery]:
        """See ``DeliveryRepo.list_due``."""
        page = self._tables.page(limit, 0)
        with self._tables.lock:
            return [copy_row(row) for row in self._due(self._tables.now())[: page.limit]]

    async def claim(self, *, lease_seconds: float, limit: int) -> Sequence[Delivery]:
        """See ``DeliveryRepo.claim``."""
        check_seconds("a delivery's lease", lease_seconds)
        page = self._tables.page(limit, 0)
        with self._tables.lock:
            now = self._tables.now()
            return [
                self._put(claimed(row, lease_seconds, now)) for row in self._due(now)[: page.limit]
            ]

    async def record_attempt(self, delivery_id: str, attempt: Attempt) -> Delivery | None:
        """See ``DeliveryRepo.record_attempt``."""
        check_identifier("delivery_id", delivery_id)
        plain = plain_attempt(attempt)
        with self._tables.lock:
            row = self._tables.deliveries.get(delivery_id)
            return None if row is None else self._put(attempted(row, plain, self._tables.now()))

    async def replay(self, delivery_id: str) -> Delivery | None:
        """See ``DeliveryRepo.replay``."""
        check_identifier("delivery_id", delivery_id)
        with self._tables.lock:
            row = self._tables.deliveries.get(delivery_id)
            again = None if row is None else replayed(row, self._tables.now())
            return None if again is None else self._put(again)

    async def sweep(self, *, limit: int) -> int:
        """See ``DeliveryRepo.sweep``."""
        with self._tables.lock:
            now = self._tables.now()
            ends = [
                (row.expires_at, row.delivery_id)
                for row in self._tables.deliveries.values()
                if row.expires_at is not None and row.expires_at <= now
            ]
            swept = sorted(ends)[: max(limit, 0)]
            for _, delivery_id in swept:
                del self._tables.deliveries[delivery_id]
            return len(swept)

    def _due(self, now: datetime) -> list[Delivery]:
        due = [row for row in self._tables.deliveries.values() if is_due(row, now)]
        return sorted(due, key=lambda row: (row.next_attempt_at, row.delivery_id))

    def _put(self, row: Delivery) -> Delivery:
        self._tables.deliveries[row.delivery_id] = row
        return copy_row(row)


def _matches(row: Delivery, query: DeliveryQuery) -> bool:
    return (
        query.run_id in (None, row.run_id)
        and query.thread_id in (None, row.thread_id)
        and query.status in (None, row.status)
    )
