"""Stands before every route where a deployment has rules of its own: who calls, and may they?

What a route does is read from its method and path; one that nothing here knows is refused.
"""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from threadkeep.auth.rules import AuthRules
from threadkeep.auth.scope import Scope, current_scope
from threadkeep.errors import ForbiddenError, NotFoundError
from threadkeep.model.identity import current_user
from threadkeep.ports.resources import ThreadRepo
from threadkeep.server.bodies import read_body
from threadkeep.server.checks import as_uuid

OPEN = frozenset(("/", "/ok", "/info", "/docs", "/openapi.json"))  # say nothing of anybody's data
BY_METHOD = {"GET": "read", "POST": "create", "PUT": "update", "PATCH": "update"}
# What the last part of a path means that a POST goes to.
BY_LAST_PART = {
    "search": "search",
    "count": "search",
    "versions": "read",
    "latest": "update",
    "prune": "delete",
    "copy": "read",
    "state": "update",
    "checkpoint": "read",
    "history": "read",
    "cancel": "update",
}
MAKING_RUNS = frozenset(("runs", "wait", "stream", "batch", "commands", "invoke"))
RESOURCES = frozenset(("assistants", "threads", "runs", "invoke"))

Asked = tuple[str, str]

MAKES_RUNS: Asked = ("threads", "create_run")


def asked_of(method: str, path: str) -> Asked | None:
    """Return the resource and action of a route, ``None`` for one that nobody knows.

    A run is its thread's; what is asked of long-term memory is asked where it is done.
    """
    parts = [part for part in path.split("/") if part]
    first, last = (parts[0], parts[-1]) if parts else ("", "")
    if first == "store":
        return ("store", "")
    if first not in RESOURCES:
        return None
    resource = "crons" if "crons" in parts else "threads"
    resource = first if first == "assistants" else resource
    if method == "DELETE":
        return (resource, "delete")
    if method != "POST":
        return (resource, BY_METHOD.get(method, "read"))
    if last in BY_LAST_PART:
        return (resource, BY_LAST_PART[last])
    if last == "events":
        return (resource, "read")
    if resource == "threads" and (last in MAKING_RUNS or first == "invoke"):
        return (resource, "create_run")
    return (resource, "create")


class Guard:
    """Lets requests in, each in the scope of its caller."""

    def __init__(self, rules: AuthRules, threads: ThreadRepo) -> None:
        self._rules = rules
        self._threads = threads

    async def enter(self, request: Request, route: str, asked: Asked | None = None) -> None:
        """Find out who calls, and have what follows see only what they may.

        Args:
            request: What is asked.
            route: The path of the route, with the names of its parameters.
            asked: What it does, where method and path do not say it.

        Raises:
            UnauthenticatedError: Nobody that is known calls.
            ForbiddenError: They may not do this.
            NotFoundError: The thread of the path is another's.
        """
        if route in OPEN:
            return
        user = await self._rules.authenticate(await self._known(request))
        current_user.set(user)
        method = "GET" if request.method == "HEAD" else request.method
        asked = asked or asked_of(method, route)
        if asked is None:
            raise ForbiddenError(f"{route} is not served to authenticated callers")
        scope = Scope(self._rules, user)
        current_scope.set(scope)
        resource, action = asked
        if resource != "store":
            await scope.ask(resource, action, await _value(request, action))
            await self._check_thread(scope, request)

    async def _check_thread(self, scope: Scope, request: Request) -> None:
        """Refuse a thread that is another's, also to what may listen to one not made yet."""
        thread_id = as_uuid(request.path_params.get("thread_id"))
        if thread_id is None or not (wanted := await scope.enforced("threads")):
            return
        if await self._threads.get(thread_id, enforced_metadata=wanted) is not None:
            return
        if await self._threads.get(thread_id) is not None:
            raise NotFoundError("thread", thread_id)

    async def _known(self, request: Request) -> Mapping[str, Any]:
        return {
            "request": request,
            "body": await read_body(request) if self._rules.needs_body else None,
            "path": request.url.path,
            "method": request.method,
            "path_params": dict(request.path_params),
            "query_params": dict(request.query_params),
            "headers": dict(request.headers.raw),
            "authorization": request.headers.get("authorization"),
            "scope": request.scope,
        }


async def _value(request: Request, action: str) -> dict[str, Any]:
    """Return what is asked for, as a rule sees it: the path's parameters and the body's fields."""
    body = {} if request.method == "GET" else await read_body(request)
    given = dict(body) if isinstance(body, dict) else {}
    if not isinstance(given.get("metadata"), dict):
        given["metadata"] = {}
    value = {**given, "metadata": dict(given["metadata"]), **request.path_params}
    return {**value, "kwargs": given} if action == "create_run" else value
