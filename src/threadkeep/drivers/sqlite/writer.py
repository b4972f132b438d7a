"""The one writer of a file in this process: what waits is committed together, in order.

Every write is a job in one queue. Whoever holds the gate takes all that waits, in one
transaction: the writer's own thread, or a blocking caller on its own. When a job fails, the
transaction is undone and each of its jobs runs again apart, so that an error is its own job's
only. What was handed over is done, also when its caller no longer waits.

Source: decision 0003.
"""

import asyncio
import atexit
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.errors import StorageError, UnavailableError

T = TypeVar("T")

MAX_WAITING = 50_000  # jobs: a bound for memory; about 5 s of small batches
MAX_JOBS = 256  # in one transaction: bounds what an error repeats, and how long a caller waits
SCRUB_SECONDS = 1.0  # how long an erasure waits for readers that hold the log
COMPACT_BYTES = 4 * 1024 * 1024  # files up to this are compacted by an erasure: about 20 ms per MiB


class Job(Generic[T]):
    """One unit of writing, and where its result goes.

    Attributes:
        work: Writes through the session; may run more than once.
        scrub: Whether the log is to be emptied once it is committed.
        future: The awaiting caller's, on its loop; ``None`` for a blocking caller.
        ran_in: The thread that ran it last, ``None`` before; until it is done it may be undone.
    """

    __slots__ = ("done", "error", "future", "ran_in", "scrub", "value", "work")

    def __init__(
        self, work: Callable[[Session], T], *, scrub: bool, future: "asyncio.Future[T] | None"
    ) -> None:
        self.work = work
        self.scrub = scrub
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


class Writer:
    """Commits jobs over one session."""

    def __init__(self, session: Session, *, wait_seconds: float) -> None:
        self._session = session
        self._wait_seconds = wait_seconds
        self._gate = threading.Lock()  # held while jobs are committed
        self._changed = threading.Condition(threading.Lock())  # guards the queue, held briefly
        self._queue: deque[Job[Any]] = deque()
        self._handed_over = 0
        self._finished = 0
        self._due = math.inf  # when the thread is to act, by the monotonic clock
        self._thread: threading.Thread | None = None
        self._closed = False
        self._scrub_is_due = False
        self._process = os.getpid()
        self._rollback_hooks: list[Callable[[], None]] = []

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more jobs."""
        return self._closed

    def on_rollback(self, hook: Callable[[], None]) -> None:
        """Call a function, with the gate held, whenever a transaction was undone."""
        self._rollback_hooks.append(hook)

    def run(self, work: Callable[[Session], T], *, scrub: bool = False) -> T:
        """Commit a job, after all that waits, on the calling thread."""
        job = Job(work, scrub=scrub, future=None)
        self._hand_over(job, math.inf)
        with self._gate:
            while not job.done:
                self._commit_next()
        return job.result()

    def submit(
        self, work: Callable[[Session], T], *, within_seconds: float = 0.0, scrub: bool = False
    ) -> "Submitted[T]":
        """Hand a job over from a running event loop; it commits with the next that is due."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        job = Job(work, scrub=scrub, future=future)
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
                "sqlite: the store was opened before this process was forked; open it again here"
            )
        if self._closed:
            raise StorageError("sqlite: the store is closed")

    def close(self) -> None:
        """Commit what was handed over, end the thread and close the session; idempotent."""
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
            self._scrub([])
            self._session.close()

    def _hand_over(self, job: Job[Any], due: float) -> None:
        self.check_usable()
        with self._changed:
            self.check_usable()  # again: a close may have come first
            if len(self._queue) >= MAX_WAITING:
                raise UnavailableError(f"sqlite: {MAX_WAITING} writes are waiting; try again later")
            self._queue.append(job)
            self._handed_over += 1
            if due < self._due:
                self._due = due
                if self._thread is None:
                    self._thread = self._start()
                self._changed.notify()

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._serve, name="threadkeep-sqlite-writer", daemon=True)
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
            self._scrub(jobs)
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

    def _commit(self, jobs: list[Job[Any]]) -> bool:
        """Commit jobs together, or each apart where that fails; false when the file is locked."""
        try:
            self._session.begin("IMMEDIATE")
        except StorageError as error:
            _fail(jobs, error)
            return False
        failure = self._run_all(jobs)
        if failure is None:
            for job in jobs:
                job.done = True
        elif len(jobs) == 1:
            _fail(jobs, failure)
        else:
            self._commit_apart(jobs)
        return True

    def _commit_apart(self, jobs: list[Job[Any]]) -> None:
        for at, job in enumerate(jobs):
            if not self._commit([job]):
                # Another process took the file in between: the others need not wait as long.
                _fail(jobs[at + 1 :], UnavailableError(str(job.error)))
                return

    def _run_all(self, jobs: list[Job[Any]]) -> Exception | None:
        """Run jobs in the open transaction and end it; answer with what undid it."""
        try:
            for job in jobs:
                job.value = job.work(self._session)
                job.ran_in = threading.get_ident()
            self._session.commit()
        except BaseException as error:
            self._session.rollback()
            for hook in self._rollback_hooks:
                hook()
            if isinstance(error, Exception):
                return error
            raise
        return None

    def _scrub(self, jobs: Iterable[Job[Any]]) -> None:
        """Clean the file after an erasure; a reader may hold it up, then it stays due."""
        fresh = any(job.scrub and job.error is None for job in jobs)
        if not fresh and not self._scrub_is_due:
            return
        self._scrub_is_due = True
        try:
            # Later commits try again without waiting: they are not what the reader is to hold up.
            self._session.wait_for_locks(SCRUB_SECONDS if fresh else 0)
            self._scrub_is_due = not self._session.scrub(COMPACT_BYTES)
        except StorageError:
            return  # what was erased is committed all the same
        finally:
            self._session.wait_for_locks(self._wait_seconds)


def _fail(jobs: list[Job[Any]], error: Exception) -> None:
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
