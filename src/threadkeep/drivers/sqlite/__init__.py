"""One SQLite file, standard library only.

``sqlite:///relative.db`` · ``sqlite:////absolute.db`` · ``?synchronous=full``.
"""

from threadkeep.drivers.sqlite.address import parse
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import AsyncSqliteDocumentStore, SqliteDocumentStore
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.drivers.sqlite.seed_documents import SqliteSeedDocuments
from threadkeep.drivers.sqlite.transfer import SqliteTransfer
from threadkeep.ports.documents import DocumentStore
from threadkeep.ports.drivers import Driver, DriverOptions
from threadkeep.ports.resources import ResourceStore
from threadkeep.ports.seed_documents import SeedDocuments
from threadkeep.ports.staging import StagingDocumentStore
from threadkeep.ports.transfer import Transfer


class SqliteDriver:
    """One opened file; all that it hands out shares its writer."""

    def __init__(self, database: SqliteDatabase, options: DriverOptions) -> None:
        self._database = database
        self._documents = SqliteDocumentStore(database)
        self._async_documents = AsyncSqliteDocumentStore(database)
        self._resources = SqliteResourceStore(database, max_page_size=options.max_page_size)
        self._transfer = SqliteTransfer(database)

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
        return SqliteSeedDocuments(self._database)

    def close(self) -> None:
        """See ``Driver.close``."""
        self._database.close()


def open(url: str, options: DriverOptions) -> Driver:
    """Open a file, which is made if it is not there.

    Raises:
        ConfigError: The address names no file, or has an unknown setting.
        StorageError: The file cannot be opened.
    """
    return SqliteDriver(SqliteDatabase(parse(url)), options)
