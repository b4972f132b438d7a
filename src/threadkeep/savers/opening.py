"""Opening something on a storage address, for ``with`` and for ``async with``."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from threadkeep.ports.drivers import Driver, open_driver


class NeedsSetup(Protocol):
    """What can create its storage where it is missing."""

    def setup(self) -> None:
        """Create what is missing, blocking."""
        ...

    async def asetup(self) -> None:
        """Create what is missing, awaiting."""
        ...


T = TypeVar("T", bound=NeedsSetup)


class Opening(Generic[T]):
    """Opens a storage address on entering, sets up what is missing, and closes it on leaving.

    Each object is entered once, one way or the other.

    Args:
        url: The storage address.
        build: Makes what is wanted from the opened driver.
    """

    def __init__(self, url: str, build: Callable[[Driver], T]) -> None:
        self._url = url
        self._build = build
        self._driver: Driver | None = None

    def __enter__(self) -> T:
        self._driver = open_driver(self._url)
        try:
            made = self._build(self._driver)
            made.setup()
        except BaseException:
            self._driver.close()
            raise
        return made

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._driver is not None:
            self._driver.close()

    async def __aenter__(self) -> T:
        self._driver = await asyncio.to_thread(open_driver, self._url)
        try:
            made = self._build(self._driver)
            await made.asetup()
        except BaseException:
            await asyncio.to_thread(self._driver.close)
            raise
        return made

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._driver is not None:
            await asyncio.to_thread(self._driver.close)
