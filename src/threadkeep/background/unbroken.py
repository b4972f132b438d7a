"""Work that goes on for as long as a server is open, and begins anew where it breaks off."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

RESTART_SECONDS = 1.0  # before work that broke off begins anew

log = logging.getLogger(__name__)


def in_background(stack: AsyncExitStack, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run something until the stack is closed down to here, anew where it broke off."""
    task = asyncio.create_task(_unbroken(work))

    async def stop() -> None:
        task.cancel()
        await asyncio.wait({task})

    stack.push_async_callback(stop)


async def _unbroken(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    while True:
        try:
            return await work()
        except Exception:
            log.exception("background work broke off; it begins anew")
        await asyncio.sleep(RESTART_SECONDS)
