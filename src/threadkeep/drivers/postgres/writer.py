"""The writer of a process: what its event loops write at the same time is one transaction.

Jobs run in the order they were handed over, on one connection. Where one fails, or the server
undoes the transaction so that others could go on, each of its jobs runs again apart: an error is
its own job's only. A job that waits for another process's lock holds up those behind it.
"""

import threading
from collections.abc import Callable
from typing import Any

import psycopg

from threadkeep.drivers.postgres.driving import drive, unknown
from threadkeep.drivers.postgres.failures import is_lost
from threadkeep.drivers.postgres.pools import Pools
from threadkeep.drivers.postgres.queries import Operation, Unit
from threadkeep.drivers.sql.jobs import Job, JobQueue, Submitted, fail
from threadkeep.errors import UnavailableError


def nothing() -> Unit[None]:
    """Write nothing: done when all that was handed over before is."""
    yield from ()


class Writer(JobQueue[Operation[Any]]):
    """Commits operations over the connections of blocking callers.

    Args:
        pools: The connections.
        run_apart: Runs one operation by itself, again where that may mend it.
    """

    def __init__(self, pools: Pools, run_apart: Callable[[Operation[Any]], Any]) -> None:
        super().__init__("postgresql")
        self._pools = pools
        self._run_apart = run_apart
        self._staged = 0  # how many jobs had been handed over when one was staged last

    @property
    def has_staged(self) -> bool:
        """Whether something that was staged is not committed yet."""
        return self._finished < self._staged

    def stage(self, operation: Operation[Any], *, within_seconds: float) -> Submitted[Any]:
        """Hand over what nobody waits for: whoever reads sees it all the same."""
        submitted = self.submit(operation, within_seconds=within_seconds)
        self._staged = self._handed_over
        return submitted

    def _commit(self, jobs: list[Job[Any]]) -> None:
        if len(jobs) > 1:
            self._commit_together(jobs)
        for job in jobs:
            if not job.done:
                self._commit_apart(job)

    def _commit_together(self, jobs: list[Job[Any]]) -> None:
        """Commit jobs in one transaction; those that are not done then are to run apart."""
        pool = self._pools.blocking()
        try:
            with pool.connection() as connection:
                self._run_all(connection, jobs)
        except UnavailableError as error:  # no connection: the others need not wait for one
            fail(jobs, error)
            return
        if connection.closed:
            pool.drop_idle()  # when one was lost, others may be too

    def _run_all(self, connection: psycopg.Connection[Any], jobs: list[Job[Any]]) -> None:
        is_committing = False
        try:
            with connection.transaction():
                for job in jobs:
                    job.value = drive(connection, job.work.unit())
                    job.ran_in = threading.get_ident()
                is_committing = True
        except psycopg.Error as error:
            if is_committing and is_lost(error):
                _fail_unknown(jobs)
        except Exception:
            return  # one of them refused; it does so again when it runs apart
        else:
            for job in jobs:
                job.done = True

    def _commit_apart(self, job: Job[Any]) -> None:
        try:
            job.value = self._run_apart(job.work)
        except Exception as error:
            job.error = error
        job.done = True


def _fail_unknown(jobs: list[Job[Any]]) -> None:
    """Fail what was lost with its commit, but for what may be done twice."""
    for job in jobs:
        if not job.work.is_repeatable:
            fail([job], unknown(job.work.what))
