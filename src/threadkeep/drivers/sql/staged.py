"""A staged batch as its caller holds it."""

import asyncio
from collections.abc import Callable

from threadkeep.drivers.sql.jobs import Submitted
from threadkeep.ports.documents import Inserted


class StagedJob:
    """Satisfies ``Staged``: a batch in a writer's queue."""

    def __init__(self, submitted: Submitted[Inserted]) -> None:
        self._job = submitted.job
        self._inserted = submitted.future
        self._inserted.add_done_callback(_noticed)

    async def committed(self) -> Inserted:
        """See ``Staged.committed``; giving up waiting does not take the batch back."""
        return await asyncio.shield(self._inserted)

    def so_far(self) -> Inserted | None:
        """See ``Staged.so_far``."""
        return self._job.so_far()

    def when_known(self, call: Callable[[], None]) -> None:
        """See ``Staged.when_known``."""
        self._inserted.add_done_callback(lambda _: call())


def _noticed(inserted: "asyncio.Future[Inserted]") -> None:
    """Take a failure for heard: whoever staged the batch may be gone by then."""
    if not inserted.cancelled():
        inserted.exception()
