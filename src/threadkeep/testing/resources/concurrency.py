"""What every store must do when several callers change one thing at once."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import anyio

from threadkeep.errors import AlreadyExistsError, NotFoundError
from threadkeep.model.assistants import AssistantPatch
from threadkeep.model.crons import CronPatch
from threadkeep.model.queries import AssistantQuery, ThreadQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.builders import (
    OWNER,
    add_thread,
    enqueue,
    new_assistant,
    status_of,
)
from threadkeep.testing.resources.crons import add_cron
from threadkeep.testing.resources.suite import ResourceSuite

CALLERS = 12


async def at_once(call: Callable[[int], Coroutine[Any, Any, None]], callers: int = CALLERS) -> None:
    """Await a call for each number at once."""
    async with anyio.create_task_group() as group:
        for number in range(callers):
            group.start_soon(call, number)


class ConcurrencySuite(ResourceSuite):
    """One case per thing that can be changed by several at once and has no case beside it."""

    async def test_merges_at_once_lose_nothing(self, store: ResourceStore) -> None:
        await add_thread(store)
        await store.assistants.create(new_assistant("a1"))
        await add_cron(store)

        async def merge(number: int) -> None:
            given = {f"k{number}": number}
            await store.threads.update("t1", metadata=given)
            await store.assistants.update("a1", AssistantPatch(metadata=given))
            await store.crons.update("c1", CronPatch(metadata=given))

        await at_once(merge)
        wanted = {f"k{number}": number for number in range(CALLERS)}
        thread = await store.threads.get("t1")
        assistant = await store.assistants.get("a1")
        cron = await store.crons.get("c1")
        assert thread is not None
        assert assistant is not None
        assert cron is not None
        assert thread.metadata == assistant.metadata == cron.metadata == wanted

    async def test_patches_at_once_each_raise_the_token(self, store: ResourceStore) -> None:
        await add_cron(store)
        tokens: list[int] = []

        async def patch(_: int) -> None:
            tokens.append((await store.crons.update("c1", CronPatch())).token)

        await at_once(patch)
        assert sorted(tokens) == list(range(1, CALLERS + 1))

    async def test_rollbacks_at_once_leave_one_version_whole(self, store: ResourceStore) -> None:
        await store.assistants.create(new_assistant("a1", metadata={"v": 1}))
        for version in range(2, 5):
            await store.assistants.update("a1", AssistantPatch(metadata={"v": version}))

        async def roll(number: int) -> None:
            await store.assistants.set_latest("a1", 1 + number % 4)

        await at_once(roll)
        row = await store.assistants.get("a1")
        assert row is not None
        assert row.metadata == {"v": row.version}

    async def test_creates_under_one_id_leave_one_row(self, store: ResourceStore) -> None:
        refused: list[int] = []

        async def create(number: int) -> None:
            try:
                await add_thread(store, metadata={"by": number})
            except AlreadyExistsError:
                refused.append(number)

        await at_once(create)
        thread = await store.threads.get("t1")
        assert thread is not None
        assert len(refused) == CALLERS - 1
        assert thread.metadata["by"] not in refused
        assert (await store.threads.search(ThreadQuery())).total == 1

    async def test_copies_under_one_id_leave_one_thread(self, store: ResourceStore) -> None:
        refused: list[int] = []
        for number in range(CALLERS):
            await add_thread(store, f"t{number}", metadata={"of": number})

        async def copy(number: int) -> None:
            try:
                await store.threads.copy(f"t{number}", copy_id="copy")
            except AlreadyExistsError:
                refused.append(number)

        await at_once(copy)
        thread = await store.threads.get("copy")
        assert thread is not None
        assert len(refused) == CALLERS - 1
        assert thread.metadata["of"] not in refused

    async def test_deleting_and_admitting_at_once_leaves_no_run_without_its_thread(
        self, store: ResourceStore
    ) -> None:
        for number in range(CALLERS):
            await add_thread(store, f"t{number}")
        gone: list[str] = []

        async def change(number: int) -> None:
            thread_id = f"t{number // 2}"
            if number % 2:
                gone.extend(run.run_id for run in await store.threads.delete(thread_id))
                return
            with suppress(NotFoundError):
                await enqueue(store, f"r{number}", thread_id)

        await at_once(change, 2 * CALLERS)
        for number in range(0, 2 * CALLERS, 2):
            assert await store.runs.get(f"r{number}") is None
        assert (await store.threads.search(ThreadQuery())).total == 0

    async def test_ensuring_and_deleting_at_once_leaves_whole_assistants(
        self, store: ResourceStore
    ) -> None:
        async def change(number: int) -> None:
            if number % 3 == 2:
                await store.assistants.delete("a1")
            else:
                await store.assistants.ensure([new_assistant("a1"), new_assistant("a2")])

        await at_once(change)
        page = await store.assistants.search(AssistantQuery())
        for row in page.rows:
            assert await store.assistants.set_latest(row.assistant_id, 1) is not None

    async def test_cancelling_and_claiming_at_once_agree(self, store: ResourceStore) -> None:
        for number in range(CALLERS):
            await add_thread(store, f"t{number}")
            await enqueue(store, f"r{number}", f"t{number}")
        claimed: set[str] = set()

        async def change(number: int) -> None:
            if number % 2:
                await store.runs.request_cancel(f"r{number}", "interrupt")
            else:
                claimed.update(run.run_id for run in await store.runs.claim(OWNER, limit=2))

        await at_once(change)
        for number in range(CALLERS):
            run = await store.runs.get(f"r{number}")
            assert run is not None
            assert (run.status == "running") == (run.run_id in claimed)
            busy = run.status in {"pending", "running"}
            assert (await status_of(store, f"t{number}") == "busy") == busy
