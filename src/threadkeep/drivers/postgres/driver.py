"""An opened PostgreSQL database and what it offers."""

import os

from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import (
    AsyncPostgresDocumentStore,
    PostgresDocumentStore,
)
from threadkeep.drivers.postgres.resources import PostgresResourceStore
from threadkeep.drivers.postgres.seed_documents import PostgresSeedDocuments
from threadkeep.drivers.postgres.transfer import PostgresTransfer
from threadkeep.ports.documents import DocumentStore
from threadkeep.ports.drivers import Driver, DriverOptions
from threadkeep.ports.resources import ResourceStore
from threadkeep.ports.seed_documents import SeedDocuments
from threadkeep.ports.staging import StagingDocumentStore
from threadkeep.ports.transfer import Transfer


class PostgresDriver:
    """One opened database; all that it hands out shares its connections."""

    def __init__(self, database: PostgresDatabase, options: DriverOptions) -> None:
        self._database = database
        self._documents = PostgresDocumentStore(database)
        self._async_documents = AsyncPostgresDocumentStore(database)
        self._resources = PostgresResourceStore(database, max_page_size=options.max_page_size)
        self._transfer = PostgresTransfer(database)

    def documents(self) -> DocumentStore:
        """See ``Driver.documents``."""
        return self._documents

    def async_documents(self) -> StagingDocumentStore:
        """See ``Driver.async_documents``."""
        return self._async_documents

    def resources(self) -> ResourceStore:
        """See ``Driver.resources``."""
        return self._resources

    def transfer(self) -> Transfer:
        """See ``TransferringDriver.transfer``."""
        return self._transfer

    def seed_documents(self) -> SeedDocuments:
        """See ``SeedDriver.seed_documents``."""
        return PostgresSeedDocuments(self._database)

    def close(self) -> None:
        """See ``Driver.close``."""
        self._database.close()


def open(url: str, options: DriverOptions) -> Driver:
    """Open a database.

    Raises:
        ConfigError: The address is no address of a database, or has a wrong setting.
    """
    return PostgresDriver(PostgresDatabase(parse(url, os.environ)), options)
