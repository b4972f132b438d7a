"""What every store must do with crons whose date has come."""

from datetime import timedelta

import anyio
import pytest

from threadkeep.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    ThreadBusyError,
)
from threadkeep.model.crons import CronFiring, CronPatch
from threadkeep.model.queries import RunQuery
from threadkeep.model.threads import NewThread
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import add_thread, enqueue, new_run, status_of
from threadkeep.testing.resources.crons import add_cron
from threadkeep.testing.resources.suite import PAGE_SIZE, ResourceSuite

MINUTE = timedelta(minutes=1)


async def due(store: ResourceStore, limit: int | None = None) -> list[str]:
    """Return the ids of what is due."""
    return [cron.cron_id for cron in await store.crons.list_due(limit=limit)]


class FiringSuite(ResourceSuite):
    """One case per promise of ``CronRepo.list_due``, ``fire`` and ``overdue_seconds``."""

    async def test_due_are_the_enabled_whose_date_has_come_soonest_first(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        now = clock.now()
        await add_cron(store, "later", next_run_date=now + MINUTE)
        await add_cron(store, "now", next_run_date=now)
        await add_cron(store, "before", next_run_date=now - MINUTE)
        await add_cron(store, "off", next_run_date=now - MINUTE, enabled=False)
        await add_cron(store, "dormant")
        assert await due(store) == ["before", "now"]

    async def test_a_date_is_due_at_its_very_moment(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_cron(store, next_run_date=clock.now() + timedelta(microseconds=1))
        assert await due(store) == []
        assert await store.crons.overdue_seconds() is None
        clock.advance(0.000_001)
        assert await due(store) == ["c1"]
        assert await store.crons.overdue_seconds() == 0

    async def test_of_equal_dates_the_lower_id_is_first(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for cron_id in ("b", "c", "a"):
            await add_cron(store, cron_id, next_run_date=clock.now())
        assert await due(store) == ["a", "b", "c"]

    async def test_the_list_of_due_is_bounded(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(PAGE_SIZE + 2):
            await add_cron(store, f"c{number:03}", next_run_date=clock.now())
        assert len(await due(store)) == PAGE_SIZE
        assert len(await due(store, 10 * PAGE_SIZE)) == PAGE_SIZE
        assert await due(store, 2) == ["c000", "c001"]
        assert await due(store, 0) == []
        with pytest.raises(InvalidRequestError):
            await due(store, -1)

    async def test_the_most_overdue_is_measured(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        now = clock.now()
        assert await store.crons.overdue_seconds() is None
        await add_cron(store, "c1", next_run_date=now - timedelta(seconds=2.5))
        await add_cron(store, "c2", next_run_date=now - timedelta(seconds=1))
        await add_cron(store, "off", next_run_date=now - MINUTE, enabled=False)
        assert await store.crons.overdue_seconds() == 2.5

    async def test_a_claim_moves_the_cron_on_and_makes_its_run(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await add_cron(store, thread_id="t1", next_run_date=clock.now())
        later = clock.advance(5)
        after = later + MINUTE
        firing = await store.crons.fire("c1", token=0, next_run_date=after, new=new_run())
        assert firing is not None
        assert (firing.cron.token, firing.cron.next_run_date) == (1, after)
        assert (firing.cron.updated_at, firing.refusal) == (later, None)
        assert firing.admission is not None
        assert firing.admission.run == await store.runs.get("r1")
        assert firing.admission.run.status == "pending"
        assert await status_of(store) == "busy"
        assert await store.crons.get("c1") == firing.cron
        assert await due(store) == []

    async def test_a_stateless_cron_makes_its_thread_with_the_run(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_cron(store, next_run_date=clock.now())
        firing = await store.crons.fire(
            "c1",
            token=0,
            next_run_date=None,
            new=new_run("r1", "fresh"),
            thread=NewThread("fresh", {"by": "cron"}, 5),
        )
        assert firing is not None
        assert firing.admission is not None
        thread = await store.threads.get("fresh")
        assert thread is not None
        assert (thread.status, thread.metadata, thread.ttl_minutes) == ("busy", {"by": "cron"}, 5)

    async def test_a_lost_claim_writes_nothing(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        cron = await add_cron(store, thread_id="t1", next_run_date=clock.now())
        fresh = NewThread("fresh", {})
        for token in (-1, 1, 2**40):
            lost = await store.crons.fire(
                "c1", token=token, next_run_date=None, new=new_run(), thread=fresh
            )
            assert lost is None
        assert await store.crons.get("c1") == cron
        assert await store.runs.get("r1") is None
        assert await store.threads.get("fresh") is None
        assert await status_of(store) == "idle"

    async def test_a_claim_is_lost_once_disabled_changed_or_deleted(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        for cron_id, patch in (("off", CronPatch(enabled=False)), ("patched", CronPatch())):
            await add_cron(store, cron_id, next_run_date=clock.now())
            await store.crons.update(cron_id, patch)
            lost = await store.crons.fire(cron_id, token=0, next_run_date=None, new=new_run())
            assert lost is None
        assert await store.crons.fire("off", token=1, next_run_date=None, new=new_run()) is None
        await store.crons.delete("patched")
        assert await store.crons.fire("patched", token=1, next_run_date=None, new=None) is None
        assert await store.crons.fire("nobody", token=0, next_run_date=None, new=None) is None
        assert (await store.runs.search(RunQuery())).total == 0

    async def test_exactly_one_of_many_claimers_fires(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await add_cron(store, thread_id="t1", next_run_date=clock.now())
        won: list[CronFiring] = []

        async def claim(number: int) -> None:
            run = new_run(f"r{number}")
            if firing := await store.crons.fire("c1", token=0, next_run_date=None, new=run):
                won.append(firing)

        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(claim, number)
        assert len(won) == 1
        assert (await store.runs.search(RunQuery())).total == 1

    async def test_a_cron_without_another_date_goes_dormant(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_cron(store, next_run_date=clock.now())
        firing = await store.crons.fire("c1", token=0, next_run_date=None, new=None)
        assert firing is not None
        assert (firing.cron.next_run_date, firing.admission) == (None, None)
        assert (firing.cron.enabled, firing.cron.token) == (True, 1)
        assert await due(store) == []
        assert (await store.runs.search(RunQuery())).total == 0

    async def test_a_refused_run_is_told_and_the_cron_moves_on(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await enqueue(store, "busy")
        await add_cron(store, next_run_date=clock.now())
        after = clock.now() + MINUTE
        refused = (
            (new_run("r1", strategy="reject"), None, ThreadBusyError),
            (new_run("r1", "nobody"), None, NotFoundError),
            (new_run("busy"), None, AlreadyExistsError),
            (new_run("r1"), NewThread("t1", {}), AlreadyExistsError),
        )
        for token, (run, thread, refusal) in enumerate(refused):
            firing = await store.crons.fire(
                "c1", token=token, next_run_date=after, new=run, thread=thread
            )
            assert firing is not None
            assert isinstance(firing.refusal, refusal)
            assert (firing.admission, firing.cron.token) == (None, token + 1)
        assert (await store.runs.search(RunQuery())).total == 1

    async def test_a_run_that_could_not_be_asked_for_changes_nothing(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        cron = await add_cron(store, thread_id="t1", next_run_date=clock.now())
        odd = new_run(after_seconds=-1)
        with pytest.raises(InvalidRequestError):
            await store.crons.fire("c1", token=0, next_run_date=None, new=odd)
        assert await store.crons.get("c1") == cron
