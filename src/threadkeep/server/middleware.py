"""What happens to every request: an id, a bound on its body, leave for pages of other origins."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.errors import BodyTooLargeError
from threadkeep.server.errors import error_response
from threadkeep.server.wire import MISSED_HEADER, NEXT_HEADER, TOTAL_HEADER

REQUEST_ID_HEADER = "X-Request-Id"
SAFE_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
EXPOSED_HEADERS = (
    *("Content-Location", "Location", NEXT_HEADER, TOTAL_HEADER, MISSED_HEADER),
    REQUEST_ID_HEADER,
)
MAX_DRAINED_BYTES = 64 * 1024 * 1024  # of a refused body; past it the connection is cut


def middleware(*, max_body_bytes: int, cors: Mapping[str, Any]) -> Sequence[Middleware]:
    """Return the layers around the routes, outermost first."""
    chosen = {"allow_methods": ["*"], "allow_headers": ["*"]} | {**cors}
    if not {"allow_origins", "allow_origin_regex"} & chosen.keys():
        chosen["allow_origins"] = ["*"]
    chosen["expose_headers"] = [*EXPOSED_HEADERS, *chosen.get("expose_headers", [])]
    return [
        Middleware(RequestId),
        Middleware(CORSMiddleware, **chosen),
        Middleware(BodyLimit, max_bytes=max_body_bytes),
    ]


def request_id_of(scope: Scope) -> str:
    """Return the id that ``RequestId`` gave a request."""
    found: str = scope["state"]["request_id"]
    return found


class RequestId:
    """Gives each request an id, the caller's own where it is plain, and names it in the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
        request_id = given if SAFE_REQUEST_ID.fullmatch(given) else str(uuid4())
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            await send(message)

        await self._app(scope, receive, send_named)


class BodyLimit:
    """Refuses bodies above a size: by their announced length, and by what really comes."""

    def __init__(self, app: ASGIApp, *, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > self._max_bytes:
            await self._refuse(scope, receive, send)
            return
        await self._app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        left = self._max_bytes

        async def receive_counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                await _drain(receive, message)
                raise BodyTooLargeError(self._max_bytes)
            return message

        return receive_counted

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _drain(receive, {"type": "http.request", "more_body": True})
        error = BodyTooLargeError(self._max_bytes)
        await error_response(error, request_id_of(scope))(scope, receive, send)


async def _drain(receive: Receive, message: Message) -> None:
    """Take in the rest of a refused body, so that its sender gets to read the answer."""
    taken = 0
    while message["type"] == "http.request" and message.get("more_body"):
        if taken > MAX_DRAINED_BYTES:
            return
        message = await receive()
        taken += len(message.get("body", b""))
