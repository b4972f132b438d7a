"""Savers on a real PostgreSQL, each with checkpoints of its own."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from threadkeep import DocumentCheckpointSaver
from threadkeep.drivers import postgres
from threadkeep.ports.drivers import Driver, DriverOptions


@contextmanager
def opened_saver(url: str) -> Iterator[DocumentCheckpointSaver]:
    """Open a saver whose namespace no other has, in a database that others may share."""
    driver = postgres.open(url, DriverOptions())
    try:
        saver = _saver(driver)
        saver.setup()
        yield saver
    finally:
        driver.close()


@asynccontextmanager
async def aopened_saver(url: str) -> AsyncIterator[DocumentCheckpointSaver]:
    """Do the same, awaiting."""
    driver = postgres.open(url, DriverOptions())
    try:
        saver = _saver(driver)
        await saver.asetup()
        yield saver
    finally:
        await asyncio.to_thread(driver.close)


def _saver(driver: Driver) -> DocumentCheckpointSaver:
    return DocumentCheckpointSaver(
        driver.documents(),
        async_documents=driver.async_documents(),
        namespace=f"tests.{uuid.uuid4()}",
    )
