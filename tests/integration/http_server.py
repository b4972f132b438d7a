"""Our application on a real port, in a thread of its own."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn

from threadkeep.config.settings import Settings
from threadkeep.server.entrance import Entrance
from threadkeep.wiring import Plan, open_runtime

POLL_SECONDS = 0.01


@contextmanager
def serve(
    given: Mapping[str, Any], database_url: str, *, auth: Any = None, **settings: Any
) -> Iterator[str]:
    """Serve some graphs on a free port; yields the address.

    Args:
        given: Graphs by id.
        database_url: Where everything is kept.
        auth: An ``Auth`` object, or ``None``.
        **settings: Fields of ``Settings``.
    """
    plan = Plan(Settings(database_url=database_url, **settings), graphs=given, auth=auth)
    with serve_plan(plan) as url:
        yield url


@contextmanager
def serve_plan(plan: Plan) -> Iterator[str]:
    """Serve what a plan says on a free port; yields the address."""
    app = Entrance(lambda: open_runtime(plan))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with socket.socket(proto=socket.IPPROTO_TCP) as sock:  # so that the loop sets TCP_NODELAY
        sock.bind(("127.0.0.1", 0))
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


def until(look: Callable[[], Any], *, within_seconds: float = 20.0) -> Any:
    """Look until there is something to see, and return it."""
    deadline = time.monotonic() + within_seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"still {found!r}"
        time.sleep(POLL_SECONDS)
    return found
