"""A value of 200 MB: stored once, in requests of 2 MiB, and within a memory that is bounded.

A process of its own does it, so that its greatest memory is its own; the short form is 20 MB.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.crashes.scenes import open_storage
from threadkeep import DocumentCheckpointSaver
from threadkeep.model.default_scope import AGENT_ID, NAMESPACE
from threadkeep.ports.documents import READ_BYTES, Batch, Find, Scope
from threadkeep.testing.saver_steps import checkpoint, config

ROOT = Path(__file__).parents[2]
MEGABYTE = 1_000_000
REQUEST_BYTES = READ_BYTES + 64 * 1024  # bodies, and what stands beside them
# Copies of the value that may be there at once, the caller's and the reader's own among them: as it
# is, as the serializer made it, in parts, and in a request.
COPIES = 4
BASE_BYTES = 150 * MEGABYTE  # of the process without it: LangGraph, a driver, its caches


class Noting:
    """A document store that notes the largest request and the largest reply."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.largest = 0
        self.handed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def insert(self, scope: Scope, batch: Batch) -> Any:
        size = sum(len(one.body) for one in (*batch.documents, *batch.replacing))
        self.largest, self.handed = max(self.largest, size), self.handed + size
        return self._store.insert(scope, batch)

    def fetch(self, *arguments: Any, **options: Any) -> Any:
        fetched = self._store.fetch(*arguments, **options)
        size = sum(len(one.body) for one in fetched.documents.values())
        self.largest = max(self.largest, size)
        return fetched

    def find(self, scope: Scope, find: Find) -> Any:
        page = self._store.find(scope, find)
        self.largest = max(self.largest, sum(len(one.body) for one in page.documents))
        return page


def store_and_read(url: str, size: int) -> None:
    """Put a value that does not compress, as pending write and as channel; read it anew."""
    driver = open_storage(url)
    noting = Noting(driver.documents())
    saver = DocumentCheckpointSaver(noting)
    saver.setup()
    value = Random(size).randbytes(size)
    at = saver.put(config(), checkpoint({"n": 1}, {"n": 1}), {"source": "input"}, {"n": 1})
    saver.put_writes(at, [("v", value)], "task")
    at = saver.put(at, checkpoint({"v": value}, {"v": 1}), {"source": "loop"}, {"v": 1})
    saver.put(at, checkpoint({"v": value, "n": 2}, {"v": 1, "n": 2}), {"source": "loop"}, {"n": 2})
    read = DocumentCheckpointSaver(noting).get_tuple(config())
    assert read is not None
    assert read.checkpoint["channel_values"] == {"v": value, "n": 2}
    usage = driver.documents().measure(Scope(NAMESPACE, AGENT_ID), "t1")
    told = {
        "stored": sum(one.size_bytes for one in usage.values()),
        "handed": noting.handed,
        "largest": noting.largest,
        "memory": greatest_memory(),
    }
    driver.close()
    sys.stdout.write(json.dumps(told))


def greatest_memory() -> int:
    """Return this process's greatest memory in bytes; getrusage counts its parent's too."""
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/s.db"
    else:
        yield request.getfixturevalue("postgres_url")


def check(url: str, size: int) -> None:
    program = (
        "import sys; from tests.integration.test_large_values import store_and_read;"
        " store_and_read(sys.argv[1], int(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, url, str(size)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert size < told["stored"] < 1.01 * size + 10_000
    assert told["handed"] < 1.01 * size + 10_000
    assert told["largest"] <= REQUEST_BYTES
    assert told["memory"] < BASE_BYTES + COPIES * size, told


def test_twenty_megabytes_are_stored_once_in_small_requests(url: str) -> None:
    check(url, 20 * MEGABYTE)


@pytest.mark.soak
def test_two_hundred_megabytes_are_stored_once_in_small_requests(url: str) -> None:
    check(url, 200 * MEGABYTE)
