"""Opening a storage address: which driver serves a scheme, and what an opened one offers.

Drivers register in the entry-point group ``threadkeep.drivers`` under their scheme; the entry is
a callable ``open(url: str, options: DriverOptions) -> Driver``. So nothing above imports a driver,
and others can add one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from threadkeep.errors import ConfigError
from threadkeep.model.queries import MAX_PAGE_SIZE
from threadkeep.ports.documents import AsyncDocumentStore, DocumentStore
from threadkeep.ports.resources import ResourceStore

GROUP = "threadkeep.drivers"
# Of the environment; the first that is set names the database, the others are LangGraph's own.
DATABASE_VARIABLES = ("THREADKEEP_DATABASE_URL", "DATABASE_URI", "POSTGRES_URI")


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """What is chosen beside the address.

    Attributes:
        max_page_size: The largest page of the resource store, in rows.
    """

    max_page_size: int = MAX_PAGE_SIZE


class Driver(Protocol):
    """One opened address. All that it hands out shares its connections and, per file, its writer.

    Every call of ``documents`` (``async_documents``, ``resources``) answers with the same object.
    """

    def documents(self) -> DocumentStore:
        """Return the blocking face of the document store."""
        ...

    def async_documents(self) -> AsyncDocumentStore:
        """Return the awaiting face of the document store."""
        ...

    def resources(self) -> ResourceStore:
        """Return the resource store.

        Raises:
            NotSupportedError: This driver keeps documents only.
        """
        ...

    def close(self) -> None:
        """Finish what was handed over and let go of the backend; idempotent."""
        ...


def open_driver(url: str, options: DriverOptions | None = None) -> Driver:
    """Open a storage address, e.g. ``sqlite:///agents.db``; without options, with their defaults.

    Raises:
        ConfigError: No scheme, or one no installed driver serves.
        StorageError: The backend cannot be opened.
    """
    driver: Driver = _entry(url).load()(url, options or DriverOptions())
    return driver


def configured_database(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the first set of ``DATABASE_VARIABLES`` and its address; ``None`` without any.

    Raises:
        ConfigError: No installed driver serves the address; names the variable.
    """
    for name in DATABASE_VARIABLES:
        if url := environment.get(name):
            try:
                _entry(url)
            except ConfigError as error:
                raise ConfigError(f"{name}: {error}") from error
            return name, url
    return None


def _entry(url: str) -> EntryPoint:
    """Find the driver of an address. Of the address only a scheme is told: it may hold a password.

    Raises:
        ConfigError: No scheme, or one no installed driver serves.
    """
    scheme, separator, _ = url.partition("://")
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if separator and scheme in found:
        return found[scheme]
    known = " or ".join(f"{name}://" for name in sorted(found))
    if not separator or not scheme.replace("+", "").isalnum():
        raise ConfigError(f"a storage address begins with {known}, e.g. sqlite:///agents.db")
    raise ConfigError(
        f"no driver serves storage addresses that begin with {scheme}://; those that are "
        f"installed serve {known}, e.g. sqlite:///agents.db"
    )
