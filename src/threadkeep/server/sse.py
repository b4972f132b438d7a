"""A run's events as server-sent events, and a run's answer as JSON that may be long in coming.

Both are raw ASGI answers. They send their headers at once, so that the client knows the run; they
say something in every silence of ``heartbeat_seconds``; and they notice when the client is gone.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from threadkeep.engine.json import encode, error_of
from threadkeep.errors import ThreadkeepError
from threadkeep.model.events import Event
from threadkeep.model.runs import ERROR, Run, RunResult
from threadkeep.server.wire import JSON_TYPE
from threadkeep.services.streams import RunStream

log = logging.getLogger("threadkeep.server")

STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # or nginx holds events back
}
HEARTBEAT = b": heartbeat\r\n\r\n"
WHITESPACE = b"\n"  # before a JSON value it means nothing
BROKEN = {"error": "InternalError", "message": "the stream broke; join the run to go on"}
UNREADABLE = {
    "error": "InternalError",
    "message": "the run's answer could not be read; join the run to try again",
}
QUICK_SECONDS = 0.05  # an answer that takes longer is announced before it is there
MAX_SEQ_DIGITS = 18  # an id with more was never a seq


def frame(event: Event, *, with_id: bool) -> bytes:
    """Return one event as its lines; ``data`` is JSON and so has no line breaks of its own."""
    name = event.name.replace("\r", " ").replace("\n", " ").encode()
    ident = b"id: %d\r\n" % event.seq if with_id else b""
    return b"event: %b\r\ndata: %b\r\n%b\r\n" % (name, event.data, ident)


def parse_last_event_id(text: str | None) -> int | None:
    """Return the ``seq`` to go on behind: 0 for everything kept, ``None`` for new events only.

    ``-1`` asks for everything kept. An id that this server never gave is as good as none.
    """
    if text == "-1":
        return 0
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > MAX_SEQ_DIGITS:
        return None
    return int(text)


class FrameStream:
    """Answers with frames as they come."""

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        close: Callable[[bool], Awaitable[None]],
        *,
        headers: Mapping[str, str],
        heartbeat_seconds: float,
    ) -> None:
        """Prepare the answer.

        Args:
            parts: What to send: one frame or several at once.
            close: Called once at the end, with whether the client went away before it.
            headers: Beside those of every stream.
            heartbeat_seconds: The longest silence.
        """
        self._parts = parts
        self._close = close
        self._headers = STREAM_HEADERS | dict(headers)
        self._heartbeat_seconds = heartbeat_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        has_ended = False
        try:
            async with listening(receive) as gone:
                await _send_start(send, self._headers)
                has_ended = await self._send_events(send, gone)
                if has_ended:
                    await _send_part(send, b"", is_last=True)
        except OSError:
            log.debug("a client went away while it was sent events")
        finally:
            await asyncio.shield(self._close(not has_ended))

    async def _send_events(self, send: Send, gone: "asyncio.Task[None]") -> bool:
        """Send until the events end; false when the client went away first."""
        try:
            while (part := await self._next(send, gone)) is not None:
                await _send_part(send, part)
        except OSError:
            raise
        except Exception:
            log.exception("a stream broke")
            await _send_part(send, b"event: error\r\ndata: %b\r\n\r\n" % encode(BROKEN))
        return not gone.done()

    async def _next(self, send: Send, gone: "asyncio.Task[None]") -> bytes | None:
        """Return the next part, keeping the line alive meanwhile; ``None`` at either end."""
        coming = asyncio.ensure_future(anext(self._parts, None))
        try:
            while not await _first(coming, gone, seconds=self._heartbeat_seconds):
                await _send_part(send, HEARTBEAT)
            return None if gone.done() else coming.result()
        finally:
            await stopped(coming)


class EventStream(FrameStream):
    """Answers with a run's events as they come, those of a burst in one piece."""

    def __init__(
        self,
        stream: RunStream,
        *,
        headers: Mapping[str, str],
        with_ids: bool,
        heartbeat_seconds: float,
    ) -> None:
        """Prepare the answer.

        Args:
            stream: What to send; closed at the end, however that comes.
            headers: Beside those of every stream.
            with_ids: Whether events carry ids that a client can come back with.
            heartbeat_seconds: The longest silence.
        """

        async def parts() -> AsyncIterator[bytes]:
            async for burst in stream.events:
                yield b"".join(frame(event, with_id=with_ids) for event in burst)

        async def close(is_gone: bool) -> None:  # noqa: FBT001 - called with its position only
            await stream.aclose(disconnected=is_gone)

        super().__init__(parts(), close, headers=headers, heartbeat_seconds=heartbeat_seconds)


class LateJson:
    """Answers with the values of a run that has not ended; a lost client gives up waiting."""

    def __init__(
        self,
        ending: "asyncio.Task[RunResult]",
        *,
        headers: Mapping[str, str],
        heartbeat_seconds: float,
    ) -> None:
        """Prepare the answer.

        Args:
            ending: Ends with the run; cancelled when the client goes away first.
            headers: Beside the content type.
            heartbeat_seconds: The longest silence.
        """
        self._ending = ending
        self._headers = {"Content-Type": JSON_TYPE} | dict(headers)
        self._heartbeat_seconds = heartbeat_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        try:
            async with listening(receive) as gone:
                await _send_start(send, self._headers)
                while not await _first(self._ending, gone, seconds=self._heartbeat_seconds):
                    await _send_part(send, WHITESPACE)
                if self._ending.done():
                    await _send_part(send, self._body(), is_last=True)
        except OSError:
            log.debug("a client went away while it was answered")
        finally:
            await stopped(self._ending)

    def _body(self) -> bytes:
        try:
            return body_of(self._ending.result())
        except ThreadkeepError as error:
            return encode({ERROR: error_of(error)})
        except Exception:
            log.exception("a run's answer could not be read")
            return encode({ERROR: UNREADABLE})


def body_of(result: RunResult) -> bytes:
    """Return the JSON a caller who waited for a run is answered with."""
    return b"null" if result.values is None else result.values


async def begin_or_end(
    ending: "asyncio.Task[RunResult]", begun: "asyncio.Future[Run]", receive: Receive
) -> None:
    """Wait until a run has ended, or has begun and takes its time.

    Raises:
        ClientDisconnect: The client went away first; the task is cancelled.
    """
    try:
        async with listening(receive) as gone:
            pending: set[asyncio.Future[Any]] = {ending, begun, gone}
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                await _first(ending, gone, seconds=QUICK_SECONDS)
            if gone.done() and not ending.done():
                raise ClientDisconnect
    except BaseException:
        await stopped(ending)
        raise


@contextlib.asynccontextmanager
async def listening(receive: Receive) -> "AsyncIterator[asyncio.Task[None]]":
    """Watch for the client's going away; the task is done once it has."""

    async def listen() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    gone = asyncio.create_task(listen())
    try:
        yield gone
    finally:
        await stopped(gone)


async def stopped(task: "asyncio.Future[Any]") -> None:
    """Cancel a task and wait until it is over; how it ended is of no interest."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # seen, or the loop would report it as never retrieved


async def _first(*awaited: "asyncio.Future[Any]", seconds: float) -> bool:
    """Say whether one of some tasks is done, after waiting for it at most so long."""
    if not any(each.done() for each in awaited):
        await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return any(each.done() for each in awaited)


async def _send_start(send: Send, headers: Mapping[str, str]) -> None:
    pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": pairs})


async def _send_part(send: Send, body: bytes, *, is_last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not is_last})
