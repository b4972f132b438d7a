"""What happens on a thread as a stream: for readers of runs, and by the thread protocol."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any
from uuid import uuid4

from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from threadkeep.engine.json import encode
from threadkeep.errors import ThreadkeepError
from threadkeep.model.events import Event
from threadkeep.rules.paging import MAX_OFFSET
from threadkeep.server import checks, commands
from threadkeep.server.bodies import parse_json, read_body
from threadkeep.server.call import Call
from threadkeep.server.checks import Field
from threadkeep.server.protocol import CHANNELS, Filter, ThreadProtocol, seq_of
from threadkeep.server.sse import FrameStream, frame, parse_last_event_id
from threadkeep.server.wire import json_response
from threadkeep.services.thread_events import ThreadBurst

RUN_MODES, LIFECYCLE = "run_modes", "lifecycle"
THREAD_MODE = checks.one_of(RUN_MODES, LIFECYCLE)
METADATA = "metadata"
MAX_SUBSCRIPTIONS = 32  # of one websocket
POLICY_VIOLATION = 1008  # as RFC 6455 numbers it


def channel(value: Any, path: str) -> str:
    """Check the name of a channel."""
    name: str = checks.text()(value, path)
    if name in CHANNELS or name.startswith("custom:"):
        return name
    raise checks.wrong(value, path, f"custom:<name> or one of {', '.join(CHANNELS)}")


SUBSCRIPTION = (
    Field("channels", checks.list_of(channel, at_least=1), required=True),
    Field("namespaces", checks.list_of(checks.list_of(checks.text()))),
    Field("depth", checks.integer(at_least=0, at_most=1000)),
    Field("since", checks.integer(at_least=0, at_most=MAX_OFFSET), default=0),
)


async def join(call: Call) -> ASGIApp:
    """Answer with the events of every run of a thread, from now or from where a client left off."""
    thread_id = call.ident("thread_id")
    modes = call.query_list("stream_mode", THREAD_MODE) or [RUN_MODES]
    after = parse_last_event_id(call.request.headers.get("last-event-id"))
    await call.services.threads.get(thread_id)
    bursts = call.services.thread_events.listen(thread_id, replay=after is not None)

    async def parts() -> AsyncGenerator[bytes, None]:
        async for burst in bursts:
            if part := b"".join(_frames(burst, modes, after or 0)):
                yield part

    return _answer(call, parts())


def _frames(burst: ThreadBurst, modes: list[str], after: int) -> Iterable[bytes]:
    run, place = burst.run, 0
    for event in burst.events:
        place = event.seq
        if RUN_MODES in modes or event.name == METADATA:
            seq = seq_of(run, place)
            if seq > after:
                yield frame(Event(seq, event.name, event.data), with_id=True)
    if burst.has_ended:
        done = encode({"status": "run_done", "run_id": run.run_id})
        yield frame(Event(0, METADATA, done), with_id=False)


async def command(call: Call) -> ASGIApp:
    """Do a command of the thread protocol."""
    call.ident("thread_id")
    given = await read_body(call.request)
    if not commands.is_command(given):
        answer = commands.failure(None, "invalid_argument", commands.MALFORMED)
        named = {"detail": commands.MALFORMED, "code": "malformed_command", "status": 400}
        return json_response(answer | named, status=400)
    return json_response(await commands.answer(call, given))


async def events(call: Call) -> ASGIApp:
    """Answer with the events of the thread protocol that are asked for."""
    thread_id = call.ident("thread_id")
    wanted = _filter(await call.body(SUBSCRIPTION))

    async def parts() -> AsyncGenerator[bytes, None]:
        async for found in _wanted(call, thread_id, wanted):
            yield b"".join(
                frame(Event(event["seq"], event["method"], encode(event)), with_id=True)
                for event in found
            )

    return _answer(call, parts())


async def serve(websocket: WebSocket, call_of: Callable[[WebSocket], Call]) -> None:
    """Serve the thread protocol on a websocket: commands in, answers and events out."""
    call = call_of(websocket)
    try:
        thread_id = call.ident("thread_id")
    except ThreadkeepError as error:
        await websocket.close(POLICY_VIOLATION, str(error))
        return
    await websocket.accept()
    async with asyncio.TaskGroup() as group:
        socket = _Socket(websocket, call, thread_id, group)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await socket.take(await websocket.receive())
        socket.end()


class _Socket:
    """One websocket and its subscriptions."""

    def __init__(
        self, websocket: WebSocket, call: Call, thread_id: str, group: asyncio.TaskGroup
    ) -> None:
        self._websocket = websocket
        self._call = call
        self._thread_id = thread_id
        self._group = group
        self._sending = asyncio.Lock()
        self._open: dict[str, asyncio.Task[None]] = {}

    async def take(self, message: Any) -> None:
        """Answer one message.

        Raises:
            WebSocketDisconnect: It is the last one.
        """
        if message["type"] != "websocket.receive":
            raise WebSocketDisconnect(message.get("code", 1000))
        given = message.get("text") or message.get("bytes") or b""
        try:
            command = parse_json(given.encode() if isinstance(given, str) else given)
        except ThreadkeepError as error:
            await self._send(commands.failure(None, "invalid_argument", str(error)))
            return
        if not commands.is_command(command):
            failure = commands.failure(None, "invalid_argument", commands.MALFORMED)
            await self._send(failure)
            return
        params = command.get("params") or {}
        if command["method"] == "subscription.subscribe":
            await self._subscribe(command["id"], params)
        elif command["method"] == "subscription.unsubscribe":
            await self._unsubscribe(command["id"], params)
        else:
            await self._send(await commands.answer(self._call, command))

    def end(self) -> None:
        """End every subscription."""
        for task in self._open.values():
            task.cancel()

    async def _subscribe(self, ident: int, params: Any) -> None:
        try:
            wanted = _filter(checks.read_fields(params, SUBSCRIPTION, "params"))
        except ThreadkeepError as error:
            await self._send(commands.failure(ident, "invalid_argument", str(error)))
            return
        if len(self._open) >= MAX_SUBSCRIPTIONS:
            message = f"a websocket has at most {MAX_SUBSCRIPTIONS} subscriptions"
            await self._send(commands.failure(ident, "invalid_argument", message))
            return
        name = str(uuid4())
        result = {"subscription_id": name, "replayed_events": 0}
        await self._send(commands.success(ident, result))
        self._open[name] = self._group.create_task(self._tell(wanted))

    async def _unsubscribe(self, ident: int, params: Any) -> None:
        name = params.get("subscription_id") if isinstance(params, dict) else None
        task = self._open.pop(name, None) if isinstance(name, str) else None
        if task is None:
            message = f"no subscription {checks.shown(name)}"
            await self._send(commands.failure(ident, "no_such_subscription", message))
            return
        task.cancel()
        await self._send(commands.success(ident, {}))

    async def _tell(self, wanted: Filter) -> None:
        try:
            async with contextlib.aclosing(_wanted(self._call, self._thread_id, wanted)) as found:
                async for events in found:
                    for event in events:
                        await self._send(event)
        except ThreadkeepError as error:
            await self._send(commands.failure(None, "unknown_error", str(error)))
        except (WebSocketDisconnect, RuntimeError, OSError):
            return  # the client is gone; whoever reads from it sees that, too

    async def _send(self, message: dict[str, Any]) -> None:
        async with self._sending:
            await self._websocket.send_text(encode(message).decode())


def _filter(body: dict[str, Any]) -> Filter:
    return Filter(frozenset(body["channels"]), body["namespaces"], body["depth"], body["since"])


async def _wanted(
    call: Call, thread_id: str, wanted: Filter
) -> AsyncGenerator[list[dict[str, Any]], None]:
    told = ThreadProtocol()
    bursts = call.services.thread_events.listen(thread_id, replay=True)
    async with contextlib.aclosing(bursts):
        async for burst in bursts:
            if found := [event for event in told.take(burst) if wanted.wants(event)]:
                yield found


def _answer(call: Call, parts: AsyncGenerator[bytes, None]) -> ASGIApp:
    async def close(is_gone: bool) -> None:  # noqa: FBT001 - called with its position only
        await parts.aclose()

    return FrameStream(parts, close, headers={}, heartbeat_seconds=call.options.heartbeat_seconds)
