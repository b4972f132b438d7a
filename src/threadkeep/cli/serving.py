"""Serving a project from a command: the port, the signals, the log, and the end.

The port is open before anything of LangGraph is imported; ``/ok`` answers from then on, other
requests wait for the store and runs for their graph.
"""

import asyncio
import contextlib
import errno
import importlib
import logging
import math
import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import uvicorn

from threadkeep.cli.announce import Announcer, console
from threadkeep.cli.environment import Environment
from threadkeep.cli.watching import keep_loaded
from threadkeep.config.langgraph_json import Project
from threadkeep.config.settings import Settings
from threadkeep.errors import ConfigError
from threadkeep.server.entrance import Entrance
from threadkeep.server.request_log import RequestLog

ANSWER_SECONDS = 3  # for connections, after the time that runs get: so that these are answered
STOPPED_AT_ONCE = 1
BACKLOG = 2048  # connections that wait until they are accepted
QUIET = ("uvicorn.error", "watchfiles.main", "httpx")  # their INFO lines say nothing new


@dataclass(frozen=True, slots=True)
class Service:
    """What is served, and how.

    Attributes:
        project: Whose graphs.
        settings: What the environment decides.
        environment: Holds the project's variables, which a reload may change.
        host: The address to listen on.
        port: The port, 0 for any free one.
        certificate: Of HTTPS, with its key or beside it.
        key: The certificate's key.
        log_level: The least level of what is logged.
        drain_seconds: What runs get to end by themselves, once a signal came.
        is_watched: Whether saved files are taken over.
        as_json: Whether what happens is told in JSON lines.
    """

    project: Project
    settings: Settings
    environment: Environment
    host: str
    port: int
    certificate: str | None
    key: str | None
    log_level: str
    drain_seconds: float
    is_watched: bool
    as_json: bool


def serve(service: Service) -> None:
    """Serve until a signal ends it.

    Raises:
        ConfigError: The certificate, the host or the port is wrong.
        StorageError: The database cannot be opened.
    """
    if service.key and not service.certificate:
        raise ConfigError("--ssl-keyfile needs --ssl-certfile beside it")
    if service.certificate:
        _check_certificate(service.certificate, service.key)
    _log_to_stderr(service.log_level)
    with _bound(service.host, service.port) as listener:
        announcer = console(as_json=service.as_json, folder=service.project.folder)
        _announce(announcer, service, listener)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_Serving(service, announcer).serve(listener))


class _Serving:
    """One server from its first request to its last."""

    def __init__(self, service: Service, announcer: Announcer) -> None:
        self._service = service
        self._announcer = announcer

    async def serve(self, listener: socket.socket) -> None:
        """Serve on a socket until a signal comes, then wait for what is under way."""
        entrance = Entrance(self._opening)
        server = _Server(self._config(RequestLog(entrance)))
        self._end_on_signals(server)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        opening = asyncio.create_task(entrance.open())
        await asyncio.wait({serving, opening}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            opening.cancel()
        elif opening.exception():
            server.should_exit = True
            await serving
            opening.result()
        else:
            runtime: Any = opening.result()
            server.drain = runtime.drain
        watching = self._watch(opening.result()) if self._is_watched(opening) else None
        await serving
        await _cancelled(watching)
        await entrance.close()

    def _is_watched(self, opening: asyncio.Task[Any]) -> bool:
        return self._service.is_watched and opening.done() and not opening.cancelled()

    @contextlib.asynccontextmanager
    async def _opening(self) -> AsyncIterator[Any]:
        wiring = await asyncio.to_thread(importlib.import_module, "threadkeep.wiring")
        service = self._service
        plan = wiring.Plan(
            service.settings, project=service.project, drain_seconds=service.drain_seconds
        )
        async with wiring.open_runtime(plan, on_graph=self._announcer.graph) as runtime:
            yield runtime

    def _watch(self, runtime: Any) -> asyncio.Task[None]:
        return asyncio.create_task(
            keep_loaded(
                runtime,
                self._service.project,
                environment=self._service.environment,
                announcer=self._announcer,
            )
        )

    def _config(self, app: RequestLog) -> uvicorn.Config:
        return uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=math.ceil(self._service.drain_seconds) + ANSWER_SECONDS,
            ssl_certfile=self._service.certificate,
            ssl_keyfile=self._service.key,
        )

    def _end_on_signals(self, server: "_Server") -> None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            if server.should_exit:
                # As a kill would: the next start finds the runs that were cut off.
                os._exit(STOPPED_AT_ONCE)
            server.should_exit = True
            self._announcer.stopping()

        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, end)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(end))


class _Server(uvicorn.Server):
    """A server that leaves the signals to its caller.

    Attributes:
        drain: Ends what executes; begun with the shutdown, so that who waits still gets an answer.
    """

    drain: Callable[[], Coroutine[Any, Any, None]] | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and close each as soon as it is answered."""
        draining = None if self.drain is None else asyncio.create_task(self.drain())
        await super().shutdown(sockets)
        if draining is not None:
            await draining

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: uvicorn would raise the signal again at the end, and exit with its number."""
        yield


def _check_certificate(certificate: str, key: str | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:  # also what is no certificate
        raise ConfigError(
            f"--ssl-certfile {certificate}: not a PEM certificate with its key ({error.strerror}); "
            "the key may stand in the same file or in --ssl-keyfile"
        ) from error


@contextlib.contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a listening socket.

    Raises:
        ConfigError: The host is none of this machine's, or the port is in use or not allowed.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise ConfigError(f"--host {host}: no such host") from error
    with socket.socket(family, kind, protocol) as listener:
        if os.name == "posix":  # elsewhere it would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            raise ConfigError(_bind_failure(error, host, port)) from error
        listener.setblocking(False)
        yield listener


def _bind_failure(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} on {host} is in use; stop what uses it, or choose another --port"
        case errno.EACCES:
            return f"port {port} is not allowed; choose one from 1024"
        case errno.EADDRNOTAVAIL:
            return f"--host {host} is no address of this machine"
    return f"cannot listen on {host}:{port}: {error.strerror}"


def _announce(announcer: Announcer, service: Service, listener: socket.socket) -> None:
    project, settings = service.project, service.settings
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    url = f"{'https' if service.certificate else 'http'}://{shown}:{port}{project.mount_prefix}"
    announcer.listening(
        url,
        database=_shown_database(settings.database_url),
        graph_ids=[graph.graph_id for graph in project.graphs],
    )
    for text in (*project.warnings, *settings.warnings):
        announcer.warning(text)


def _shown_database(url: str) -> str:
    """Return an address without anything secret in it."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = Path(unquote(rest.partition("?")[0].removeprefix("/")))
        return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
    place = rest.rpartition("@")[2].partition("?")[0]
    return f"{scheme}://{place}"


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr, level=level, format="  %(levelname)-7s %(name)s: %(message)s"
    )
    requests = logging.getLogger("threadkeep.requests")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("  %(message)s"))
    requests.handlers, requests.propagate = [handler], False
    if level == "INFO":
        for name in QUIET:
            logging.getLogger(name).setLevel(logging.WARNING)


def _loop_factory() -> Any:
    """Return uvloop's loops where it is installed, else asyncio's."""
    try:
        return importlib.import_module("uvloop").new_event_loop
    except ModuleNotFoundError:
        return None


async def _cancelled(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
