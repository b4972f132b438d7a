"""What the engine runs on in tests: each driver with our saver and store on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from threadkeep.ports.drivers import open_driver
from threadkeep.ports.resources import ResourceStore
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.savers.store import ItemStore


@dataclass(frozen=True)
class Backend:
    """One opened database."""

    resources: ResourceStore
    saver: DocumentCheckpointSaver
    url: str


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    match request.param:
        case "memory":
            url = "memory://"
        case "sqlite":
            url = f"sqlite:///{tmp_path / 'runs.db'}"
        case _:
            url = request.getfixturevalue("postgres_url")
    driver = open_driver(url)
    documents, awaiting = driver.documents(), driver.async_documents()
    documents.setup()
    saver = DocumentCheckpointSaver(documents, async_documents=awaiting)
    yield Backend(driver.resources(), saver, url)
    driver.close()


def store_on(backend: Backend) -> ItemStore:
    """Return the store of the running loop; call it there."""
    return ItemStore(backend.resources)
