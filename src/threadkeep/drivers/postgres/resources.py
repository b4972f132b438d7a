"""The resource store in a PostgreSQL database, beside its documents."""

from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.dialect import POSTGRES
from threadkeep.drivers.postgres.item_ranking import PostgresRanker
from threadkeep.drivers.postgres.resource_database import PostgresResourceDatabase
from threadkeep.drivers.sql.store import SqlResourceStore
from threadkeep.model.queries import MAX_PAGE_SIZE
from threadkeep.ports.clock import Clock, SystemClock


class PostgresResourceStore(SqlResourceStore):
    """Satisfies ``ResourceStore``; many processes may use the database."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        clock: Clock | None = None,
        max_page_size: int = MAX_PAGE_SIZE,
    ) -> None:
        resources = PostgresResourceDatabase(database)
        super().__init__(
            resources,
            POSTGRES,
            PostgresRanker(database, resources),
            clock=clock or SystemClock(),
            max_page_size=max_page_size,
        )
        self._database = database

    async def setup(self) -> None:
        """See ``ResourceStore.setup``."""
        await self._database.asetup()
