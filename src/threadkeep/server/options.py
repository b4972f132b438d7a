"""How the server answers, as far as it can be chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from threadkeep.server.guard import Guard


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Choices of one server.

    Attributes:
        max_body_bytes: The largest request body that is read.
        heartbeat_seconds: Silence on a stream after which something is sent, so that neither a
            proxy nor a client takes the connection for dead.
        max_page_size: The largest page of any list or search, in rows.
        cors: Which other origins a page may call from, as arguments of Starlette's
            ``CORSMiddleware`` under the names of ``http.cors``; everywhere without.
        disabled: The groups of routes that are not served.
        guard: Lets requests in where callers are authenticated; ``None``: everybody.
        passed_on: Which of a request's headers its runs find in ``configurable``.
    """

    max_body_bytes: int
    heartbeat_seconds: float
    max_page_size: int
    cors: Mapping[str, Any] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()
    guard: Guard | None = None
    passed_on: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {}
