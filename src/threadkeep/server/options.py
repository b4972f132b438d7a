"""How the server answers, as far as it can be chosen."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Choices of one server.

    Attributes:
        max_body_bytes: The largest request body that is read.
        heartbeat_seconds: Silence on a stream after which something is sent, so that neither a
            proxy nor a client takes the connection for dead.
    """

    max_body_bytes: int = 32 * 1024 * 1024
    heartbeat_seconds: float = 15.0
