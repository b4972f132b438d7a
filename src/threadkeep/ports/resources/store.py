"""The store: every repo of one backend."""

from typing import Protocol

from threadkeep.ports.resources.assistants import AssistantRepo
from threadkeep.ports.resources.crons import CronRepo
from threadkeep.ports.resources.deliveries import DeliveryRepo
from threadkeep.ports.resources.idempotency import IdempotencyRepo
from threadkeep.ports.resources.items import ItemRepo
from threadkeep.ports.resources.runs import RunRepo
from threadkeep.ports.resources.threads import ThreadRepo


class ResourceStore(Protocol):
    """Every repo of one backend."""

    @property
    def assistants(self) -> AssistantRepo:
        """Assistants."""
        ...

    @property
    def threads(self) -> ThreadRepo:
        """Threads."""
        ...

    @property
    def runs(self) -> RunRepo:
        """Runs."""
        ...

    @property
    def crons(self) -> CronRepo:
        """Crons."""
        ...

    @property
    def items(self) -> ItemRepo:
        """Items."""
        ...

    @property
    def idempotency(self) -> IdempotencyRepo:
        """Idempotency records."""
        ...

    @property
    def deliveries(self) -> DeliveryRepo:
        """Deliveries."""
        ...

    @property
    def max_page_size(self) -> int:
        """The page bound in force."""
        ...

    async def setup(self) -> None:
        """Create or migrate what is missing; idempotent, safe when several processes do it.

        Raises:
            SchemaTooNewError: The store was written by a newer release.
        """
        ...
