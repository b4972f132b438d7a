"""The outermost ASGI app: opens what it serves when it starts, and closes it when it ends.

It may be served alone or be mounted in another app. A mounted app hears nothing of its host's
start and end, so it opens at the first request; a host that passes on ``lifespan`` has it opened
before, and closed in order. ``/ok`` is answered while everything else is still opening.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol
from uuid import uuid4

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from threadkeep.server.errors import error_response

CLOSE_WEBSOCKET = {"type": "websocket.close", "code": 1000}


class Served(Protocol):
    """Something opened that answers requests."""

    @property
    def app(self) -> ASGIApp:
        """Answers them."""
        ...


Opening = Callable[[], AbstractAsyncContextManager[Served]]


class Entrance:
    """Serves what an opening yields, from the first ``open`` or request until ``close``."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._keeper: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[Served]
        self._ending: asyncio.Event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        match scope["type"]:
            case "lifespan":
                await self._lifespan(receive, send)
            case "http" if _is_ok(scope) and not self._is_open():
                self._begin()
                await JSONResponse({"ok": True})(scope, receive, send)
            case "http" | "websocket":
                app = await self._app()
                await app(scope, receive, send)

    async def open(self) -> Served:
        """Open what is served, once, and return it when it is open.

        Raises:
            ThreadkeepError: It cannot be opened; the next call tries again.
        """
        self._begin()
        return await asyncio.shield(self._opened)

    async def _app(self) -> ASGIApp:
        """Return what answers a request: the error, where nothing can be opened."""
        try:
            return (await self.open()).app
        except Exception as error:
            return error_response(error, str(uuid4()))

    async def close(self) -> None:
        """Close what was opened; idempotent."""
        keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.get_loop().is_closed():
            return
        self._ending.set()
        await asyncio.wait({keeper})
        if not keeper.cancelled() and self._opened.done() and not self._opened.exception():
            keeper.result()

    @asynccontextmanager
    async def lifespan(self, host: object = None) -> AsyncIterator[None]:
        """Be open for the time of a block: pass it, or call it in, your host app's lifespan.

        Raises:
            ThreadkeepError: It cannot be opened.
        """
        await self.open()
        try:
            yield
        finally:
            await self.close()

    def _is_open(self) -> bool:
        return self._is_kept() and self._opened.done()

    def _is_kept(self) -> bool:
        """Say whether the task is alive; a loop that has ended took it along."""
        keeper = self._keeper
        return keeper is not None and not keeper.done() and not keeper.get_loop().is_closed()

    def _begin(self) -> None:
        """Start the task that opens and closes: both happen in it, whoever asks."""
        if self._is_kept():
            return
        self._opened = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(self._opened, self._ending))

    async def _keep(self, opened: asyncio.Future[Served], ending: asyncio.Event) -> None:
        try:
            async with self._opening() as served:
                opened.set_result(served)
                await ending.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)
            opened.exception()  # whoever asked has it; nobody may have asked

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.open()
        except BaseException as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})


def _is_ok(scope: Scope) -> bool:
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path == "/ok" and scope["method"] in ("GET", "HEAD")
