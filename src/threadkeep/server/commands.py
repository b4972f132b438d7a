"""The commands of the thread protocol: runs started and interrupts answered by name.

A command is ``{"id", "method", "params"}``; its answer is 200 with ``{"type": "success", "id",
"result", "meta"}`` or ``{"type": "error", "id", "error", "message"}``.
"""

import logging
from typing import Any

from threadkeep.errors import (
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    NotSupportedError,
    ThreadkeepError,
    ThreadStatusError,
)
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import ACTIVE, Run
from threadkeep.server import checks
from threadkeep.server.call import Call
from threadkeep.server.checks import Field
from threadkeep.server.runs import run_request

log = logging.getLogger("threadkeep.server")

Answer = dict[str, Any]

# What a run publishes so that every channel of the protocol has something to tell.
STREAM_MODES = (
    "values",
    "updates",
    "messages-tuple",
    "tools",
    "custom",
    "tasks",
    "checkpoints",
    "lifecycle",
)
MALFORMED = "a command needs an integer id and a method by name"
CODES: tuple[tuple[type[ThreadkeepError], str], ...] = (
    (InvalidRequestError, "invalid_argument"),
    (NotSupportedError, "not_supported"),
    (ForbiddenError, "permission_denied"),
)
RESPONSE = (
    Field("interrupt_id", checks.text(at_least=1), required=True),
    Field("response", checks.anything),
)
RESPONSES = (
    Field(
        "responses",
        checks.list_of(lambda value, path: checks.read_fields(value, RESPONSE, path), at_least=1),
    ),
    Field("update", checks.anything),
    Field("goto", checks.anything),
    Field("config", checks.json_object),
    Field("metadata", checks.json_object),
)


class CommandError(Exception):
    """A command that cannot be done, by one of the protocol's own codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def is_command(given: Any) -> bool:
    """Say whether something has the shape of a command."""
    return (
        isinstance(given, dict)
        and isinstance(given.get("id"), int)
        and not isinstance(given["id"], bool)
        and isinstance(given.get("method"), str)
    )


async def answer(call: Call, command: dict[str, Any]) -> Answer:
    """Do a command and return its answer, whatever comes of it."""
    ident = command["id"]
    try:
        return success(ident, await _done(call, command["method"], command.get("params") or {}))
    except CommandError as error:
        return failure(ident, error.code, str(error))
    except ThreadkeepError as error:
        code = next((code for kind, code in CODES if isinstance(error, kind)), "unknown_error")
        return failure(ident, code, str(error))
    except Exception:
        log.exception("a command failed")
        return failure(ident, "unknown_error", "internal error")


def success(ident: int, result: dict[str, Any]) -> Answer:
    """Return the answer to a command that was done."""
    return {"type": "success", "id": ident, "result": result, "meta": {"applied_through_seq": 0}}


def failure(ident: int | None, code: str, message: str) -> Answer:
    """Return the answer to a command that was not done."""
    return {"type": "error", "id": ident, "error": code, "message": message}


async def _done(call: Call, method: str, params: Any) -> dict[str, Any]:
    checks.json_object(params, "params")
    match method:
        case "run.start":
            run = await call.services.runs.create(run_request(call, _streamed(params)))
            return {"run_id": run.run_id}
        case "input.respond":
            return {"run_id": (await _respond(call, params)).run_id}
        case "agent.getTree":
            return {"tree": await _tree(call)}
        case "subscription.subscribe" | "subscription.unsubscribe":
            raise CommandError(
                "not_supported",
                "subscriptions belong to a websocket; over HTTP, POST stream/events",
            )
    raise CommandError("unknown_command", f"no command {checks.shown(method)}")


def _streamed(params: dict[str, Any]) -> dict[str, Any]:
    return {
        **params,
        "stream_mode": list(STREAM_MODES),
        "stream_subgraphs": True,
        "stream_resumable": True,
        "if_not_exists": "create",
    }


async def _respond(call: Call, params: dict[str, Any]) -> Run:
    """Resume a thread that waits, once: of two answers at a time one finds nobody waiting."""
    given = checks.read_fields(params, RESPONSES)
    responses = given["responses"] or [checks.read_fields(params, RESPONSE)]
    ids = [response["interrupt_id"] for response in responses]
    try:
        thread = await call.services.threads.get(call.ident("thread_id"))
    except NotFoundError as error:
        raise _nobody_waits(ids) from error
    waiting = {found.get("id") for held in thread.interrupts.values() for found in held}
    assistant_id = thread.metadata.get("assistant_id") or thread.metadata.get("graph_id")
    if not waiting.issuperset(ids) or not isinstance(assistant_id, str):
        raise _nobody_waits(ids)
    command = {"resume": {each["interrupt_id"]: each["response"] for each in responses}}
    command |= {name: given[name] for name in ("update", "goto") if given[name] is not None}
    request = {
        "assistant_id": assistant_id,
        "command": command,
        "config": given["config"],
        "metadata": given["metadata"],
        "if_thread_status": "interrupted",
    }
    try:
        return await call.services.runs.create(run_request(call, _streamed(request)))
    except ThreadStatusError as error:
        raise _nobody_waits(ids) from error


def _nobody_waits(ids: list[str]) -> CommandError:
    return CommandError(
        "no_such_interrupt", f"no interrupt {checks.shown(', '.join(ids))} waits for an answer"
    )


async def _tree(call: Call) -> dict[str, Any]:
    query = RunQuery(thread_id=call.ident("thread_id"), statuses=ACTIVE)
    found = (await call.services.runs.list(query)).rows
    if not found:
        raise CommandError("no_such_run", "no run of this thread is active")
    run = found[-1]
    status = "running" if run.status == "running" else "started"
    return {"namespace": [], "status": status, "graph_name": run.kwargs["graph_id"]}
