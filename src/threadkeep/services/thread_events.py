"""What all runs of a thread publish, one run after another, as one stream.

Runs of a thread execute one at a time, so their events never mix. A run that begins here is known
before its first event; one that another process made is found at the next look.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field

from threadkeep.errors import NotFoundError, UnavailableError
from threadkeep.model.events import Event
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import ACTIVE, Run
from threadkeep.ports.bus import FINISHED_RUNS_KEPT, EventBus, Subscription
from threadkeep.services.runs import RunService
from threadkeep.services.streams import BEGUN, COMING, topic_of

LOOK_SECONDS = 5.0  # between looks for runs that another process made


@dataclass(frozen=True, slots=True)
class ThreadBurst:
    """Part of a thread's stream.

    Attributes:
        run: The run whose it is, as it is now when it has ended.
        events: What it published; empty in the last part of each run.
        has_ended: Whether the run has; then this is its last part.
    """

    run: Run
    events: list[Event]
    has_ended: bool


@dataclass(slots=True)
class _Heard:
    """The runs a listener knows, in the order they come up."""

    bus: EventBus
    held: dict[str, Subscription] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    order: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)

    def hold(self, run_id: str) -> None:
        """Keep what a run publishes until it comes up."""
        if run_id not in self.seen and run_id not in self.held:
            self.held[run_id] = self.bus.subscribe(run_id, after=0)

    def meet(self, run_id: str) -> None:
        """Let a run come up."""
        if run_id not in self.seen:
            self.hold(run_id)
            self.seen.add(run_id)
            self.order.put_nowait(run_id)

    async def drop(self, run_id: str) -> None:
        """Keep no longer what a run publishes."""
        held = self.held.pop(run_id, None)
        if held is not None:
            await held.aclose()


class ThreadEvents:
    """Streams of threads."""

    def __init__(self, runs: RunService, bus: EventBus) -> None:
        self._runs = runs
        self._bus = bus

    async def listen(self, thread_id: str, *, replay: bool) -> AsyncGenerator[ThreadBurst, None]:
        """Listen to a thread until the iteration is closed; the thread need not be there yet.

        Args:
            thread_id: The thread.
            replay: Begin with what is kept of the runs there were, oldest first; a run of which
                nothing is kept is not told of. Otherwise active runs come first, from now on.

        Raises:
            UnavailableError: The listener is too slow: events that it has not taken were dropped.
        """
        topic = self._bus.subscribe(topic_of(thread_id))
        heard = _Heard(self._bus)
        tasks = [
            asyncio.create_task(self._follow(topic, heard)),
            asyncio.create_task(self._look(thread_id, heard)),
        ]
        try:
            met = await self._begin(thread_id, heard, replay=replay)
            while True:
                run_id = await heard.order.get()
                after = None if run_id in met and not replay else 0
                async for burst in self._run(heard, run_id, after=after):
                    yield burst
        finally:
            for task in tasks:
                task.cancel()
            await topic.aclose()
            for run_id in list(heard.held):
                await heard.drop(run_id)

    async def _begin(self, thread_id: str, heard: _Heard, *, replay: bool) -> Sequence[str]:
        """Meet the runs there are, and return their ids, the newest last."""
        statuses = None if replay else ACTIVE
        query = RunQuery(thread_id=thread_id, statuses=statuses, limit=FINISHED_RUNS_KEPT)
        page = await self._runs.list(query)
        found = [run.run_id for run in reversed(page.rows)]
        for run_id in found:
            heard.meet(run_id)
        return found

    async def _run(
        self, heard: _Heard, run_id: str, *, after: int | None
    ) -> AsyncIterator[ThreadBurst]:
        """Yield the parts of one run; none of one that was deleted before it came up."""
        try:
            stream = await self._runs.join_stream(
                None, run_id, after=after, modes=(), cancel_on_disconnect=False
            )
        except NotFoundError:
            await heard.drop(run_id)
            return
        await heard.drop(run_id)
        run, has_events = stream.run, stream.run.status in ACTIVE
        try:
            async for events in stream.events:
                has_events = True
                yield ThreadBurst(run, events, has_ended=False)
        finally:
            await stream.aclose(disconnected=False)
        with contextlib.suppress(NotFoundError):  # a run without a thread of its own is gone
            run = await self._runs.get(None, run_id)
            if run.status in ACTIVE:
                raise UnavailableError(
                    f"this listener is too slow for run {run_id!r}; come back and go on behind the "
                    "last event that was seen"
                )
        if has_events:
            yield ThreadBurst(run, [], has_ended=True)

    async def _follow(self, topic: Subscription, heard: _Heard) -> None:
        async for burst in topic:
            for event in burst:
                run_id = event.data.decode()
                if event.name == COMING:
                    heard.hold(run_id)
                elif event.name == BEGUN:
                    heard.meet(run_id)
                elif run_id not in heard.seen:
                    await heard.drop(run_id)

    async def _look(self, thread_id: str, heard: _Heard) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            page = await self._runs.list(RunQuery(thread_id=thread_id, statuses=ACTIVE))
            for run in reversed(page.rows):
                heard.meet(run.run_id)
