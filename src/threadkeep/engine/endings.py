"""Who waits in this process for which run to end."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from threadkeep.model.runs import RunResult


class Endings:
    """Wakes those who wait; keeps nothing for who comes later, since the run's row says it."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[RunResult]]] = {}

    @contextmanager
    def watch(self, run_id: str) -> Iterator[asyncio.Future[RunResult]]:
        """Yield a future that gets the result when the run ends in this process."""
        ended: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run_id, set()).add(ended)
        try:
            yield ended
        finally:
            if (waiting := self._waiting.get(run_id)) is not None:
                waiting.discard(ended)
                if not waiting:
                    del self._waiting[run_id]

    def tell(self, run_id: str, result: RunResult) -> None:
        """Give everybody who waits for a run its result."""
        for ended in self._waiting.pop(run_id, ()):
            if not ended.done():
                ended.set_result(result)
