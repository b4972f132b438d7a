"""Time as a port, so that leases and expiry are tested without waiting."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the present moment as an aware UTC ``datetime``."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """See ``Clock.now``."""
        return datetime.now(UTC)
