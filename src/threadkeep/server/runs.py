"""Runs over HTTP, on threads and without one of their own."""

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp

from threadkeep.model.queries import RunQuery
from threadkeep.model.requests import STREAM_MODES, RunRequest
from threadkeep.model.runs import Run, RunResult
from threadkeep.server import bodies, checks, wire
from threadkeep.server.bodies import read_body
from threadkeep.server.call import Call
from threadkeep.server.checks import InvalidFieldError
from threadkeep.server.sse import (
    EventStream,
    LateJson,
    begin_or_end,
    body_of,
    parse_last_event_id,
)
from threadkeep.server.wire import JSON_TYPE, MISSED_HEADER, json_response, page_response
from threadkeep.services.streams import RunStream

ON_THREAD = "thread_id"  # the part of the path that stateless runs have not
RUN_FIELD_NAMES = checks.one_of(*wire.RUN_SELECTED)
STREAM_MODE = checks.one_of(*STREAM_MODES)


async def create(call: Call) -> ASGIApp:
    """Make a run and answer with its row."""
    made = await call.services.runs.create(run_request(call, await read_body(call.request)))
    return json_response(wire.run(made), headers=_place(made))


async def create_batch(call: Call) -> ASGIApp:
    """Make several runs without threads of their own, each as ``create`` does, in order."""
    given = checks.list_of(checks.json_object, at_most=bodies.MAX_BATCH)(
        await read_body(call.request), "body"
    )
    requests = [run_request(call, each, path=f"body[{index}]") for index, each in enumerate(given)]
    made = [await call.services.runs.create(request) for request in requests]
    return json_response([wire.run(each) for each in made])


async def wait(call: Call) -> ASGIApp:
    """Make a run and answer with the values it ends with."""
    request = run_request(call, await read_body(call.request))
    begun: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
    ending = asyncio.create_task(call.services.runs.wait(request, begun=begun.set_result))
    return await _end_of(call, ending, begun)


async def stream(call: Call) -> ASGIApp:
    """Make a run and answer with its events."""
    request = run_request(call, await read_body(call.request))
    return _events(call, await call.services.runs.open_stream(request))


async def join(call: Call) -> ASGIApp:
    """Answer with the values a run ends with, once it has."""
    run = await call.services.runs.get(_thread(call), call.ident("run_id"))
    begun: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
    begun.set_result(run)
    ending = asyncio.create_task(call.services.runs.join(run.thread_id, run.run_id))
    return await _end_of(call, ending, begun)


async def join_stream(call: Call) -> ASGIApp:
    """Answer with a run's events, from now or from where a client left off."""
    opened = await call.services.runs.join_stream(
        _thread(call),
        call.ident("run_id"),
        after=parse_last_event_id(call.request.headers.get("last-event-id")),
        modes=call.query_list("stream_mode", STREAM_MODE) or (),
        cancel_on_disconnect=call.flag("cancel_on_disconnect"),
    )
    return _events(call, opened)


async def list_runs(call: Call) -> ASGIApp:
    """Read a page of a thread's runs, newest first."""
    limit, offset = call.page(limit=bodies.PAGE_LIMIT)
    status = call.query("status", bodies.RUN_STATUS)
    select = call.query_list("select", RUN_FIELD_NAMES)
    thread_id = call.ident("thread_id")
    listing = await call.services.runs.list(
        RunQuery(
            thread_id=thread_id,
            statuses=None if status is None else (status,),
            limit=limit,
            offset=offset,
        )
    )
    if not listing.total:
        await call.services.threads.get(thread_id)  # or there is none to list runs of
    return page_response([wire.selected_run(row, select) for row in listing.rows], listing)


async def search(call: Call) -> ASGIApp:
    """Read a page of runs, of any thread, newest first."""
    body = await call.body(bodies.RUN_SEARCH)
    assistant_id = body["assistant_id"]
    listing = await call.services.runs.list(
        RunQuery(
            thread_id=body["thread_id"],
            assistant_id=assistant_id and call.assistant_of(assistant_id, "assistant_id"),
            statuses=body["status"],
            metadata=body["metadata"],
            limit=body["limit"],
            offset=body["offset"],
        )
    )
    return page_response([wire.selected_run(row, body["select"]) for row in listing.rows], listing)


