"""Threads and their states over HTTP."""

from collections.abc import Collection, Mapping
from typing import Any, get_args

from starlette.responses import Response
from starlette.types import ASGIApp

from threadkeep.model.queries import ThreadField, ThreadQuery
from threadkeep.model.threads import Thread
from threadkeep.model.unset import UNSET
from threadkeep.rules.extraction import Path, follow
from threadkeep.server import bodies, checks, wire
from threadkeep.server.bodies import read_body
from threadkeep.server.call import Call
from threadkeep.server.wire import NEXT_HEADER, json_response, page_response, pick
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
        supersteps=body["supersteps"],
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
    select, extract = body.pop("select"), body.pop("extract")
    needed = None if select is None else {*select, *(path[0] for path in extract.values())}
    read = None if needed is None else [name for name in get_args(ThreadField) if name in needed]
    listing = await call.services.threads.search(ThreadQuery(**body, select=read))
    return page_response([_found(row, select, extract) for row in listing.rows], listing)


def _found(
    row: Thread, select: Collection[str] | None, extract: Mapping[str, Path]
) -> Mapping[str, Any]:
    shown = wire.thread(row)
    chosen = pick(shown, select)
    if not extract:
        return chosen
    return {**chosen, "extracted": {name: follow(shown, path) for name, path in extract.items()}}


async def count(call: Call) -> ASGIApp:
    """Count threads."""
    body = await call.body(bodies.THREAD_COUNT)
    return json_response(await call.services.threads.count(ThreadQuery(**body)))


async def copy(call: Call) -> ASGIApp:
    """Make a thread like another one."""
    return json_response(wire.thread(await call.services.threads.copy(call.ident("thread_id"))))


async def prune(call: Call) -> ASGIApp:
    """Delete threads, or what is old of them."""
    body = await call.body(bodies.THREAD_PRUNE)
    pruned = await call.services.threads.prune(body["thread_ids"], body["strategy"])
    return json_response({"pruned_count": pruned})


async def get_state(call: Call) -> ASGIApp:
    """Read a thread's newest state."""
    return await _state(call, None, subgraphs=call.flag("subgraphs"), parts=_parts(call))


async def get_state_at(call: Call) -> ASGIApp:
    """Read a thread's state at one checkpoint of the root graph."""
    place = {"checkpoint_id": call.text("checkpoint_id")}
    return await _state(call, place, subgraphs=call.flag("subgraphs"), parts=_parts(call))


async def post_state_at(call: Call) -> ASGIApp:
    """Read a thread's state at one checkpoint of any of its graphs."""
    body = await call.body(bodies.STATE_AT)
    place, subgraphs = body["checkpoint"], body["subgraphs"]
    return await _state(call, place, subgraphs=subgraphs, parts=body["select"])


async def _state(
    call: Call, place: Any, *, subgraphs: bool, parts: Collection[str] | None
) -> ASGIApp:
    thread_id = call.ident("thread_id")
    found = await call.services.state.get(thread_id, checkpoint=place, subgraphs=subgraphs)
    shown = wire.no_state(thread_id) if found is None else wire.state(found)
    return json_response(wire.state_parts(shown, parts))


def _parts(call: Call) -> list[str] | None:
    return call.query_list("select", bodies.state_part)


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
    body = await call.body(bodies.HISTORY)
    return await _history(call, **body)


async def get_history(call: Call) -> ASGIApp:
    """Read a thread's states, newest first, with limit and start in the query."""
    limit, _ = call.page(limit=HISTORY_LIMIT)
    before = call.query("before", bodies.before)
    return await _history(call, limit=limit, before=before, select=_parts(call))


async def _history(
    call: Call, *, limit: int, select: Collection[str] | None, **given: Any
) -> ASGIApp:
    """Answer with states; where the server's own bound cut them, say behind which they go on."""
    thread_id, bound = call.ident("thread_id"), min(limit, call.options.max_page_size)
    found = await call.services.state.history(thread_id, limit=bound, **given)
    shown = [wire.state(each) for each in found]
    headers = {}
    if len(shown) == bound < limit:
        headers[NEXT_HEADER] = shown[-1]["checkpoint_id"]
    return json_response([wire.state_parts(each, select) for each in shown], headers=headers)
