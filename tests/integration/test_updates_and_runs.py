"""A state changed by hand while runs begin: one follows the other, none is lost."""

import asyncio
from typing import Any

import pytest

from tests.integration import engine_graphs as made
from tests.integration.deployment import deployed
from tests.integration.engine_backends import Backend, backend, store_on
from threadkeep.errors import ThreadBusyError
from threadkeep.model.requests import RunRequest
from threadkeep.services.state import StateService

__all__ = ["backend"]
pytestmark = pytest.mark.anyio

ROUNDS = 12


async def test_an_update_and_a_run_that_meet_are_both_in_the_conversation(
    backend: Backend,
) -> None:
    async with deployed(
        {"steps": made.steps(1)}, backend.resources, backend.saver, store_on(backend)
    ) as site:
        state = StateService(
            site.resources.threads,
            site.graphs,
            saver=site.saver,
            store=site.store,
            updates=site.runs.updates,
        )

        async def update(thread_id: str, turns: int) -> bool:
            for _ in range(turns):
                await asyncio.sleep(0)
            try:
                await state.update(thread_id, {"log": ["updated"]})
            except ThreadBusyError:
                return False
            return True

        updated = []
        for turns in range(ROUNDS):
            thread_id = await site.new_thread(f"t{turns}")
            request = RunRequest("steps", thread_id, input={"log": ["first"]})
            await site.runs.wait(request)
            again: Any = RunRequest("steps", thread_id, input={"log": ["second"]})
            was_updated, _ = await asyncio.gather(update(thread_id, turns), site.runs.wait(again))
            updated.append(was_updated)
            log = (await site.state("steps", thread_id)).values["log"]
            assert {"first", "second"} <= set(log)
            assert ("updated" in log) == was_updated
            assert (await site.thread(thread_id)).status == "idle"
        assert any(updated)


async def test_updates_of_one_thread_follow_each_other(backend: Backend) -> None:
    async with deployed(
        {"steps": made.steps(1)}, backend.resources, backend.saver, store_on(backend)
    ) as site:
        state = StateService(
            site.resources.threads,
            site.graphs,
            saver=site.saver,
            store=site.store,
            updates=site.runs.updates,
        )
        thread_id = await site.new_thread("t")
        await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
        await asyncio.gather(*(state.update(thread_id, {"log": [number]}) for number in range(8)))
        log = (await site.state("steps", thread_id)).values["log"]
        assert set(range(8)) <= set(log)
