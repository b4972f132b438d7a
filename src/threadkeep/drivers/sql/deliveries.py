"""Deliveries in a SQL database."""

from collections.abc import Sequence

from threadkeep.drivers.sql.database import All, Database, One, Run, Work
from threadkeep.drivers.sql.delivery_units import add, delivery_bag, delivery_of
from threadkeep.drivers.sql.rows import micros, run_of
from threadkeep.drivers.sql.units import read_page, write
from threadkeep.drivers.sql.where import Dialect, deliveries_where
from threadkeep.errors import ThreadkeepError
from threadkeep.model.deliveries import Attempt, Delivery, NewDelivery
from threadkeep.model.queries import DeliveryQuery, Listing
from threadkeep.ports.clock import Clock
from threadkeep.rules.delivery_changes import attempted, claimed, replayed
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    check_seconds,
    plain_attempt,
    plain_delivery,
    plain_delivery_query,
)
from threadkeep.rules.paging import MAX_OFFSET, listing_of, page_of


class SqlDeliveryRepo:
    """Satisfies ``DeliveryRepo``."""

    def __init__(
        self, database: Database, dialect: Dialect, *, clock: Clock, max_page_size: int
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._clock = clock
        self._max_page_size = max_page_size

    async def add(self, new: NewDelivery) -> Delivery:
        """See ``DeliveryRepo.add``."""
        plain = plain_delivery(new)

        def work() -> Work[Delivery | ThreadkeepError]:
            row = yield One("get_run", {"run_id": plain.run_id})
            return (yield from add(plain, run_of(row) if row else None, self._clock.now()))

        return await write(self._database, work)

    async def get(self, delivery_id: str) -> Delivery | None:
        """See ``DeliveryRepo.get``."""
        check_identifier("delivery_id", delivery_id)

        def work() -> Work[Delivery | None]:
            row = yield One("get_delivery", {"delivery_id": delivery_id})
            return delivery_of(row) if row else None

        return await self._database.read(work)

    async def search(self, query: DeliveryQuery) -> Listing[Delivery]:
        """See ``DeliveryRepo.search``."""
        where = deliveries_where(plain_delivery_query(query), self._dialect)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self._max_page_size)

        def work() -> Work[Listing[Delivery]]:
            rows, total = yield from read_page("search_deliveries", "count_deliveries", where, page)
            return listing_of([delivery_of(row) for row in rows], page=page, total=total)

        return await self._database.read(work)

    async def list_due(self, *, limit: int | None = None) -> Sequence[Delivery]:
        """See ``DeliveryRepo.list_due``."""
        page = page_of(limit=limit, offset=0, max_page_size=self._max_page_size)

        def work() -> Work[Sequence[Delivery]]:
            bound = {"now": micros(self._clock.now()), "limit": page.limit}
            rows = yield All("due_deliveries", bound)
            return [delivery_of(row) for row in rows]

        return await self._database.read(work)

    async def claim(self, *, lease_seconds: float, limit: int) -> Sequence[Delivery]:
        """See ``DeliveryRepo.claim``."""
        check_seconds("a delivery's lease", lease_seconds)
        page = page_of(limit=limit, offset=0, max_page_size=self._max_page_size)

        def work() -> Work[Sequence[Delivery]]:
            now = self._clock.now()
            rows = yield All("lock_due_deliveries", {"now": micros(now), "limit": page.limit})
            taken = [claimed(delivery_of(row), lease_seconds, now) for row in rows]
            for delivery in taken:
                yield Run("change_delivery", delivery_bag(delivery))
            return taken

        return await self._database.write(work)

    async def record_attempt(self, delivery_id: str, attempt: Attempt) -> Delivery | None:
        """See ``DeliveryRepo.record_attempt``."""
        check_identifier("delivery_id", delivery_id)
        plain = plain_attempt(attempt)

        def work() -> Work[Delivery | None]:
            row = yield One("lock_delivery", {"delivery_id": delivery_id})
            if row is None:
                return None
            tried = attempted(delivery_of(row), plain, self._clock.now())
            yield Run("change_delivery", delivery_bag(tried))
            return tried

        return await self._database.write(work)

    async def replay(self, delivery_id: str) -> Delivery | None:
        """See ``DeliveryRepo.replay``."""
        check_identifier("delivery_id", delivery_id)

        def work() -> Work[Delivery | None]:
            row = yield One("lock_delivery", {"delivery_id": delivery_id})
            again = None if row is None else replayed(delivery_of(row), self._clock.now())
            if again is not None:
                yield Run("change_delivery", delivery_bag(again))
            return again

        return await self._database.write(work)

    async def sweep(self, *, limit: int) -> int:
        """See ``DeliveryRepo.sweep``."""

        def work() -> Work[int]:
            now = micros(self._clock.now())
            bound = {"now": now, "limit": max(0, min(limit, MAX_OFFSET))}
            swept: int = yield Run("sweep_deliveries", bound)
            return swept

        return await self._database.write(work)
