"""Assistants over HTTP."""

from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp

from threadkeep.model.assistants import AssistantPatch
from threadkeep.model.queries import AssistantQuery, VersionQuery
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


async def create(call: Call) -> ASGIApp:
    """Make an assistant."""
    made = await call.services.assistants.create(**await call.body(bodies.ASSISTANT_CREATE))
    return json_response(wire.assistant(made))


async def update(call: Call) -> ASGIApp:
    """Make a new version of an assistant."""
    body = await call.body(bodies.ASSISTANT_UPDATE)
    given = {name: value for name, value in body.items() if value is not None}
    changed = await call.services.assistants.update(call.assistant(), AssistantPatch(**given))
    return json_response(wire.assistant(changed))


async def delete(call: Call) -> ASGIApp:
    """Delete an assistant; its threads, too, where that is asked for."""
    delete_threads = call.flag("delete_threads")
    await call.services.assistants.delete(call.assistant(), delete_threads=delete_threads)
    return Response(status_code=204)


async def versions(call: Call) -> ASGIApp:
    """Read a page of an assistant's versions."""
    query = VersionQuery(**await call.body(bodies.VERSION_SEARCH))
    listing = await call.services.assistants.versions(call.assistant(), query)
    return page_response([wire.version(row) for row in listing.rows], listing)


async def set_latest(call: Call) -> ASGIApp:
    """Make a version of an assistant active again."""
    body = await call.body(bodies.VERSION_CHOICE)
    active = await call.services.assistants.set_latest(call.assistant(), body["version"])
    return json_response(wire.assistant(active))


async def get(call: Call) -> ASGIApp:
    """Read an assistant."""
    found = await call.services.assistants.get(call.assistant())
    return json_response(wire.assistant(found))


async def schemas(call: Call) -> ASGIApp:
    """Read the JSON Schemas of an assistant's graph."""
    return json_response(await call.services.assistants.schemas(call.assistant()))


async def graph(call: Call) -> ASGIApp:
    """Read the drawing of an assistant's graph."""
    xray = call.query("xray", _xray, default=False)
    return json_response(await call.services.assistants.drawing(call.assistant(), xray=xray))


async def subgraphs(call: Call) -> ASGIApp:
    """Read the JSON Schemas of the subgraphs of an assistant's graph, by namespace."""
    namespace = call.text("namespace") if "namespace" in call.request.path_params else None
    found = await call.services.assistants.subgraphs(
        call.assistant(), namespace=namespace, recurse=call.flag("recurse")
    )
    return json_response(found)


def _xray(value: Any, path: str) -> int | bool:
    if value.lower() in {"true", "false"}:
        return bool(value.lower() == "true")
    if value.isascii() and value.isdecimal() and int(value) <= MAX_XRAY:
        return int(value)
    raise checks.wrong(value, path, f'"true", "false" or a depth of at most {MAX_XRAY}')
