"""Threads and their states over HTTP."""

from typing import Any, get_args

from starlette.responses import Response
from starlette.types import ASGIApp

from threadkeep.model.queries import ThreadField, ThreadQuery
from threadkeep.model.unset import UNSET
from threadkeep.server import bodies, checks, wire
from threadkeep.server.bodies import read_body
from threadkeep.server.call import Call
from threadkeep.server.wire import json_response, page_response, pick
from threadkeep.services.state import HISTORY_LIMIT

INCLUDED = checks.one_of("ttl")


async def create(call: Call) -> ASGIApp:
    """Make a thread."""
    body = await call.body(bodies.THREAD_CREATE)
    made = await call.services.threads.create(
        thread_id=body["thread_id"],
        metadata=body["metadata"],
        ttl_minutes=body["ttl"],
        if_exists=body["if_exists"],
    )
    return json_response(wire.thread(made))


async def get(call: Call) -> ASGIApp:
    """Read a thread."""
    included = call.query_list("include", INCLUDED) or ()
    found = await call.services.threads.get(call.ident("thread_id"))
    shown = wire.thread(found)
    if "ttl" in included:
        shown["ttl"] = wire.lifetime(found)
    return json_response(shown)


async def update(call: Call) -> ASGIApp:
    """Merge a thread's metadata, and set its lifetime, or clear it with ``null``."""
    thread_id = call.ident("thread_id")
    given = await read_body(call.request)
    body = checks.read_fields(given, bodies.THREAD_UPDATE)
    updated = await call.services.threads.update(
        thread_id,
        metadata=body["metadata"],
        ttl_minutes=body["ttl"] if "ttl" in given else UNSET,
    )
    if "return=minimal" in call.request.headers.get("prefer", ""):
        return Response(status_code=204)
    return json_response(wire.thread(updated))


async def delete(call: Call) -> ASGIApp:
    """Delete a thread with all that was its."""
    await call.services.threads.delete(call.ident("thread_id"))
    return Response(status_code=204)


async def search(call: Call) -> ASGIApp:
    """Read a page of threads; their values only when they are selected."""
    body = await call.body(bodies.THREAD_SEARCH)
    select, _ = body.pop("select"), body.pop("extract")
    read = None if select is None else [name for name in get_args(ThreadField) if name in select]
    listing = await call.services.threads.search(ThreadQuery(**body, select=read))
    return page_response([pick(wire.thread(row), select) for row in listing.rows], listing)


async def count(call: Call) -> ASGIApp:
    """Count threads."""
    body = await call.body(bodies.THREAD_COUNT)
    return json_response(await call.services.threads.count(ThreadQuery(**body)))


async def get_state(call: Call) -> ASGIApp:
    """Read a thread's newest state."""
    return await _state(call, None, subgraphs=call.flag("subgraphs"))


async def get_state_at(call: Call) -> ASGIApp:
    """Read a thread's state at one checkpoint of the root graph."""
    place = {"checkpoint_id": call.text("checkpoint_id")}
    return await _state(call, place, subgraphs=call.flag("subgraphs"))


async def post_state_at(call: Call) -> ASGIApp:
    """Read a thread's state at one checkpoint of any of its graphs."""
    body = await call.body(bodies.STATE_AT)
    return await _state(call, body["checkpoint"], subgraphs=body["subgraphs"])


async def _state(call: Call, place: Any, *, subgraphs: bool) -> ASGIApp:
    thread_id = call.ident("thread_id")
    found = await call.services.state.get(thread_id, checkpoint=place, subgraphs=subgraphs)
    return json_response(wire.no_state(thread_id) if found is None else wire.state(found))


async def update_state(call: Call) -> ASGIApp:
    """Change a thread's state by hand."""
    thread_id = call.ident("thread_id")
    body = await call.body(bodies.STATE_UPDATE)
    place = body["checkpoint"]
    if body["checkpoint_id"] is not None:
        place = {**(place or {}), "checkpoint_id": body["checkpoint_id"]}
    written = await call.services.state.update(
        thread_id, body["values"], as_node=body["as_node"], checkpoint=place
    )
    return json_response({"checkpoint": wire.checkpoint(written)})


async def post_history(call: Call) -> ASGIApp:
    """Read a thread's states, newest first."""
    thread_id = call.ident("thread_id")
    body = await call.body(bodies.HISTORY)
    found = await call.services.state.history(thread_id, **body)
    return json_response([wire.state(each) for each in found])


async def get_history(call: Call) -> ASGIApp:
    """Read a thread's states, newest first, with limit and start in the query."""
    limit, _ = call.page(limit=HISTORY_LIMIT)
    found = await call.services.state.history(
        call.ident("thread_id"), limit=limit, before=call.query("before", bodies.before)
    )
    return json_response([wire.state(each) for each in found])
