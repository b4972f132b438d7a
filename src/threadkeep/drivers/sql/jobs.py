"""Writes that wait together: one queue, and whoever holds the gate commits what is in it.

Every write is a job. Whoever holds the gate takes all that waits, in order and in one transaction:
the queue's own thread, or a blocking caller on its own. What was handed over is done, also when its
caller no longer waits. How jobs are committed, and what becomes of one that fails, is up to each
driver.

Source: decision 0003.
"""

import asyncio
import atexit
import math
import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from threadkeep.errors import StorageError, UnavailableError

T = TypeVar("T")
W = TypeVar("W")

MAX_WAITING = 50_000  # jobs: a bound for memory; about 5 s of small batches
MAX_JOBS = 256  # in one transaction: bounds what an error repeats, and how long a caller waits


class Job(Generic[T]):
    """One unit of writing, and where its result goes.

    Attributes:
        work: What is to be done; it may be done more than once.
        future: The awaiting caller's, on its loop; ``None`` for a blocking caller.
        ran_in: The thread that ran it last, ``None`` before; until it is done it may be undone.
    """

    __slots__ = ("done", "error", "future", "ran_in", "value", "work")

    def __init__(self, work: Any, *, future: "asyncio.Future[T] | None") -> None:
        self.work = work
        self.future = future
        self.done = False
        self.error: Exception | None = None
        self.value: Any = None
        self.ran_in: int | None = None

    def so_far(self) -> T | None:
        """Return what ``result`` does, for a unit of work that runs after this one.

        ``None`` when it is not done, except within the transaction it shares with the caller.
        """
        if self.done or self.ran_in == threading.get_ident():
            return self.result()
        return None

    def result(self) -> T:
        """Return what the work returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        value: T = self.value
        return value


@dataclass(frozen=True, slots=True)
class Submitted(Generic[T]):
    """A job that was handed over, and the future of who handed it over."""

    job: Job[T]
    future: "asyncio.Future[T]"


class JobQueue(Generic[W]):
    """Takes jobs, and has them committed.

    Args:
        name: The driver's, in errors and as the name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._gate = threading.Lock()  # held while jobs are committed
        self._changed = threading.Condition(threading.Lock())  # guards the queue, held briefly
        self._queue: deque[Job[Any]] = deque()
        self._handed_over = 0
        self._finished = 0
        self._due = math.inf  # when the thread is to act, by the monotonic clock
        self._thread: threading.Thread | None = None
        self._closed = False
        self._process = os.getpid()

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more jobs."""
        return self._closed

    def _commit(self, jobs: list[Job[Any]]) -> None:
        """Commit jobs, in order, and mark each as done; the gate is held."""
        raise NotImplementedError

    def _end(self) -> None:
        """Let go of what it writes with; the gate is held."""

    def run(self, work: W) -> Any:
        """Commit a job, after all that waits, on the calling thread, and return its result."""
        job: Job[Any] = Job(work, future=None)
        self._hand_over(job, math.inf)
        with self._gate:
            while not job.done:
                self._commit_next()
        return job.result()

    def submit(self, work: W, *, within_seconds: float = 0.0) -> "Submitted[Any]":
        """Hand a job over from a running event loop; it commits with the next that is due."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        job = Job(work, future=future)
        self._hand_over(job, time.monotonic() + within_seconds)
        return Submitted(job, future)

    def catch_up(self) -> None:
        """Commit all that was handed over before this call."""
        target = self._handed_over
        if self._finished >= target:
            return
        with self._gate:
            while self._finished < target:
                self._commit_next()

    def check_usable(self) -> None:
        """Refuse a writer that was closed, or that a forked child inherited.

        Raises:
            StorageError: It is one.
        """
        if os.getpid() != self._process:
            raise StorageError(
                f"{self._name}: the store was opened before this process was forked; open it again "
                "here"
            )
        if self._closed:
            raise StorageError(f"{self._name}: the store is closed")

    def close(self) -> None:
        """Commit what was handed over and end the thread; idempotent."""
        with self._changed:
            was_closed, self._closed = self._closed, True
            self._changed.notify()
        if was_closed or os.getpid() != self._process:
            return
        self.catch_up()
        if self._thread is not None:
            atexit.unregister(self.close)
            self._thread.join()
        with self._gate:
            self._end()

    def _hand_over(self, job: Job[Any], due: float) -> None:
        self.check_usable()
        with self._changed:
            self.check_usable()  # again: a close may have come first
            if len(self._queue) >= MAX_WAITING:
                raise UnavailableError(
                    f"{self._name}: {MAX_WAITING} writes are waiting; try again later"
                )
            self._queue.append(job)
            self._handed_over += 1
            if due < self._due:
                self._due = due
                if self._thread is None:
                    self._thread = self._start()
                self._changed.notify()

    def _start(self) -> threading.Thread:
        thread = threading.Thread(
            target=self._serve, name=f"threadkeep-{self._name}-writer", daemon=True
        )
        thread.start()
        atexit.register(self.close)  # the thread ends with the process, whatever is staged
        return thread

    def _serve(self) -> None:
        while self._wait_until_due():
            self.catch_up()

    def _wait_until_due(self) -> bool:
        """Sleep until a job is due; false when the writer is closed, which commits the rest."""
        with self._changed:
            while not self._closed:
                seconds = self._due - time.monotonic()
                if seconds <= 0:
                    return True
                self._changed.wait(None if math.isinf(seconds) else seconds)
        return False

    def _commit_next(self) -> None:
        """Commit the jobs that waited longest; the gate is held."""
        with self._changed:
            jobs = [self._queue.popleft() for _ in range(min(MAX_JOBS, len(self._queue)))]
            self._due = time.monotonic() if self._queue else math.inf
        try:
            self._commit(jobs)
        finally:
            self._release(jobs)

    def _release(self, jobs: list[Job[Any]]) -> None:
        """Hand out results; what an interrupt of this thread left undone waits again."""
        done = [job for job in jobs if job.done]
        for job in done:
            del job.work  # a job may be held for its result long after; what it wrote need not be
        left = [job for job in jobs if not job.done]
        self._finished += len(done)
        if left:
            with self._changed:
                self._queue.extendleft(reversed(left))
                self._due = time.monotonic()
                self._changed.notify()
        _deliver(done)


def fail(jobs: list[Job[Any]], error: Exception) -> None:
    """Mark jobs as done, with an error."""
    for job in jobs:
        job.error = error
        job.done = True


def _deliver(jobs: list[Job[Any]]) -> None:
    """Wake each waiting loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        if job.future is not None:
            by_loop.setdefault(job.future.get_loop(), []).append(job)
    for loop, settled in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, settled)
        except RuntimeError:  # that loop was closed: nobody waits there any more
            continue


def _settle(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        assert job.future is not None
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.value)
