"""One run while it executes, the slot it holds, and the gate all runs start through."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from threadkeep.engine.cancel import Stop
from threadkeep.engine.threads import RunThreads
from threadkeep.model.runs import Run

if TYPE_CHECKING:
    from threadkeep.engine.drive import Work

STARTING_AT_ONCE = 2  # runs; more would hold the loop for too long in one go
STARTING_SECONDS = 0.02  # how long a run counts as starting


class Slot:
    """A place among the runs that execute at once; given back once, however often."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back: Callable[[], None] | None = give_back

    def release(self) -> None:
        """Give it back."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()


class Execution:
    """What is known of a run while it executes.

    Attributes:
        run: The run as it was claimed.
        threads: Its calls that work in threads.
        work: Its graph being driven, once that has begun.
        stopping: Done once somebody has asked it to stop.
        settled: Done once nothing more will be recorded of it.
        hurried: Done once nodes that do not stop are to be waited for no longer.
        stopped_for: Why it was asked to stop, or ``None``.
    """

    def __init__(self, run: Run, slot: Slot) -> None:
        loop = asyncio.get_running_loop()
        self.run = run
        self.slot = slot
        self.threads = RunThreads()
        self.work: Work | None = None
        self.stopping: asyncio.Future[None] = loop.create_future()
        self.settled: asyncio.Future[None] = loop.create_future()
        self.hurried: asyncio.Future[None] = loop.create_future()
        self.stopped_for: Stop | None = None
        self._inner: asyncio.Task[None] | None = None

    def drives(self, inner: "asyncio.Task[None]") -> None:
        """Note the task that drives the graph; cancel it if the run was stopped before."""
        self._inner = inner
        if self.stopped_for is not None:
            inner.cancel()

    def stop_for(self, stop: Stop) -> None:
        """Ask the run to stop; again with a weightier reason changes how it ends."""
        if self.stopped_for is not None and self.stopped_for >= stop:
            return
        self.stopped_for = stop
        if stop is Stop.LOST and self.work is not None:
            self.work.revoke()
        if self._inner is not None:
            self._inner.cancel()
        if not self.stopping.done():
            self.stopping.set_result(None)

    def hurry(self) -> None:
        """Settle it without waiting for nodes that do not stop."""
        if not self.hurried.done():
            self.hurried.set_result(None)


class StartGate:
    """Lets few runs at a time through their first moments, which hold the loop most.

    Without it a burst of new runs would keep every other request waiting.
    """

    def __init__(self) -> None:
        self._starting = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> Callable[[], None]:
        """Wait for a turn; returns what ends it early, else it ends by itself."""
        while self._starting >= STARTING_AT_ONCE:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._starting += 1
        turn_slot = Slot(self._leave)
        asyncio.get_running_loop().call_later(STARTING_SECONDS, turn_slot.release)
        return turn_slot.release

    def _leave(self) -> None:
        self._starting -= 1
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
