"""Which deliveries this process has just written and makes the first attempt of."""

import asyncio
from collections import deque


class Outbox:
    """Ids of deliveries, from who settles a run to who sends; what is lost here is due later."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self._posted: deque[str] = deque()

    def post(self, delivery_id: str) -> None:
        """Have a delivery sent soon."""
        self._posted.append(delivery_id)
        self.news.set()

    def take(self, limit: int) -> list[str]:
        """Return up to so many that were posted, oldest first, and let go of them."""
        return [self._posted.popleft() for _ in range(min(limit, len(self._posted)))]

    def __len__(self) -> int:
        return len(self._posted)
