"""Pending writes that are being stored right now.

The next checkpoint's new values are what its parent's tasks wrote. A put that waits for those
writes hands none of their values over again. Only bytes are at stake, so the wait is short.
"""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager

from threadkeep.checkpoints.known import Place

WAIT_SECONDS = 0.25  # longer than a commit takes; a put that waits in vain is only larger


class Waiting:
    """Some writes under way; see ``steps.UnderWay``."""

    def __init__(self, futures: set[Future[None]]) -> None:
        self._futures = futures

    def wait(self) -> None:
        """Block until they are stored or have failed, ``WAIT_SECONDS`` at most."""
        wait(self._futures, WAIT_SECONDS)

    async def await_(self) -> None:
        """Wait until they are stored or have failed, ``WAIT_SECONDS`` at most."""
        await asyncio.wait(map(asyncio.wrap_future, self._futures), timeout=WAIT_SECONDS)


class WritesUnderWay:
    """The writes under way of one saver, by the checkpoint they follow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[Place, set[Future[None]]] = {}

    @contextmanager
    def entered(self, place: Place) -> Iterator[None]:
        """Count as under way for as long as this is entered."""
        future: Future[None] = Future()
        with self._lock:
            self._futures.setdefault(place, set()).add(future)
        try:
            yield
        finally:
            with self._lock:
                self._futures[place].discard(future)
                if not self._futures[place]:
                    del self._futures[place]
            future.set_result(None)

    def of(self, place: Place) -> Waiting | None:
        """Name what is under way for a checkpoint; ``None`` when nothing is."""
        with self._lock:
            futures = set(self._futures.get(place, ()))
        return Waiting(futures) if futures else None
