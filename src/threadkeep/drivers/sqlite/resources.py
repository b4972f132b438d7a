"""The resource store in a SQLite file, beside its documents and over the same writer."""

from threadkeep.drivers.sql.store import SHARED, SHARED_STATEMENTS, SqlResourceStore
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.dialect import SQLITE
from threadkeep.drivers.sqlite.item_ranking import SqliteRanker
from threadkeep.model.queries import MAX_PAGE_SIZE
from threadkeep.ports.clock import Clock, SystemClock


class SqliteResourceStore(SqlResourceStore):
    """Satisfies ``ResourceStore``; several processes may have the file open."""

    def __init__(
        self,
        database: SqliteDatabase,
        *,
        clock: Clock | None = None,
        max_page_size: int = MAX_PAGE_SIZE,
    ) -> None:
        database.load("threadkeep.drivers.sqlite", "resources.sql")
        database.load("threadkeep.drivers.sqlite", "totals.sql")
        database.load("threadkeep.drivers.sqlite", "item_ranking.sql")
        database.load("threadkeep.drivers.sqlite", "item_matrix.sql")
        for filename in SHARED_STATEMENTS:
            database.load(SHARED, filename)
        super().__init__(
            database,
            SQLITE,
            SqliteRanker(database),
            clock=clock or SystemClock(),
            max_page_size=max_page_size,
        )
        self._database = database

    async def setup(self) -> None:
        """See ``ResourceStore.setup``."""
        await self._database.setup()
