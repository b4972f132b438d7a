"""The event bus of a single process.

Events of a run stand in one queue that its listeners share; each holds a position in it. What is
published while a listener is busy comes to it as one burst. Used on one event loop only.
"""

import asyncio
import math
from collections import OrderedDict, deque
from itertools import islice
from weakref import WeakSet

from threadkeep.model.events import Event
from threadkeep.ports.bus import EVENTS_KEPT_SECONDS, EVENTS_PER_RUN, FINISHED_RUNS_KEPT

BYTES_PER_RUN = 32 * 1024 * 1024  # bytes of payload; a few huge events must not fill the memory
CLOSED_IDS = 10_000  # ids of closed runs remembered, so that listening to one ends at once


class _Channel:
    """The events of one run that somebody may still take."""

    def __init__(self, run_id: str, *, most_events: int, most_bytes: int) -> None:
        self.run_id = run_id
        self.keep = False
        self.is_opened = False
        self.is_closed = False
        self.ends_at = math.inf  # by the loop's clock; of a closed one
        self.listeners: WeakSet[_Listener] = WeakSet()
        self.events: deque[Event] = deque()
        self.last = 0
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._bytes = 0

    @property
    def first(self) -> int:
        """The ``seq`` of the oldest event kept; of the next one when none is."""
        return self.last - len(self.events) + 1

    def append(self, name: str, data: bytes) -> None:
        """Add an event, and drop the oldest ones above the bounds."""
        self.last += 1
        if not self.keep and not self.listeners:
            return
        self.events.append(Event(self.last, name, data))
        self._bytes += len(data)
        while len(self.events) > self._most_events or (
            self._bytes > self._most_bytes and len(self.events) > 1
        ):
            self._bytes -= len(self.events.popleft().data)
        self.wake()

    def take(self, after: int) -> list[Event]:
        """Return every event behind a ``seq`` that is kept."""
        return list(islice(self.events, max(0, after + 1 - self.first), None))

    def trim(self) -> None:
        """Drop what every listener has taken, where events are not kept."""
        if self.keep:
            return
        taken = min((listener.after for listener in self.listeners), default=self.last)
        while self.events and self.events[0].seq <= taken:
            self._bytes -= len(self.events.popleft().data)

    def clear(self) -> None:
        """Drop everything."""
        self.events.clear()
        self._bytes = 0

    def wake(self) -> None:
        """Let waiting listeners look again."""
        for listener in self.listeners:
            listener.wake()


class _Listener:
    """A subscription; see ``ports.bus.Subscription``."""

    def __init__(self, bus: "MemoryEventBus", channel: _Channel, after: int) -> None:
        self.after = after
        self.missed = 0
        self._bus = bus
        self._channel = channel
        self._waiting: asyncio.Future[None] | None = None
        self._has_ended = False

    def __aiter__(self) -> "_Listener":
        return self

    async def __anext__(self) -> list[Event]:
        while not self._has_ended:
            if self.after + 1 < self._channel.first:  # overtaken
                break
            if burst := self._channel.take(self.after):
                self.after = burst[-1].seq
                self._channel.trim()
                return burst
            if self._channel.is_closed:
                break
            await self._wait()
        self._leave()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """See ``Subscription.aclose``."""
        self._leave()
        self.wake()

    def wake(self) -> None:
        """Look again for events."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _wait(self) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _leave(self) -> None:
        self._has_ended = True
        self._channel.listeners.discard(self)
        self._channel.trim()
        self._bus.left(self._channel)


class MemoryEventBus:
    """See ``ports.bus.EventBus``.

    Args:
        events_per_run: At most so many events are kept for a run, the newest.
        finished_runs: At most so many closed runs keep theirs, the last closed.
        bytes_per_run: At most so many bytes of payload are kept for a run, one event in any case.
        kept_seconds: How long a closed run keeps its events.
    """

    def __init__(
        self,
        *,
        events_per_run: int = EVENTS_PER_RUN,
        finished_runs: int = FINISHED_RUNS_KEPT,
        bytes_per_run: int = BYTES_PER_RUN,
        kept_seconds: float = EVENTS_KEPT_SECONDS,
    ) -> None:
        self._most_events = events_per_run
        self._most_finished = finished_runs
        self._most_bytes = bytes_per_run
        self._kept_seconds = kept_seconds
        self._timer: asyncio.TimerHandle | None = None  # for the oldest closed run
        self._live: dict[str, _Channel] = {}
        self._finished: OrderedDict[str, _Channel] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()

    def open(self, run_id: str, *, keep: bool) -> None:
        """See ``EventBus.open``."""
        channel = self._channel(run_id)
        channel.is_opened = True
        channel.keep = keep

    def wanted(self, run_id: str) -> bool:
        """See ``EventBus.wanted``."""
        channel = self._live.get(run_id)
        return channel is not None and (channel.keep or bool(channel.listeners))

    def publish(self, run_id: str, name: str, data: bytes) -> None:
        """See ``EventBus.publish``."""
        channel = self._channel(run_id)
        if not channel.is_closed:
            channel.append(name, data)

    def close(self, run_id: str) -> None:
        """See ``EventBus.close``."""
        channel = self._live.pop(run_id, None)
        self._remember_closed(run_id)
        if channel is None:
            return
        channel.is_closed = True
        if channel.events:
            channel.ends_at = asyncio.get_running_loop().time() + self._kept_seconds
            self._finished[run_id] = channel
            self._watch()
        while len(self._finished) > self._most_finished:
            self._finished.popitem(last=False)[1].clear()
        channel.wake()

    def forget(self, run_id: str) -> None:
        """See ``EventBus.forget``."""
        self.close(run_id)
        channel = self._finished.pop(run_id, None)
        if channel is not None:
            channel.clear()

    def subscribe(self, run_id: str, *, after: int | None = None) -> _Listener:
        """See ``EventBus.subscribe``."""
        channel = self._channel(run_id)
        start = channel.last if after is None else min(after, channel.last)
        listener = _Listener(self, channel, max(start, channel.first - 1))
        listener.missed = listener.after - start
        channel.listeners.add(listener)
        return listener

    def left(self, channel: _Channel) -> None:
        """Drop a channel that its last listener has left, where nothing else needs it."""
        if channel.listeners or channel.keep:
            return
        if channel.is_closed:
            self._finished.pop(channel.run_id, None)
        elif not channel.is_opened:
            self._live.pop(channel.run_id, None)

    def _channel(self, run_id: str) -> _Channel:
        if (found := self._live.get(run_id) or self._finished.get(run_id)) is not None:
            return found
        channel = _Channel(run_id, most_events=self._most_events, most_bytes=self._most_bytes)
        if run_id in self._closed:
            channel.is_closed = True
        else:
            self._live[run_id] = channel
        return channel

    def _watch(self) -> None:
        """Come back when the oldest closed run is to lose its events."""
        if self._timer is None and self._finished:
            oldest = next(iter(self._finished.values()))
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(oldest.ends_at, self._drop_ended)

    def _drop_ended(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for run_id in [key for key, channel in self._finished.items() if channel.ends_at <= now]:
            self._finished.pop(run_id).clear()
        self._watch()

    def _remember_closed(self, run_id: str) -> None:
        self._closed[run_id] = None
        self._closed.move_to_end(run_id)
        while len(self._closed) > CLOSED_IDS:
            self._closed.popitem(last=False)
