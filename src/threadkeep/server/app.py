"""The ASGI application: the table of routes, every error as JSON, and the layers around them."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from threadkeep.errors import ThreadkeepError
from threadkeep.model.identity import passed_headers
from threadkeep.server import checks
from threadkeep.server.call import Call, Handler
from threadkeep.server.errors import error_response
from threadkeep.server.guard import MAKES_RUNS
from threadkeep.server.middleware import middleware, request_id_of
from threadkeep.server.options import ServerOptions
from threadkeep.server.routes import ROUTES, SOCKETS, group_of
from threadkeep.server.thread_streams import POLICY_VIOLATION
from threadkeep.services.context import Services

MAX_REASON = 100  # characters; a close frame has room for 123 bytes


def build_app(services: Services, options: ServerOptions) -> Starlette:
    """Make the application that serves some services; it opens and closes nothing.

    Args:
        services: Open for as long as the application is asked.
        options: How it answers.
    """
    by_path: dict[str, dict[str, Handler]] = {}
    for route in ROUTES:
        if group_of(route.path) in options.disabled:
            continue
        by_path.setdefault(route.path, {})[route.method] = route.handler
    app = Starlette(
        routes=[
            Route(path, _endpoint(path, handlers, services, options), methods=list(handlers))
            for path, handlers in by_path.items()
        ]
        + [
            WebSocketRoute(path, _socket(path, serve, services, options))
            for path, serve in SOCKETS.items()
        ],
        middleware=middleware(max_body_bytes=options.max_body_bytes, cors=options.cors),
        exception_handlers={HTTPException: _no_such_route},
    )
    app.router.redirect_slashes = False  # its answer would not be JSON
    return app


def _endpoint(
    path: str, handlers: Mapping[str, Handler], services: Services, options: ServerOptions
) -> Callable[[Request], Awaitable[ASGIApp]]:
    async def endpoint(request: Request) -> ASGIApp:
        passed_headers.set(options.passed_on(request.headers))
        method = "GET" if request.method == "HEAD" else request.method
        try:
            if options.guard is not None:
                await options.guard.enter(request, path)
            return await handlers[method](Call(request, services, options))
        except Exception as error:
            return error_response(error, request_id_of(request.scope))

    return endpoint


def _socket(
    path: str,
    serve: Callable[[WebSocket, Callable[[WebSocket], Call]], Awaitable[None]],
    services: Services,
    options: ServerOptions,
) -> Callable[[WebSocket], Awaitable[None]]:
    def call_of(websocket: WebSocket) -> Call:
        asked = {**websocket.scope, "type": "http", "method": "GET"}
        return Call(Request(asked), services, options)

    async def endpoint(websocket: WebSocket) -> None:
        passed_headers.set(options.passed_on(websocket.headers))
        if options.guard is not None:
            try:  # it takes commands, so who may only read may not open it
                await options.guard.enter(call_of(websocket).request, path, MAKES_RUNS)
            except ThreadkeepError as error:
                await websocket.close(POLICY_VIOLATION, str(error)[:MAX_REASON])
                return
        await serve(websocket, call_of)

    return endpoint


async def _no_such_route(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        path = checks.shown(request.url.path)
        allowed = (error.headers or {}).get("Allow")
        detail = f"{path} takes {allowed}, not {request.method}" if allowed else f"no route {path}"
        error = HTTPException(error.status_code, detail, error.headers)
    return error_response(error, request_id_of(request.scope))
