"""Events and late answers as raw ASGI: frames, heartbeats, and clients that go away."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from threadkeep.errors import NotFoundError
from threadkeep.model.events import Event
from threadkeep.model.runs import Run, RunResult
from threadkeep.server.sse import (
    EventStream,
    LateJson,
    begin_or_end,
    frame,
    parse_last_event_id,
)
from threadkeep.services.streams import RunStream

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 2, tzinfo=UTC)
RUN = Run("r", "t", "a", "running", {}, {}, "enqueue", NOW, NOW, NOW)
SOON = 0.01  # seconds between heartbeats in these tests


class Connection:
    """A client's end of one request: what it was sent, and whether it is still there."""

    def __init__(self, *, breaks_after: int | None = None) -> None:
        self.sent: list[Message] = []
        self.gone = asyncio.Event()
        self._arrived = asyncio.Event()
        self._breaks_after = breaks_after

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._breaks_after is not None and len(self.sent) >= self._breaks_after:
            raise OSError("gone")
        self.sent.append(message)
        self._arrived.set()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    @property
    def is_complete(self) -> bool:
        return bool(self.sent) and self.sent[-1].get("more_body") is False

    async def has_sent(self, text: bytes) -> None:
        async with asyncio.timeout(5):
            while text not in self.body:
                self._arrived.clear()
                await self._arrived.wait()


class Source:
    """Events to stream, and how the stream was closed."""

    def __init__(self) -> None:
        self.bursts: asyncio.Queue[list[Event] | Exception | None] = asyncio.Queue()
        self.closed_as: list[bool] = []

    async def events(self) -> AsyncIterator[list[Event]]:
        while (burst := await self.bursts.get()) is not None:
            if isinstance(burst, Exception):
                raise burst
            yield burst

    async def close(self, disconnected: bool) -> None:
        self.closed_as.append(disconnected)

    def response(self, **changes: Any) -> EventStream:
        stream = RunStream(RUN, self.events(), self.close)
        options: dict[str, Any] = {"headers": {}, "with_ids": False, "heartbeat_seconds": 5.0}
        return EventStream(stream, **options | changes)


async def answered(response: EventStream | LateJson, connection: Connection) -> None:
    async with asyncio.timeout(5):
        await response({"type": "http"}, connection.receive, connection.send)


def event(seq: int, name: str = "values", data: bytes = b'{"a":1}') -> Event:
    return Event(seq, name, data)


def test_a_frame_has_an_id_only_when_asked_for() -> None:
    assert frame(event(7), with_id=False) == b'event: values\r\ndata: {"a":1}\r\n\r\n'
    assert frame(event(7), with_id=True) == b'event: values\r\ndata: {"a":1}\r\nid: 7\r\n\r\n'


def test_a_name_cannot_break_a_frame() -> None:
    framed = frame(event(1, "values|a\r\nid: 9\n"), with_id=False)
    assert framed.count(b"\n") == 3


@pytest.mark.parametrize(
    ("text", "after"),
    [("-1", 0), ("0", 0), ("12", 12), (None, None), ("", None), ("x", None), ("1-2", None),
     ("-2", None), ("9" * 19, None), ("٣", None)],
)  # fmt: skip
def test_a_last_event_id_says_where_to_go_on(text: str | None, after: int | None) -> None:
    assert parse_last_event_id(text) == after


async def test_the_events_of_a_burst_come_in_one_piece() -> None:
    source, connection = Source(), Connection()
    source.bursts.put_nowait([event(1), event(2)])
    source.bursts.put_nowait([event(3)])
    source.bursts.put_nowait(None)
    await answered(source.response(with_ids=True, headers={"Location": "/x"}), connection)
    start, first, second, last = connection.sent
    assert dict(start["headers"])[b"location"] == b"/x"
    assert dict(start["headers"])[b"cache-control"] == b"no-store"
    assert first["body"].count(b"event: ") == 2
    assert second["body"].count(b"event: ") == 1
    assert (last["body"], last["more_body"]) == (b"", False)
    assert source.closed_as == [False]


async def test_a_silence_is_filled() -> None:
    source, connection = Source(), Connection()
    task = asyncio.create_task(answered(source.response(heartbeat_seconds=SOON), connection))
    await connection.has_sent(b": heartbeat\r\n\r\n: heartbeat\r\n\r\n")
    source.bursts.put_nowait([event(1)])
    source.bursts.put_nowait(None)
    await task
    assert connection.body.endswith(frame(event(1), with_id=False))


