"""Crons, and the claim by which exactly one of many schedulers fires each date."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from threadkeep.model.crons import Cron, CronFiring, CronPatch, NewCron
from threadkeep.model.queries import CronQuery, Listing
from threadkeep.model.runs import NewRun
from threadkeep.model.threads import NewThread


class CronRepo(Protocol):
    """Crons.

    Schedules and dates are kept as given, to the microsecond; what they mean is in
    ``rules.cron_times``. Every write makes ``token`` one higher: what was planned from an older
    one is void.
    """

    async def create(self, new: NewCron) -> Cron:
        """Insert a cron with token 0.

        Raises:
            NotFoundError: It names a thread that does not exist.
            AlreadyExistsError: The id is taken; the present row is untouched.
        """
        ...

    async def get(
        self, cron_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Cron | None:
        """Read one, or ``None``; with enforced metadata, only one that contains it."""
        ...

    async def principal_of(self, cron_id: str) -> Mapping[str, Any] | None:
        """Return who its runs act as; ``None`` for nobody, and for an unknown cron."""
        ...

    async def search(self, query: CronQuery) -> Listing[Cron]:
        """Read a page, ties broken by id in the same direction; what has no date comes last."""
        ...

    async def count(self, query: CronQuery) -> int:
        """Count all that match, whatever the page."""
        ...

    async def update(
        self,
        cron_id: str,
        patch: CronPatch,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Cron:
        """Change what is given; metadata is merged by top-level key, the payload replaced.

        What is enforced is compared with the metadata as it was, and never merged.

        Raises:
            NotFoundError: No such cron, or none whose metadata contains what is enforced.
        """
        ...

    async def delete(
        self, cron_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """Delete a cron; runs it made stay. False when there is none.

        With enforced metadata, only one that contains it.
        """
        ...

    async def list_due(self, *, limit: int | None = None) -> Sequence[Cron]:
        """Read enabled crons whose date has come, soonest first, then by id.

        A date is due at its very moment. At most a page of them; a full one means look again.
        """
        ...

    async def fire(
        self,
        cron_id: str,
        *,
        token: int,
        next_run_date: datetime | None,
        new: NewRun | None,
        thread: NewThread | None = None,
    ) -> CronFiring | None:
        """Move a cron on to its next date and make its run, in one transaction.

        Exactly one of many callers with one ``token`` wins. A run that its thread refuses (busy,
        gone) is told as ``refusal``; the cron has moved on, so the same date does not fire again.

        Args:
            cron_id: The cron.
            token: As read; the claim is lost when the cron was written since.
            next_run_date: The date it waits for from now on, or ``None`` for none.
            new: The run to admit, unclaimed; ``None`` only moves the cron on.
            thread: A thread to make for the run first.

        Returns:
            ``None`` for a lost claim: another token, disabled, deleted, unknown. Nothing is
            written then.
        """
        ...

    async def overdue_seconds(self) -> float | None:
        """Return how long the most overdue enabled cron waits; ``None`` when none is due."""
        ...
