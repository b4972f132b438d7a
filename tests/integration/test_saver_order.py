"""What a step wrote is stored before the checkpoint that follows it, however slow the database."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from threadkeep import DocumentCheckpointSaver
from threadkeep.drivers import postgres
from threadkeep.errors import UnavailableError
from threadkeep.ports.documents import CHECKPOINTS, WRITES, Batch, Inserted, Scope
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.savers import under_way
from threadkeep.testing.saver_steps import checkpoint, config, conversation

WAIT_SECONDS = 20.0  # for what must come; a test that is right waits for none of it


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    if request.param == "postgresql":
        opened = postgres.open(request.getfixturevalue("postgres_url"), DriverOptions())
    else:
        url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"
        opened = open_driver(url)
    with closing(opened):
        opened.documents().setup()
        yield opened


class Slow:
    """A store that takes its time over pending writes, and notes what was stored in which order."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.reached, self.released = threading.Event(), threading.Event()
        self.stored: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _enter(self, batch: Batch) -> str:
        every = (*batch.documents, *batch.replacing)
        kind = next(
            (one.collection for one in every if one.collection in (CHECKPOINTS, WRITES)), ""
        )
        if kind == WRITES:
            self.reached.set()
        return kind

    def insert(self, scope: Scope, batch: Batch) -> Inserted:
        kind = self._enter(batch)
        if kind == WRITES:
            assert self.released.wait(WAIT_SECONDS)
        inserted: Inserted = self._store.insert(scope, batch)
        self.stored.append(kind)
        return inserted


class AsyncSlow(Slow):
    async def insert(self, scope: Scope, batch: Batch) -> Inserted:  # type: ignore[override]
        kind = self._enter(batch)
        if kind == WRITES:
            assert await asyncio.to_thread(self.released.wait, WAIT_SECONDS)
        inserted: Inserted = await self._store.insert(scope, batch)
        self.stored.append(kind)
        return inserted


def steps() -> tuple[Any, Any, Any]:
    """Return a first checkpoint, what its task writes, and the checkpoint that follows."""
    first = checkpoint({"m": conversation(1)}, {"m": 1})
    second = checkpoint({"m": conversation(2)}, {"m": 2})
    return first, [("m", conversation(2)[1:])], second


def said(step: int) -> Any:
    return {"source": "loop", "step": step, "parents": {}}


def waits(slow: Slow, started: Callable[[], bool]) -> None:
    """See that a put that was started has stored nothing before the writes are."""
    assert slow.reached.wait(WAIT_SECONDS)
    assert started()
    assert slow.stored == [CHECKPOINTS]
    slow.released.set()


def test_a_put_waits_for_the_writes_of_the_step_before(driver: Driver) -> None:
    slow = Slow(driver.documents())
    saver = DocumentCheckpointSaver(slow)
    first, writes, second = steps()
    at = saver.put(config(), first, said(0), {"m": 1})
    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(saver.put_writes, at, writes, "task")
        assert slow.reached.wait(WAIT_SECONDS)
        putting = threads.submit(saver.put, at, second, said(1), {"m": 2})
        waits(slow, lambda: not putting.done())
        writing.result(WAIT_SECONDS)
        putting.result(WAIT_SECONDS)
    assert slow.stored == [CHECKPOINTS, WRITES, CHECKPOINTS]


@pytest.mark.anyio
async def test_an_awaiting_put_waits_for_the_writes_of_the_step_before(driver: Driver) -> None:
    slow = AsyncSlow(driver.async_documents())
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=slow)
    first, writes, second = steps()
    at = await saver.aput(config(), first, said(0), {"m": 1})
    writing = asyncio.create_task(saver.aput_writes(at, writes, "task"))
    await asyncio.to_thread(slow.reached.wait, WAIT_SECONDS)
    putting = asyncio.create_task(saver.aput(at, second, said(1), {"m": 2}))
    await asyncio.sleep(0)
    waits(slow, lambda: not putting.done())
    await asyncio.gather(writing, putting)
    assert slow.stored == [CHECKPOINTS, WRITES, CHECKPOINTS]


def test_a_put_whose_writes_are_never_stored_is_refused(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_way, "WAIT_SECONDS", 0.05)
    slow = Slow(driver.documents())
    saver = DocumentCheckpointSaver(slow)
    first, writes, second = steps()
    at = saver.put(config(), first, said(0), {"m": 1})
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(saver.put_writes, at, writes, "task")
        assert slow.reached.wait(WAIT_SECONDS)
        with pytest.raises(UnavailableError, match="1 batches of pending writes"):
            saver.put(at, second, said(1), {"m": 2})
        slow.released.set()
        writing.result(WAIT_SECONDS)
    saver.put(at, second, said(1), {"m": 2})
    assert slow.stored == [CHECKPOINTS, WRITES, CHECKPOINTS]
