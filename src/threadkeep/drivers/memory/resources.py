"""The resource store in memory: for tests, and for servers that may forget."""

from threadkeep.drivers.memory.assistants import MemoryAssistantRepo
from threadkeep.drivers.memory.crons import MemoryCronRepo
from threadkeep.drivers.memory.deliveries import MemoryDeliveryRepo
from threadkeep.drivers.memory.idempotency import MemoryIdempotencyRepo
from threadkeep.drivers.memory.items import MemoryItemRepo
from threadkeep.drivers.memory.runs import MemoryRunRepo
from threadkeep.drivers.memory.tables import Tables
from threadkeep.drivers.memory.threads import MemoryThreadRepo
from threadkeep.model.queries import MAX_PAGE_SIZE
from threadkeep.ports.clock import Clock, SystemClock
from threadkeep.rules.paging import check_max_page_size


class MemoryResourceStore:
    """Satisfies ``ResourceStore``; may be used from several loops and threads."""

    def __init__(self, *, clock: Clock | None = None, max_page_size: int = MAX_PAGE_SIZE) -> None:
        tables = Tables(clock or SystemClock(), check_max_page_size(max_page_size))
        self.assistants = MemoryAssistantRepo(tables)
        self.threads = MemoryThreadRepo(tables)
        self.runs = MemoryRunRepo(tables)
        self.crons = MemoryCronRepo(tables)
        self.items = MemoryItemRepo(tables)
        self.idempotency = MemoryIdempotencyRepo(tables)
        self.deliveries = MemoryDeliveryRepo(tables)
        self.max_page_size = tables.max_page_size

    async def setup(self) -> None:
        """See ``ResourceStore.setup``; there is nothing to set up."""
