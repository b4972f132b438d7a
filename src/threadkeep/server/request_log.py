"""One short line for each request: method, path, status, time."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("threadkeep.requests")


class RequestLog:
    """Logs each request of an app when its answer is complete, a stream when it has ended."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        if scope["type"] != "http" or not log.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), "-"

        async def send_seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_seen)
        finally:
            spent = (time.perf_counter() - began) * 1000
            log.info("%s %s %s %.0f ms", scope["method"], scope["path"], status, spent)
