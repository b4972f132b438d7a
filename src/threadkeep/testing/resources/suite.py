"""The fixtures every resource suite shares."""

import pytest

from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock

PAGE_SIZE = 25  # rows; small, so that a case can fill a page


@pytest.mark.anyio
class ResourceSuite:
    """Base of the suites."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop of the cases."""
        return "asyncio"

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The clock the store tells the time by."""
        return ManualClock()

    @pytest.fixture
    def store(self, clock: ManualClock) -> ResourceStore:
        """A fresh, empty store on ``clock`` with pages of ``PAGE_SIZE``; override it."""
        raise NotImplementedError
