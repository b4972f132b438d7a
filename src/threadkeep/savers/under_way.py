"""Pending writes that are being stored right now.

The next checkpoint's new values are what its parent's tasks wrote, and a ``DeltaChannel`` is made
from those writes themselves. So a put waits for them: what a step wrote is stored before the
checkpoint that follows it, and none of its values is handed over again.
"""

import asyncio
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager

from threadkeep.checkpoints.known import Place
from threadkeep.errors import UnavailableError

WAIT_SECONDS = 60.0  # far longer than a commit takes; then the database counts as unavailable


class Waiting:
    """Some writes under way; see ``steps.UnderWay``."""

    def __init__(self, futures: set[Future[None]]) -> None:
        self._futures = futures

    def wait(self) -> None:
        """Block until they are stored or have failed.

        Raises:
            UnavailableError: That took more than ``WAIT_SECONDS``.
        """
        _check(wait(self._futures, WAIT_SECONDS).not_done)

    async def await_(self) -> None:
        """Wait until they are stored or have failed; see ``wait``."""
        waiting = [asyncio.wrap_future(future) for future in self._futures]
        _, left = await asyncio.wait(waiting, timeout=WAIT_SECONDS)
        _check(left)


def _check(left: Collection[object]) -> None:
    if left:
        raise UnavailableError(
            f"{len(left)} batches of pending writes are not stored after {WAIT_SECONDS:g} s; the"
            " checkpoint that follows them is not put before they are: try again"
        )


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
