"""A clock that a test moves."""

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Satisfies ``Clock``; stands still until told otherwise."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2030, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)

    def now(self) -> datetime:
        """See ``Clock.now``."""
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move by so many seconds, also back, and return the moment reached."""
        self._now += timedelta(seconds=seconds)
        return self._now
