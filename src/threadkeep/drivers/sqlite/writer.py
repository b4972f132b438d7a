"""The one writer of a file in this process: what waits is committed together, in order.

When a job fails, the transaction is undone and each of its jobs runs again apart, so that an error
is its own job's only.

Source: decision 0003.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from threadkeep.drivers.sql.jobs import Job, JobQueue, fail
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.errors import StorageError, UnavailableError

SCRUB_SECONDS = 1.0  # how long an erasure waits for readers that hold the log
LOG_BYTES = 256 * 1024  # a log from this on is moved into the file by a prune: some 5 ms, two syncs
COMPACT_BYTES = 4 * 1024 * 1024  # files up to this are compacted by an erasure: about 20 ms per MiB


@dataclass(frozen=True, slots=True)
class Write:
    """What a job does.

    Attributes:
        run: Writes through the session.
        scrub: Whether the log is to be emptied once it is committed.
    """

    run: Callable[[Session], Any]
    scrub: bool = False


class Writer(JobQueue[Write]):
    """Commits jobs over one session."""

    def __init__(self, session: Session, *, wait_seconds: float) -> None:
        super().__init__("sqlite")
        self._session = session
        self._wait_seconds = wait_seconds
        self._scrub_is_due = False
        self._rollback_hooks: list[Callable[[], None]] = []

    def on_rollback(self, hook: Callable[[], None]) -> None:
        """Call a function, with the gate held, whenever a transaction was undone."""
        self._rollback_hooks.append(hook)

    def _commit(self, jobs: list[Job[Any]]) -> None:
        self._commit_together(jobs)
        self._scrub(jobs)
        if self._session.has_given_back:
            self._empty_log()

    def _end(self) -> None:
        self._scrub([])
        self._session.close()

    def _commit_together(self, jobs: list[Job[Any]]) -> bool:
        """Commit jobs together, or each apart where that fails; false when the file is locked."""
        try:
            self._session.begin("IMMEDIATE")
        except StorageError as error:
            fail(jobs, error)
            return False
        failure = self._run_all(jobs)
        if failure is None:
            for job in jobs:
                job.done = True
        elif len(jobs) == 1:
            fail(jobs, failure)
        else:
            self._commit_apart(jobs)
        return True

    def _commit_apart(self, jobs: list[Job[Any]]) -> None:
        for at, job in enumerate(jobs):
            if not self._commit_together([job]):
                # Another process took the file in between: the others need not wait as long.
                fail(jobs[at + 1 :], UnavailableError(str(job.error)))
                return

    def _run_all(self, jobs: list[Job[Any]]) -> Exception | None:
        """Run jobs in the open transaction and end it; answer with what undid it."""
        try:
            for job in jobs:
                job.value = job.work.run(self._session)
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
        fresh = any(job.work.scrub and job.error is None for job in jobs)
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

    def _empty_log(self) -> None:
        """Let the disk have what a prune gave back, unless a reader holds the log."""
        try:
            self._session.wait_for_locks(0)
            self._session.empty_log(LOG_BYTES)
        except StorageError:
            return  # what was pruned is committed all the same
        finally:
            self._session.wait_for_locks(self._wait_seconds)