async def get(call: Call) -> ASGIApp:
    """Read a run."""
    found = await call.services.runs.get(_thread(call), call.ident("run_id"))
    return json_response(wire.run(found))


async def delete(call: Call) -> ASGIApp:
    """Delete a run; one in flight is stopped first."""
    await call.services.runs.delete(_thread(call), call.ident("run_id"))
    return Response(status_code=204)


async def cancel(call: Call) -> ASGIApp:
    """Stop a run."""
    is_waiting = call.flag("wait")
    run = await call.services.runs.cancel(
        _thread(call),
        call.ident("run_id"),
        action=call.query("action", bodies.CANCEL_ACTION, default="interrupt"),
        wait=is_waiting,
    )
    return Response(status_code=204 if is_waiting else 202, headers=_place(run))


async def cancel_many(call: Call) -> ASGIApp:
    """Stop the runs that are meant, without waiting for their end."""
    body = await call.body(bodies.RUNS_CANCEL)
    if body["status"] is None and body["run_ids"] is None:
        raise InvalidFieldError("body", "name run_ids or a status")
    await call.services.runs.cancel_many(
        action=call.query("action", bodies.CANCEL_ACTION, default="interrupt"),
        thread_id=body["thread_id"],
        run_ids=body["run_ids"],
        status=body["status"] or "all",
    )
    return Response(status_code=204)


def run_request(call: Call, given: Any, *, path: str = "") -> RunRequest:
    """Check what a caller asks of a run.

    Args:
        given: The body, or one entry of a batch.
        path: Where the entry stands in the body, for errors.

    Raises:
        InvalidFieldError: It does not fit, or names no assistant that could exist.
    """
    body = checks.read_fields(given, bodies.RUN_CREATE, path)
    exits = body["durability"] is None and body["checkpoint_during"] is False
    place = body["checkpoint"]
    if body["checkpoint_id"] is not None:
        place = {**(place or {}), "checkpoint_id": body["checkpoint_id"]}
    return RunRequest(
        assistant_id=call.assistant_of(
            body["assistant_id"], f"{path}.assistant_id" if path else "assistant_id"
        ),
        thread_id=_thread(call),
        checkpoint=place,
        durability="exit" if exits else body["durability"] or "async",
        thread_status_in=body["if_thread_status"],
        **{name: body[name] for name in bodies.RUN_REQUEST_NAMES},
    )


def _thread(call: Call) -> str | None:
    """Return the thread of the path; ``None`` for a path that begins with the run."""
    return call.ident(ON_THREAD) if ON_THREAD in call.request.path_params else None


async def _end_of(
    call: Call, ending: "asyncio.Task[RunResult]", begun: "asyncio.Future[Run]"
) -> ASGIApp:
    """Answer with a run's end: at once when it is quick, else announced before it comes."""
    await begin_or_end(ending, begun, call.request.receive)
    if ending.done():
        result = ending.result()
        headers = _place(result.run, then="join")
        return Response(body_of(result), headers=headers, media_type=JSON_TYPE)
    return LateJson(
        ending,
        headers=_place(begun.result(), then="join"),
        heartbeat_seconds=call.options.heartbeat_seconds,
    )


def _events(call: Call, opened: RunStream) -> ASGIApp:
    missed = {MISSED_HEADER: str(opened.missed)} if opened.missed else {}
    return EventStream(
        opened,
        headers=_place(opened.run, then="stream") | missed,
        with_ids=bool(opened.run.kwargs.get("stream_resumable")),
        heartbeat_seconds=call.options.heartbeat_seconds,
    )


def _place(run: Run, *, then: str | None = None) -> dict[str, str]:
    """Return the headers that say where a run is, and where to go on when the line breaks.

    A path begins below where this server is mounted, as with LangGraph's own: its clients put
    the address they were given before it, a prefix included.
    """
    path = f"/threads/{run.thread_id}/runs/{run.run_id}"
    here = {"Content-Location": path}
    return here if then is None else here | {"Location": f"{path}/{then}"}
