"""Everything in this process; the reference the other drivers are compared with."""

from threadkeep.drivers.memory.async_documents import AsyncMemoryDocumentStore
from threadkeep.drivers.memory.documents import MemoryDocumentStore
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.errors import ConfigError
from threadkeep.ports.documents import DocumentStore
from threadkeep.ports.drivers import Driver, DriverOptions
from threadkeep.ports.resources import ResourceStore
from threadkeep.ports.staging import StagingDocumentStore


class MemoryDriver:
    """One opened ``memory://``; what is in it ends with it."""

    def __init__(self, options: DriverOptions) -> None:
        self._documents = MemoryDocumentStore()
        self._async_documents = AsyncMemoryDocumentStore(self._documents)
        self._resources = MemoryResourceStore(max_page_size=options.max_page_size)

    def documents(self) -> DocumentStore:
        """See ``Driver.documents``."""
        return self._documents

    def async_documents(self) -> StagingDocumentStore:
        """See ``Driver.async_documents``."""
        return self._async_documents

    def resources(self) -> ResourceStore:
        """See ``Driver.resources``."""
        return self._resources

    def close(self) -> None:
        """See ``Driver.close``."""
        self._documents.close()


def open(url: str, options: DriverOptions) -> Driver:
    """Open an empty store; each call opens another one.

    Raises:
        ConfigError: The address says more than ``memory://``.
    """
    if url != "memory://":
        raise ConfigError("a memory store has no name and no settings: the address is memory://")
    return MemoryDriver(options)
