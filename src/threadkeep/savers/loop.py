"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from threadkeep.errors import StorageError, UnavailableError

T = TypeVar("T")

WAIT_SECONDS = 120.0  # a call that takes longer is stuck: no read or write is near it
STOP_SECONDS = 10.0  # for what is scheduled to end; a thread that hangs dies with the process


class LoopThread:
    """Runs one event loop in one daemon thread from construction until ``close``."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the loop after what is scheduled, and end the thread; idempotent."""
        if self.loop.is_closed():
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(STOP_SECONDS)
        if not self._thread.is_alive():
            self.loop.close()


def post(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of another thread, and wait for its answer.

    Raises:
        StorageError: The loop has ended.
        UnavailableError: No answer within ``WAIT_SECONDS``; the work is cancelled.
    """
    future = asyncio.run_coroutine_threadsafe(work, _open(loop, work))
    try:
        return future.result(WAIT_SECONDS)
    except TimeoutError as error:
        if future.done():
            raise
        future.cancel()
        raise UnavailableError(f"no answer from the store in {WAIT_SECONDS:g} seconds") from error


async def hop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine on the loop it belongs to, from this loop or another.

    Raises:
        StorageError: The loop has ended.
    """
    if loop is asyncio.get_running_loop():
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _open(loop, work)))


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop running in this thread, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _open(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]
) -> asyncio.AbstractEventLoop:
    if loop.is_closed():
        work.close()
        raise StorageError("the store is closed")
    return loop
