"""Crons over HTTP, of threads and with a new thread for each run."""

from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp

from threadkeep.model.queries import CronQuery
from threadkeep.server import bodies, checks, wire
from threadkeep.server.bodies import read_body
from threadkeep.server.call import Call
from threadkeep.server.wire import json_response, page_response, pick

OWN_NAMES = ("schedule", "timezone", "end_time", "enabled", "on_run_completed", "metadata")


async def create(call: Call) -> ASGIApp:
    """Make a cron whose runs get a thread of their own each."""
    body = await call.body(bodies.CRON_CREATE)
    return await _create(call, body, completed=body["on_run_completed"] or "delete")


async def create_for_thread(call: Call) -> ASGIApp:
    """Make a cron of a thread."""
    thread_id = call.ident("thread_id")
    return await _create(call, await call.body(bodies.CRON_CREATE), thread_id=thread_id)


async def get(call: Call) -> ASGIApp:
    """Read a cron."""
    return json_response(wire.cron(await call.services.crons.get(call.ident("cron_id"))))


async def update(call: Call) -> ASGIApp:
    """Change a cron."""
    cron_id = call.ident("cron_id")
    given = await read_body(call.request)
    body = checks.read_fields(given, bodies.CRON_UPDATE)
    own = {name: body[name] for name in OWN_NAMES if body[name] is not None}
    own |= {name: None for name in bodies.CRON_CLEARABLE if name in given and body[name] is None}
    return json_response(wire.cron(await call.services.crons.update(cron_id, own, _payload(body))))


async def delete(call: Call) -> ASGIApp:
    """Delete a cron."""
    await call.services.crons.delete(call.ident("cron_id"))
    return Response(status_code=204)


async def search(call: Call) -> ASGIApp:
    """Read a page of crons."""
    body = await call.body(bodies.CRON_SEARCH)
    select = body.pop("select")
    listing = await call.services.crons.search(_query(call, body))
    return page_response([pick(wire.cron(row), select) for row in listing.rows], listing)


async def count(call: Call) -> ASGIApp:
    """Count crons."""
    query = _query(call, await call.body(bodies.CRON_COUNT))
    return json_response(await call.services.crons.count(query))


async def _create(
    call: Call, body: dict[str, Any], *, thread_id: str | None = None, completed: Any = None
) -> ASGIApp:
    made = await call.services.crons.create(
        assistant_id=call.assistant_of(body["assistant_id"], "assistant_id"),
        schedule=body["schedule"],
        thread_id=thread_id,
        timezone=body["timezone"],
        end_time=body["end_time"],
        enabled=body["enabled"],
        on_run_completed=completed,
        payload=_payload(body),
        metadata=body["metadata"],
    )
    return json_response(wire.cron(made))


def _payload(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in bodies.CRON_RUN_NAMES if body[name] is not None}


def _query(call: Call, body: dict[str, Any]) -> CronQuery:
    given = body["assistant_id"]
    return CronQuery(**{**body, "assistant_id": given and call.assistant_of(given, "assistant_id")})
