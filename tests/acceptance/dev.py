"""A real ``threadkeep dev`` or ``up`` process, and projects for it to serve."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

START_SECONDS = 60.0  # on a machine that does much else; bytecode may be missing
POLL_SECONDS = 0.05
OURS = ("THREADKEEP_", "DATABASE_URI", "POSTGRES_URI", "LANGSMITH_", "LANGCHAIN_")


def clean_environment() -> dict[str, str]:
    """Return this process's environment without settings of a server."""
    return {name: text for name, text in os.environ.items() if not name.startswith(OURS)}


class DevServer:
    """One process; ``events`` are what it said in JSON lines."""

    def __init__(
        self, folder: Path, *words: str, command: str, environment: Mapping[str, str]
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "threadkeep.cli.main", command, "--json", "--port", "0", *words],
            cwd=folder,
            env={**clean_environment(), "LANGSMITH_TRACING": "false", **environment},
            stdout=subprocess.PIPE,
            stderr=(folder / "dev.log").open("a"),
            text=True,
        )
        self.events: list[dict[str, Any]] = []
        self._coming: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._log = folder / "dev.log"
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def url(self) -> str:
        url: str = self.event("listening")["url"]
        return url

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """Return the first event with a name and fields, waiting for it."""
        deadline = time.monotonic() + START_SECONDS
        wanted = {"event": name, **fields}.items()
        while True:
            for event in self.events:
                if wanted <= {key: event.get(key) for key in dict(wanted)}.items():
                    return event
            self.wait(deadline - time.monotonic())

    def wait(self, seconds: float = START_SECONDS) -> dict[str, Any]:
        """Return the next event that it says."""
        event = self._coming.get(timeout=max(0.01, seconds))
        assert event is not None, f"it ended: {self.log}"
        self.events.append(event)
        return event

    @property
    def client(self) -> SyncLangGraphClient:
        return get_sync_client(url=self.url)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(10)

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._coming.put(json.loads(line))
        self._coming.put(None)


@contextlib.contextmanager
def dev_server(
    folder: Path, *words: str, command: str = "dev", **environment: str
) -> Iterator[DevServer]:
    """Start ``threadkeep dev``, or another command, in a folder, and end it with the block."""
    server = DevServer(folder, *words, command=command, environment=environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
            try:
                server.process.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def project(folder: Path, **graphs: str) -> Path:
    """Write a project with these graphs, each the code of a module that exports ``graph``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, code in graphs.items():
        (folder / f"{name}.py").write_text(code)
    paths = {name: f"./{name}.py:graph" for name in graphs}
    (folder / "langgraph.json").write_text(json.dumps({"graphs": paths}))
    return folder


def eventually(look: Callable[[], Any], wanted: Any, *, within_seconds: float = 20.0) -> None:
    """Look until what is wanted is there."""
    deadline = time.monotonic() + within_seconds
    while (found := look()) != wanted:
        assert time.monotonic() < deadline, f"still {found!r}, not {wanted!r}"
        time.sleep(POLL_SECONDS)


def ok(url: str) -> bool:
    """Say whether a server answers."""
    return bool(httpx.get(f"{url}/ok", timeout=5).json() == {"ok": True})
