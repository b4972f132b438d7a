"""Our application on a real port, in memory, in a thread of its own."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from langgraph.checkpoint.memory import InMemorySaver
from starlette.types import ASGIApp

from threadkeep.background.worker import Worker
from threadkeep.drivers.memory.bus import MemoryEventBus
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.engine.engine import Engine
from threadkeep.engine.executor import Executor
from threadkeep.engine.graphs import Graphs
from threadkeep.model.assistants import NewAssistant
from threadkeep.ports.clock import SystemClock
from threadkeep.savers.store import ItemStore
from threadkeep.server.app import build_app
from threadkeep.server.entrance import Entrance
from threadkeep.server.options import ServerOptions
from threadkeep.services.assistants import AssistantService
from threadkeep.services.context import Services
from threadkeep.services.items import ItemService
from threadkeep.services.runs import RunService
from threadkeep.services.state import StateService
from threadkeep.services.threads import ThreadService

POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Served:
    """What an entrance serves."""

    app: ASGIApp


@asynccontextmanager
async def services(given: Mapping[str, Any], *, max_page_size: int) -> AsyncIterator[Services]:
    """Open every service on memory."""
    resources = MemoryResourceStore(max_page_size=max_page_size)
    graphs, bus = Graphs.of(given), MemoryEventBus()
    saver, store = InMemorySaver(), ItemStore(resources)
    engine = Engine(graphs, bus, saver=saver, store=store)
    executor = Executor(engine, resources, bus, SystemClock(), owner="test")
    runs = RunService(resources, executor, graphs, bus)
    state = StateService(resources.threads, graphs, saver=saver, store=store)
    await resources.assistants.ensure(
        [
            NewAssistant(
                graphs.assistant_id_of(name), name, name, None, {}, {}, {"created_by": "system"}
            )
            for name in graphs.graph_ids
        ]
    )
    await graphs.load()
    working = asyncio.create_task(Worker(executor, resources).run())
    yield Services(
        assistants=AssistantService(resources.assistants, graphs),
        threads=ThreadService(resources.threads, runs=runs, state=state, saver=saver),
        state=state,
        runs=runs,
        items=ItemService(store),
    )
    working.cancel()
    await asyncio.wait({working})
    await executor.drain(grace_seconds=0)


@contextmanager
def serve(
    given: Mapping[str, Any], options: ServerOptions, *, max_page_size: int = 1000
) -> Iterator[str]:
    """Serve some graphs on a free port; yields the address."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[Served]:
        async with services(given, max_page_size=max_page_size) as opened:
            yield Served(build_app(opened, options))

    with listening() as sock:
        server = uvicorn.Server(
            uvicorn.Config(Entrance(opening), log_level="warning", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve(sockets=[sock])), daemon=True
        )
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive())
            assert server.started
            yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=20)


@contextmanager
def listening() -> Iterator[socket.socket]:
    """Hold a free port."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock


def until(look: Callable[[], Any], *, within_seconds: float = 20.0) -> Any:
    """Look until there is something to see, and return it."""
    deadline = time.monotonic() + within_seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"still {found!r}"
        time.sleep(POLL_SECONDS)
    return found
