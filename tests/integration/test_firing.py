"""Crons fired: each date once, by one of many processes, and never for ever."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from tests.integration.test_identity import looking
from threadkeep.model.crons import Cron, NewCron
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import ACTIVE, Run
from threadkeep.ports.clock import SystemClock
from threadkeep.services.firing import Firing

__all__ = ["backend"]
pytestmark = pytest.mark.anyio

GRAPHS = {"steps": made.steps(2), "looking": looking(), "failing": made.failing(ValueError("no"))}


@pytest.fixture
async def site(backend: Backend) -> AsyncIterator[Deployment]:
    async with deployed(GRAPHS, backend.resources, backend.saver, store_on(backend)) as running:
        yield running


def firing_of(site: Deployment) -> Firing:
    return Firing(site.resources.crons, site.runs.admitting, SystemClock())


async def due(site: Deployment, graph_id: str = "steps", **given: Any) -> Cron:
    """Make a cron whose date came a minute ago."""
    asked = {
        "cron_id": str(uuid4()),
        "assistant_id": site.graphs.assistant_id_of(graph_id),
        "schedule": "* * * * *",
        "next_run_date": datetime.now(UTC) - timedelta(minutes=1),
        "payload": {"input": {"log": ["cron"]}},
        "on_run_completed": "keep",
    }
    return await site.resources.crons.create(NewCron(**{**asked, **given}))


async def ended(site: Deployment) -> list[Run]:
    """Return every run once none is active."""
    while True:
        rows = (await site.resources.runs.search(RunQuery())).rows
        if not any(run.status in ACTIVE for run in rows):
            return list(rows)
        await asyncio.sleep(0.02)


async def test_a_due_cron_makes_its_run_and_moves_on(site: Deployment) -> None:
    cron = await due(site, metadata={"team": "blue"})
    assert not await firing_of(site).fire_due()
    (run,) = await ended(site)
    assert (run.status, run.metadata) == ("success", {"team": "blue", "cron_id": cron.cron_id})
    assert (await site.state("steps", run.thread_id)).values["log"] == ["cron", 0, 1]
    moved = await site.resources.crons.get(cron.cron_id)
    assert moved is not None
    assert moved.next_run_date is not None
    assert moved.next_run_date > datetime.now(UTC)
    await firing_of(site).fire_due()
    assert len(await ended(site)) == 1


async def test_of_many_processes_one_fires(site: Deployment) -> None:
    for _ in range(5):
        await due(site)
    await asyncio.gather(*(firing_of(site).fire_due() for _ in range(8)))
    assert len(await ended(site)) == 5


async def test_a_cron_of_a_thread_runs_there(site: Deployment) -> None:
    thread_id = await site.new_thread("t")
    await due(site, thread_id=thread_id)
    await firing_of(site).fire_due()
    (run,) = await ended(site)
    assert run.thread_id == thread_id


async def test_a_thread_made_for_one_run_goes_with_it(site: Deployment) -> None:
    await due(site, on_run_completed=None)
    await firing_of(site).fire_due()
    assert await ended(site) == []


async def test_a_cron_whose_assistant_is_gone_moves_on(site: Deployment) -> None:
    cron = await due(site, assistant_id=str(uuid4()))
    await firing_of(site).fire_due()
    moved = await site.resources.crons.get(cron.cron_id)
    assert moved is not None
    assert moved.next_run_date is not None
    assert moved.next_run_date > datetime.now(UTC)
    assert await ended(site) == []


async def test_a_cron_does_not_outlive_its_end(site: Deployment) -> None:
    cron = await due(site, end_time=datetime.now(UTC) - timedelta(minutes=2))
    await firing_of(site).fire_due()
    moved = await site.resources.crons.get(cron.cron_id)
    assert moved is not None
    assert moved.next_run_date is None
    assert await ended(site) == []


async def test_a_crons_run_acts_as_who_made_it(site: Deployment) -> None:
    alice = {"identity": "alice"}
    payload = {"input": {"configured": ""}}
    await due(site, "looking", payload=payload, principal=alice, user_id="alice")
    await firing_of(site).fire_due()
    (run,) = await ended(site)
    values = (await site.state("looking", run.thread_id)).values
    assert values == {"configured": "alice", "surrounding": "alice"}


async def test_a_cron_that_lost_who_made_it_makes_nothing(site: Deployment) -> None:
    await due(site, user_id="alice")
    await firing_of(site).fire_due()
    assert await ended(site) == []
