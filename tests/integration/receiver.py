"""A server that webhooks are sent to, on a real port."""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson


@dataclass
class Received:
    """What came, and how it is answered.

    Attributes:
        calls: Path, headers and body of each, in order.
        statuses: The answers to give, one after the other; 200 when there are no more.
        held: While it is not set, nothing is answered.
    """

    url: str = ""
    calls: list[tuple[str, Any, bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)

    def bodies(self) -> list[Any]:
        return [orjson.loads(body) for _, _, body in self.calls]

    def headers(self, name: str) -> list[str]:
        return [headers[name] for _, headers, _ in self.calls]


@contextmanager
def receiving() -> Iterator[Received]:
    """Serve until the block ends."""
    received = Received()
    received.held.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.calls.append((self.path, self.headers, body))
            received.held.wait(20)
            status = received.statuses.pop(0) if received.statuses else 200
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.url = f"http://127.0.0.1:{server.server_address[1]}/told"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield received
    finally:
        received.held.set()
        server.shutdown()
        server.server_close()


def is_signed(headers: Any, body: bytes, secret: str) -> bool:
    """Say whether a call was signed with a secret."""
    parts = dict(part.split("=", 1) for part in headers["X-Threadkeep-Signature"].split(","))
    signed = parts["t"].encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, parts["v1"])
