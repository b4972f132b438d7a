"""Whether the server is there, and what it is."""

from importlib.metadata import PackageNotFoundError, version

from starlette.types import ASGIApp

import threadkeep
from threadkeep.server.call import Call
from threadkeep.server.wire import json_response

FLAGS = {"assistants": True, "crons": True, "langsmith": False}


async def ok(call: Call) -> ASGIApp:
    """Answer that requests are taken, whether or not the graphs are loaded yet."""
    return json_response({"ok": True})


async def info(call: Call) -> ASGIApp:
    """Answer with versions and with what a client may expect."""
    return json_response(
        {
            "version": threadkeep.__version__,
            "langgraph_py_version": _langgraph_version(),
            "flags": FLAGS,
        }
    )


def _langgraph_version() -> str | None:
    try:
        return version("langgraph")
    except PackageNotFoundError:
        return None
