"""The saver's ``verify``: every document of its scope, held against the others."""

import copy
import time
from collections.abc import AsyncIterator, Iterator, Sequence

from threadkeep.checkpoints.findings import ThreadReport
from threadkeep.checkpoints.opaque import opaque_codec
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.thread_check import ThreadCheck
from threadkeep.checkpoints.verify import next_thread, report_of, verify_thread
from threadkeep.model.uuid_times import ticks
from threadkeep.savers.addresses import thread_id_of
from threadkeep.savers.driving import Driving


class Verifying(Driving):
    """A part of ``DocumentCheckpointSaver``."""

    def verify(self, thread_ids: Sequence[str] | None = None) -> Iterator[ThreadReport]:
        """Check that every reference resolves and every document is what was stored.

        Nothing is deserialized and no class is imported. Threads are read one after the other, by
        the page, while others may write to them; a thread in which something is wrong is read
        twice, and what is wrong both times is told.

        Args:
            thread_ids: The threads; all of the saver's scope where none are given.

        Returns:
            One report for each thread, in the order of ids, as it is done.
        """
        given = None if thread_ids is None else [thread_id_of(each) for each in thread_ids]
        looking = self._looking()
        for thread_id in looking._threads(given):
            yield report_of(looking._run(self._verify(thread_id)))

    async def averify(self, thread_ids: Sequence[str] | None = None) -> AsyncIterator[ThreadReport]:
        """See ``verify``."""
        given = None if thread_ids is None else [thread_id_of(each) for each in thread_ids]
        after = None
        looking = self._looking()
        while True:
            if given is None:
                thread_id = after = await looking._arun(next_thread(after))
            else:
                thread_id = given.pop(0) if given else None
            if thread_id is None:
                return
            yield report_of(await looking._arun(self._verify(thread_id)))

    def _looking(self) -> "Verifying":
        """Return a view to which a document that cannot be decrypted is no error."""
        view = copy.copy(self)
        view._keyring = None if self._keyring is None else self._keyring.telling()
        return view

    def _verify(self, thread_id: str) -> Steps[ThreadCheck]:
        own = self._codec()
        codec = opaque_codec(own.key, own.older_keys)
        return verify_thread(thread_id, codec, ticks(time.time_ns()))

    def _threads(self, given: Sequence[str] | None) -> Iterator[str]:
        if given is not None:
            yield from given
            return
        thread_id = self._run(next_thread(None))
        while thread_id is not None:
            yield thread_id
            thread_id = self._run(next_thread(thread_id))
