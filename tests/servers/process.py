"""Starts one server process on this machine, waits until it answers, and ends it by its keeper."""

import contextlib
import importlib.util
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

HOST = "127.0.0.1"
START_SECONDS = 60.0  # a cold disk beside two busy cores has taken 10
STOP_SECONDS = 20.0  # above what the keeper waits before it kills
POLL_SECONDS = 0.02

_KEEPER = Path(__file__).with_name("keeper.py")
_LOG_TAIL_BYTES = 2_000
_OTHERS_MAY_ENTER = 0o001


class ServerFailedError(Exception):
    """A test server did not start; the message ends with what it printed."""


def new_folder(name: str) -> Path:
    """Make an empty folder for one server, which `running` removes.

    It lies where a server that dropped root can reach it, even when root's own `TMPDIR` is private.
    """
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    place = next(filter(others_may_enter, places), places[0])
    return Path(tempfile.mkdtemp(prefix=f"threadkeep-{name}-", dir=place))


def package_folder(name: str) -> Path:
    """Return where a package lies without importing it.

    Raises:
        ServerFailedError: the package is not installed.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ServerFailedError(f"the package {name} is not installed")
    return Path(spec.origin).parent


def others_may_enter(folder: Path) -> bool:
    """Tell whether any user may walk into `folder`."""
    return all(path.stat().st_mode & _OTHERS_MAY_ENTER for path in (folder, *folder.parents))


def free_port() -> int:
    """Return a TCP port that nothing on this machine listens on at the moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    """Tell whether something on this machine takes connections on a TCP port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def unprivileged() -> dict[str, Any]:
    """Return the `subprocess` arguments that drop root, none when this process is not root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def running(
    command: Sequence[str | Path],
    *,
    port: int,
    folder: Path,
    identity: dict[str, Any] | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
) -> Iterator[None]:
    """Run `command` in `folder` while the block lasts, then remove the folder.

    The block starts once `port` accepts connections. The server also ends when this process dies.

    Raises:
        ServerFailedError: the server ended early, or was not reachable within `START_SECONDS`.
    """
    plan = {
        "command": [str(word) for word in command],
        "folder": str(folder),
        "identity": identity or {},
        "stop_signal": int(stop_signal),
    }
    with tempfile.TemporaryFile() as log:
        keeper = subprocess.Popen(
            [sys.executable, str(_KEEPER), json.dumps(plan)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            # Ctrl-C in a terminal is for the tests alone: they close the pipe in their own time.
            start_new_session=True,
        )
        try:
            _wait_until_reachable(keeper, port, log)
            yield
        finally:
            _stop(keeper)
            shutil.rmtree(folder, ignore_errors=True)


def _wait_until_reachable(keeper: subprocess.Popen[bytes], port: int, log: IO[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if keeper.poll() is not None:
            raise ServerFailedError(f"the server ended with {keeper.returncode}\n{_tail(log)}")
        if accepts(port):
            return
        time.sleep(POLL_SECONDS)
    raise ServerFailedError(f"nothing listens on {HOST}:{port}\n{_tail(log)}")


def _tail(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read()[-_LOG_TAIL_BYTES:].decode(errors="replace")


def _stop(keeper: subprocess.Popen[bytes]) -> None:
    assert keeper.stdin is not None
    keeper.stdin.close()
    try:
        keeper.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
