"""The event bus: who is told what a run publishes. Not who executes it: that is the run's row."""

from typing import Protocol, Self

from threadkeep.model.events import Event

EVENTS_PER_RUN = 10_000  # kept for readers that come back, unless configured
FINISHED_RUNS_KEPT = 50  # runs whose events are still kept, unless configured
EVENTS_KEPT_SECONDS = 3600.0  # after a run's end, unless configured


class Subscription(Protocol):
    """One listener to one run: an async iterator of bursts of at least one event, in order.

    Attributes:
        missed: How many events behind the ``seq`` it was to start at are not kept any more.
    """

    missed: int

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> list[Event]: ...

    async def aclose(self) -> None:
        """Stop listening: the iteration ends, also one that waits. Idempotent."""
        ...


class EventBus(Protocol):
    """Carries the events of runs from the process that executes them to whoever listens.

    A run's channel is made by its first ``open``, ``publish`` or ``subscribe``, and closed once.
    At most ``events_per_run`` events are kept for each run, the newest, and the channels of at
    most ``finished_runs`` closed runs; both are bounds on memory. What a closed run keeps goes
    ``kept_seconds`` after its end.
    """

    def open(self, run_id: str, *, keep: bool) -> None:
        """Prepare a run's channel; on a present one, ``keep`` holds from now on.

        Args:
            run_id: The run.
            keep: Keep events for listeners that come or come back later. Otherwise an event is
                kept only until the listeners present have taken it.
        """
        ...

    def wanted(self, run_id: str) -> bool:
        """Say whether an event published now would reach or be kept for anybody."""
        ...

    def publish(self, run_id: str, name: str, data: bytes) -> None:
        """Append an event; its ``seq`` is one more than the one before. Never blocks.

        Events published to a closed channel are dropped.
        """
        ...

    def close(self, run_id: str) -> None:
        """End the channel: listeners get what is left, then their iteration ends. Idempotent.

        Who finds that a run has ended may close its channel, whether or not there was one.
        """
        ...

    def forget(self, run_id: str) -> None:
        """Drop the channel and what it keeps; listeners' iterations end."""
        ...

    def subscribe(self, run_id: str, *, after: int | None = None) -> Subscription:
        """Listen to a run from this call on, also before the first event is awaited.

        Args:
            run_id: The run; one whose channel was closed and dropped ends at once.
            after: Start behind this ``seq`` (0 for everything kept); ``None`` for events to come.

        A listener so slow that events it has not taken were dropped is ended; it may come back
        with the last ``seq`` it saw, and the gap shows in the numbers.
        """
        ...
