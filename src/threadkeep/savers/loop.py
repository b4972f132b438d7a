"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future, wait
from threading import Thread
from typing import Any, TypeVar

from threadkeep.errors import StorageError, UnavailableError

T = TypeVar("T")

WAIT_SECONDS = 120.0  # a call that takes longer is stuck: no read or write is near it
LOOK_SECONDS = 0.5  # between looks whether a loop that was to answer has ended
STOP_SECONDS = 10.0  # for what is scheduled to end; a thread that hangs dies with the process


class LoopThread:
    """Runs one event loop in one daemon thread from construction until ``close``."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the loop after what is under way, and end the thread; idempotent.

        What is not answered by half of ``STOP_SECONDS`` is cancelled.
        """
        if self.loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_end(self.loop), self.loop)
        self._thread.join(STOP_SECONDS)
        if not self._thread.is_alive():
            self.loop.close()


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    under_way = asyncio.all_tasks() - {asyncio.current_task()}
    if under_way:
        _, left = await asyncio.wait(under_way, timeout=STOP_SECONDS / 2)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    loop.stop()


def post(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of another thread, and wait for its answer.

    Raises:
        StorageError: The loop has ended.
        UnavailableError: No answer within ``WAIT_SECONDS``; the work is cancelled.
    """
    future = _started(loop, work)
    deadline = time.monotonic() + WAIT_SECONDS
    while not wait([future], LOOK_SECONDS).done:
        _check_open(loop)
        if time.monotonic() > deadline:
            future.cancel()
            raise UnavailableError(f"no answer from the store in {WAIT_SECONDS:g} seconds")
    try:
        return future.result()
    except CancelledError as error:
        raise StorageError("the store was closed before it answered") from error


async def hop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine on the loop it belongs to, from this loop or another.

    Raises:
        StorageError: The loop has ended.
    """
    if loop is asyncio.get_running_loop():
        return await work
    future = asyncio.wrap_future(_started(loop, work))
    try:
        while not (await asyncio.wait([future], timeout=LOOK_SECONDS))[0]:
            _check_open(loop)
    except asyncio.CancelledError:
        future.cancel()
        raise
    if future.cancelled():
        raise StorageError("the store was closed before it answered")
    return future.result()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop running in this thread, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _started(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> Future[T]:
    try:
        return asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:  # what a closed loop answers
        work.close()
        _check_open(loop)
        raise


def _check_open(loop: asyncio.AbstractEventLoop) -> None:
    if loop.is_closed():
        raise StorageError("the store is closed")
