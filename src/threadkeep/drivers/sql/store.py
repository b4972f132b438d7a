"""The resource store of a SQL database, put together from its repos."""

from threadkeep.drivers.sql.assistants import SqlAssistantRepo
from threadkeep.drivers.sql.crons import SqlCronRepo
from threadkeep.drivers.sql.database import Database
from threadkeep.drivers.sql.deliveries import SqlDeliveryRepo
from threadkeep.drivers.sql.idempotency import SqlIdempotencyRepo
from threadkeep.drivers.sql.item_ranking import Ranker
from threadkeep.drivers.sql.items import SqlItemRepo
from threadkeep.drivers.sql.runs import SqlRunRepo
from threadkeep.drivers.sql.threads import SqlThreadRepo
from threadkeep.drivers.sql.where import Dialect
from threadkeep.ports.clock import Clock
from threadkeep.rules.paging import check_max_page_size

SHARED = "threadkeep.drivers.sql"
SHARED_STATEMENTS = (
    "crons.sql",
    "deliveries.sql",
    "idempotency.sql",
    "item_indexes.sql",
    "threads.sql",
)  # files of that package whose SQL is every dialect's


class SqlResourceStore:
    """Satisfies ``ResourceStore`` but for ``setup``, which is each driver's own."""

    def __init__(
        self,
        database: Database,
        dialect: Dialect,
        ranker: Ranker,
        *,
        clock: Clock,
        max_page_size: int,
    ) -> None:
        size = check_max_page_size(max_page_size)
        self.max_page_size = size
        self.assistants = SqlAssistantRepo(database, dialect, clock=clock, max_page_size=size)
        self.threads = SqlThreadRepo(database, dialect, clock=clock, max_page_size=size)
        self.runs = SqlRunRepo(database, dialect, clock=clock, max_page_size=size)
        self.crons = SqlCronRepo(database, dialect, clock=clock, max_page_size=size)
        self.items = SqlItemRepo(database, dialect, ranker, clock=clock, max_page_size=size)
        self.idempotency = SqlIdempotencyRepo(database, clock=clock)
        self.deliveries = SqlDeliveryRepo(database, dialect, clock=clock, max_page_size=size)