async def test_a_client_that_goes_away_closes_the_stream_as_lost() -> None:
    source, connection = Source(), Connection()
    task = asyncio.create_task(answered(source.response(), connection))
    source.bursts.put_nowait([event(1)])
    await connection.has_sent(b"event: values")
    connection.gone.set()
    await task
    assert source.closed_as == [True]
    assert not connection.is_complete


@pytest.mark.parametrize("breaks_after", [0, 1, 2])
async def test_a_broken_line_closes_the_stream_as_lost(breaks_after: int) -> None:
    source, connection = Source(), Connection(breaks_after=breaks_after)
    source.bursts.put_nowait([event(1)])
    source.bursts.put_nowait([event(2)])
    source.bursts.put_nowait(None)
    await answered(source.response(), connection)
    assert source.closed_as == [True]


async def test_a_stream_whose_source_breaks_ends_with_an_error_that_says_nothing() -> None:
    source, connection = Source(), Connection()
    source.bursts.put_nowait([event(1)])
    source.bursts.put_nowait(RuntimeError("secret"))
    await answered(source.response(), connection)
    assert b"event: error\r\n" in connection.body
    assert b"secret" not in connection.body
    assert connection.is_complete
    assert source.closed_as == [False]


async def test_a_stream_that_is_cancelled_is_closed_as_lost() -> None:
    source, connection = Source(), Connection()
    task = asyncio.create_task(answered(source.response(), connection))
    source.bursts.put_nowait([event(1)])
    await connection.has_sent(b"event: values")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed_as == [True]


async def end(
    result: RunResult | Exception | None, *, after: Connection | None = None
) -> RunResult:
    """Be a run that ends at once, or after a client was kept waiting; never without a result."""
    if result is None:
        await asyncio.Event().wait()
    if after is not None:
        await after.has_sent(b"\n")
    if isinstance(result, Exception):
        raise result
    assert result is not None
    return result


def late(
    result: RunResult | Exception | None, connection: Connection
) -> tuple["asyncio.Task[RunResult]", LateJson]:
    ending = asyncio.create_task(end(result, after=connection))
    return ending, LateJson(ending, headers={"Location": "/x"}, heartbeat_seconds=SOON)


async def test_a_late_answer_is_announced_and_kept_alive_by_whitespace() -> None:
    connection = Connection()
    _, response = late(RunResult(RUN, b'{"a":1}'), connection)
    await answered(response, connection)
    assert dict(connection.sent[0]["headers"])[b"location"] == b"/x"
    assert connection.body.startswith(b"\n")
    assert connection.body.lstrip(b"\n") == b'{"a":1}'
    assert connection.is_complete


async def test_a_run_without_values_is_answered_with_null() -> None:
    connection = Connection()
    await answered(late(RunResult(RUN, None), connection)[1], connection)
    assert connection.body.strip() == b"null"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NotFoundError("run", "r"), b'{"error":"NotFoundError","message":"no run \'r\'"}'),
        (RuntimeError("secret"), b'"error":"InternalError"'),
    ],
)
async def test_a_run_that_cannot_be_read_is_answered_with_an_error(
    error: Exception, says: bytes
) -> None:
    connection = Connection()
    await answered(late(error, connection)[1], connection)
    assert says in connection.body
    assert b"secret" not in connection.body


async def test_a_client_that_goes_away_gives_up_waiting() -> None:
    connection = Connection()
    ending, response = late(None, connection)
    task = asyncio.create_task(answered(response, connection))
    await connection.has_sent(b"\n")
    connection.gone.set()
    await task
    assert ending.cancelled()


async def test_a_run_that_ends_at_once_is_not_announced_before() -> None:
    connection, begun = Connection(), asyncio.get_running_loop().create_future()
    ending = asyncio.create_task(end(RunResult(RUN, b"1")))
    begun.set_result(RUN)
    await begin_or_end(ending, begun, connection.receive)
    assert ending.done()


async def test_a_run_that_takes_its_time_is_waited_for_only_a_moment() -> None:
    connection, begun = Connection(), asyncio.get_running_loop().create_future()
    ending = asyncio.create_task(end(None))
    begun.set_result(RUN)
    await begin_or_end(ending, begun, connection.receive)
    assert not ending.done()
    ending.cancel()


async def test_a_client_gone_before_the_run_has_begun_gives_up() -> None:
    connection, begun = Connection(), asyncio.get_running_loop().create_future()
    ending = asyncio.create_task(end(None))
    connection.gone.set()
    with pytest.raises(ClientDisconnect):
        await begin_or_end(ending, begun, connection.receive)
    assert ending.cancelled()
