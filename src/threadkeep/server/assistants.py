"""Assistants over HTTP."""

from typing import Any

from starlette.types import ASGIApp

from threadkeep.model.queries import AssistantQuery
from threadkeep.server import bodies, checks, wire
from threadkeep.server.call import Call
from threadkeep.server.wire import json_response, page_response, pick

MAX_XRAY = 20  # levels of subgraphs a drawing may unfold


async def search(call: Call) -> ASGIApp:
    """Read a page of assistants."""
    body = await call.body(bodies.ASSISTANT_SEARCH)
    select = body.pop("select")
    listing = await call.services.assistants.search(AssistantQuery(**body))
    return page_response([pick(wire.assistant(row), select) for row in listing.rows], listing)


async def count(call: Call) -> ASGIApp:
    """Count assistants."""
    body = await call.body(bodies.ASSISTANT_COUNT)
    return json_response(await call.services.assistants.count(AssistantQuery(**body)))


async def get(call: Call) -> ASGIApp:
    """Read an assistant."""
    found = await call.services.assistants.get(_ident(call))
    return json_response(wire.assistant(found))


async def schemas(call: Call) -> ASGIApp:
    """Read the JSON Schemas of an assistant's graph."""
    return json_response(await call.services.assistants.schemas(_ident(call)))


async def graph(call: Call) -> ASGIApp:
    """Read the drawing of an assistant's graph."""
    xray = call.query("xray", _xray, default=False)
    return json_response(await call.services.assistants.drawing(_ident(call), xray=xray))


async def subgraphs(call: Call) -> ASGIApp:
    """Read the JSON Schemas of the subgraphs of an assistant's graph, by namespace."""
    namespace = call.text("namespace") if "namespace" in call.request.path_params else None
    found = await call.services.assistants.subgraphs(
        _ident(call), namespace=namespace, recurse=call.flag("recurse")
    )
    return json_response(found)


def _ident(call: Call) -> str:
    """Return an assistant's id, or that of the default one when the path names a graph."""
    given = call.text("assistant_id")
    return call.services.assistants.default_id(given) or call.ident("assistant_id")


def _xray(value: Any, path: str) -> int | bool:
    if value.lower() in {"true", "false"}:
        return bool(value.lower() == "true")
    if value.isascii() and value.isdecimal() and int(value) <= MAX_XRAY:
        return int(value)
    raise checks.wrong(value, path, f'"true", "false" or a depth of at most {MAX_XRAY}')
