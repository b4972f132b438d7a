"""A run being listened to, and what is said of runs to whoever listens to their thread."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass

from threadkeep.engine.json import encode
from threadkeep.model.events import Event, is_asked
from threadkeep.model.runs import Run
from threadkeep.ports.bus import Subscription
from threadkeep.rules.run_states import SERVER_RESTARTED

# Of a run, on its thread's channel: before it is admitted, after, or when it is not.
COMING, BEGUN, REFUSED = "coming", "begun", "refused"


def topic_of(thread_id: str) -> str:
    """Return the channel on which the runs of a thread are announced."""
    return f"thread {thread_id}"


@dataclass(frozen=True, slots=True)
class RunStream:
    """A run being listened to.

    Attributes:
        run: The run as it was when listening began.
        events: What it publishes, in bursts of at least one event; ends after the run has
            settled, or when the listener is too slow.
        missed: How many events that were asked for are not kept any more.
    """

    run: Run
    events: AsyncIterator[list[Event]]
    _close: Callable[..., Awaitable[None]]
    missed: int = 0

    async def aclose(self, *, disconnected: bool) -> None:
        """Stop listening; call it once, however the stream ended.

        Args:
            disconnected: The reader went away before the end: the run is cancelled where its
                request (or the join) said so.
        """
        await self._close(disconnected=disconnected)


async def told(
    heard: Subscription, modes: Collection[str], read: Callable[[], Awaitable[Run | None]]
) -> AsyncIterator[list[Event]]:
    """Yield what is heard of a run, and at the end why its process never told that it failed.

    Args:
        heard: The run's events.
        modes: The stream modes to yield; empty for all.
        read: Reads the run as it is once its events have ended.
    """
    last, is_told = 0, False
    async for burst in heard:
        last = burst[-1].seq
        is_told = is_told or any(event.name == "error" for event in burst)
        if asked := [event for event in burst if is_asked(event.name, modes)]:
            yield asked
    row = None if is_told else await read()
    if row is not None and row.reason == SERVER_RESTARTED.reason:
        yield [Event(last + 1, "error", encode(row.error))]
