"""The outermost app: opened once, whoever asks; closed in order; ``/ok`` meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.errors import ConfigError
from threadkeep.server.entrance import Entrance

pytestmark = pytest.mark.anyio


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("served")(scope, receive, send)


@dataclass
class House:
    """What is opened: counts, and opens only when it may."""

    app: ASGIApp = answer
    opened: int = 0
    closed: int = 0
    error: Exception | None = None
    may_open: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def opening(self) -> AsyncIterator["House"]:
        await self.may_open.wait()
        if self.error is not None:
            raise self.error
        self.opened += 1
        yield self
        self.closed += 1


def client(app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


async def test_ok_answers_while_everything_else_waits_for_the_opening() -> None:
    house = House()
    entrance = Entrance(house.opening)
    async with client(entrance) as http:
        assert (await http.get("/ok")).json() == {"ok": True}
        waiting = [asyncio.create_task(http.get(f"/{n}")) for n in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        house.may_open.set()
        assert {(await task).text for task in waiting} == {"served"}
        assert (await http.get("/ok")).text == "served"
    await entrance.close()
    await entrance.close()
    assert (house.opened, house.closed) == (1, 1)


async def test_a_failed_opening_is_told_and_tried_again() -> None:
    house = House(error=ConfigError("no database"))
    house.may_open.set()
    entrance = Entrance(house.opening)
    for _ in range(2):
        with pytest.raises(ConfigError, match="no database"):
            await entrance.open()
    house.error = None
    await entrance.open()
    await entrance.close()
    assert (house.opened, house.closed) == (1, 1)


async def test_it_can_be_mounted_and_opens_at_the_first_request() -> None:
    house = House()
    house.may_open.set()
    entrance = Entrance(house.opening)
    async with client(Starlette(routes=[Mount("/agents", entrance)])) as http:
        assert house.opened == 0
        assert (await http.get("/agents/ok")).status_code == 200
        assert (await http.get("/agents/threads")).text == "served"
    await entrance.close()


async def test_a_host_can_pass_its_lifespan_on() -> None:
    house = House()
    house.may_open.set()
    entrance = Entrance(house.opening)
    async with entrance.lifespan(object()):
        assert (house.opened, house.closed) == (1, 0)
    assert (house.opened, house.closed) == (1, 1)


async def test_it_speaks_the_lifespan_protocol() -> None:
    house = House()
    house.may_open.set()
    sent: list[Message] = []
    asked = asyncio.Queue[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    asked.put_nowait({"type": "lifespan.startup"})
    asked.put_nowait({"type": "lifespan.shutdown"})
    await Entrance(house.opening)({"type": "lifespan"}, asked.get, send)
    assert [message["type"] for message in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert house.closed == 1


async def test_a_request_that_cannot_be_served_is_told_why() -> None:
    house = House(error=ConfigError("no database"))
    house.may_open.set()
    async with client(Entrance(house.opening)) as http:
        response = await http.get("/threads")
    assert response.status_code == 500
    assert response.json() == {"detail": "no database", "code": "config", "status": 500}
