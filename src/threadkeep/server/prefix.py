"""A path before every route."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from threadkeep.server.errors import error_response

ALIVE = "/ok"  # also without the prefix: who asks whether a process lives knows no prefix


class Prefix:
    """Serves an app below a path, as if it were mounted there.

    Args:
        app: The app.
        prefix: Begins with a slash and ends with none.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        root = scope.get("root_path", "")
        path: str = scope["path"].removeprefix(root)
        if path == self._prefix or path.startswith(f"{self._prefix}/"):
            scope = {**scope, "root_path": root + self._prefix}
        elif path != ALIVE:
            error = HTTPException(404, f"no route {path!r}; they begin with {self._prefix}")
            await error_response(error, "")(scope, receive, send)
            return
        await self._app(scope, receive, send)
