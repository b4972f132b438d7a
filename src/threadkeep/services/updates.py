"""Which threads are changed by hand right now: no run begins on one meanwhile.

An update and a run that both follow the newest checkpoint would make a fork, and the one that
wrote first would be out of the conversation.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Updates:
    """The updates under way in this process; all methods are called on one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def of(self, thread_id: str) -> AsyncIterator[None]:
        """Count as under way; waits for the thread's update before."""
        await self.ended(thread_id)
        ended = self._under_way[thread_id] = asyncio.Event()
        try:
            yield
        finally:
            del self._under_way[thread_id]
            ended.set()

    async def ended(self, thread_id: str) -> None:
        """Wait until no update of the thread is under way; gives nothing up when none is."""
        while (under_way := self._under_way.get(thread_id)) is not None:
            await under_way.wait()
