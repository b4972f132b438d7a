"""A deleted thread stays deleted, whatever was under way."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import SqliteDocumentStore
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.errors import NotFoundError
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import Run
from threadkeep.model.threads import NewThread
from threadkeep.ports.resources import ThreadRepo
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.savers.store import ItemStore
from threadkeep.services.state import StateService
from threadkeep.services.threads import ThreadService
from threadkeep.testing.clock import ManualClock

__all__ = ["backend"]
pytestmark = pytest.mark.anyio


class RacedThreads:
    """Threads to one of which somebody adds a run just before its rows are deleted."""

    def __init__(self, threads: ThreadRepo, site: Deployment, gate: made.Gate) -> None:
        self._threads = threads
        self._site = site
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._threads, name)

    async def delete(self, thread_id: str) -> Sequence[Run]:
        await self._site.runs.create(RunRequest("waiting", thread_id=thread_id, input={"log": []}))
        await self._gate.has_begun()
        return await self._threads.delete(thread_id)


def service(site: Deployment, threads: Any) -> ThreadService:
    state = StateService(
        threads, site.graphs, saver=site.saver, store=site.store, updates=site.runs.updates
    )
    return ThreadService(threads, runs=site.runs, state=state, saver=site.saver)


async def checkpoints(site: Deployment, thread_id: str) -> int:
    at: Any = {"configurable": {"thread_id": thread_id}}
    return len([item async for item in site.saver.alist(at)])


async def test_a_run_admitted_while_its_thread_is_deleted_leaves_nothing(backend: Backend) -> None:
    gate = made.Gate()
    graphs = {"waiting": made.waiting(gate)}
    async with deployed(graphs, backend.resources, backend.saver, store_on(backend)) as site:
        thread_id = await site.new_thread("t")
        await service(site, RacedThreads(site.resources.threads, site, gate)).delete(thread_id)
        assert gate.cancelled == ["node"]
        assert await checkpoints(site, thread_id) == 0


async def test_what_an_interrupted_delete_left_goes_with_the_next(backend: Backend) -> None:
    async with deployed(
        {"steps": made.steps(2)}, backend.resources, backend.saver, store_on(backend)
    ) as site:
        thread_id = await site.new_thread("t")
        await site.runs.wait(RunRequest("steps", thread_id=thread_id, input={"log": []}))
        await site.resources.threads.delete(thread_id)
        assert await checkpoints(site, thread_id) > 0
        with pytest.raises(NotFoundError):
            await service(site, site.resources.threads).delete(thread_id)
        assert await checkpoints(site, thread_id) == 0


async def test_a_deleted_thread_leaves_no_events_of_its_runs(backend: Backend) -> None:
    async with deployed(
        {"steps": made.steps(2)}, backend.resources, backend.saver, store_on(backend)
    ) as site:
        thread_id = await site.new_thread("t")
        asked = RunRequest("steps", thread_id=thread_id, input={"log": []}, stream_resumable=True)
        run = (await site.runs.wait(asked)).run
        assert await kept_events(site, run.run_id) > 0
        await service(site, site.resources.threads).delete(thread_id)
        assert await kept_events(site, run.run_id) == 0


async def kept_events(site: Deployment, run_id: str) -> int:
    heard = site.bus.subscribe(run_id, after=0)
    site.bus.close(run_id)
    return sum([len(burst) async for burst in heard])


async def test_threads_whose_lifetime_is_over_go_whole(tmp_path: Path) -> None:
    clock = ManualClock()
    database = SqliteDatabase(Address(tmp_path / "swept.db"))
    resources = SqliteResourceStore(database, clock=clock)
    saver = DocumentCheckpointSaver(SqliteDocumentStore(database))
    saver.setup()
    async with deployed({"steps": made.steps(2)}, resources, saver, ItemStore(resources)) as site:
        for name, ttl in (("short", 1.0), ("long", 2.0), ("ever", None)):
            await resources.threads.create(NewThread(name, {}, ttl))
            await site.runs.wait(RunRequest("steps", thread_id=name, input={"log": []}))
        threads = service(site, resources.threads)
        assert await threads.collect(10) == 0
        clock.advance(60)
        assert await threads.collect(10) == 1
        assert await resources.threads.get("short") is None
        assert await checkpoints(site, "short") == 0
        assert await checkpoints(site, "long") > 0
        await resources.threads.update("long", ttl_minutes=5)
        clock.advance(200)
        assert await threads.collect(10) == 0
        clock.advance(100)
        assert await threads.collect(0) == 0
        assert await threads.collect(10) == 1
        assert await checkpoints(site, "long") == 0
        assert await checkpoints(site, "ever") > 0
    database.close()


async def test_a_lifetime_that_was_changed_while_others_went_is_kept(backend: Backend) -> None:
    class Late:
        """Threads of which the first look is an old one."""

        def __init__(self, threads: ThreadRepo) -> None:
            self._threads = threads
            self._looks = [["t"]]

        def __getattr__(self, name: str) -> Any:
            return getattr(self._threads, name)

        async def list_expired(self, *, limit: int) -> Sequence[str]:
            return self._looks.pop() if self._looks else await self._threads.list_expired()

    async with deployed(
        {"steps": made.steps(1)}, backend.resources, backend.saver, store_on(backend)
    ) as site:
        await site.resources.threads.create(NewThread("t", {}))
        assert await service(site, Late(site.resources.threads)).collect(10) == 0
        assert await site.resources.threads.get("t") is not None


class Fleeting:
    """Resources of which somebody deletes each new thread at once, a few times."""

    def __init__(self, resources: Any, times: int) -> None:
        self._resources = resources
        self._threads = resources.threads
        self.times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._resources, name)

    @property
    def threads(self) -> Any:
        return self

    async def get(self, thread_id: str) -> Any:
        return await self._threads.get(thread_id)

    async def create(self, new: Any) -> Any:
        made_thread = await self._threads.create(new)
        if self.times:
            self.times -= 1
            await self._threads.delete(new.thread_id)
        return made_thread


async def test_a_run_that_makes_its_thread_makes_it_again_when_it_is_deleted_meanwhile(
    backend: Backend,
) -> None:
    resources: Any = Fleeting(backend.resources, 3)
    async with deployed(
        {"steps": made.steps(1)}, resources, backend.saver, store_on(backend)
    ) as site:
        request = RunRequest("steps", "new", input={"log": []}, if_not_exists="create")
        assert (await site.runs.wait(request)).run.status == "success"
        assert resources.times == 0


async def test_a_thread_whose_lifetime_is_over_may_keep_its_latest_state(
    backend: Backend,
) -> None:
    async with deployed(
        {"steps": made.steps(2)}, backend.resources, backend.saver, store_on(backend)
    ) as site:
        threads = service(site, site.resources.threads)
        await site.resources.threads.create(NewThread("t", {}, ttl_minutes=0.001))
        for _ in range(2):
            await site.runs.wait(RunRequest("steps", thread_id="t", input={"log": []}))
        await asyncio.sleep(0.1)
        assert await threads.collect(10, strategy="keep_latest") == 1
        at: Any = {"configurable": {"thread_id": "t"}}
        assert len([kept async for kept in site.saver.alist(at)]) == 1
        assert (await site.state("steps", "t")).values == {"log": [0, 1, 0, 1]}
        kept = await site.thread("t")
        assert (kept.status, kept.ttl_minutes) == ("idle", 0.001)
