"""What is left of a thread that was deleted: nothing."""

import pytest

from threadkeep.errors import NotFoundError
from threadkeep.model.idempotency import IdempotencyClaim
from threadkeep.model.queries import CronQuery, DeliveryQuery, RunQuery, ThreadQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import OWNER, add_thread, enqueue, finish, start, state
from threadkeep.testing.resources.crons import add_cron
from threadkeep.testing.resources.deliveries import new_delivery
from threadkeep.testing.resources.idempotency import ANSWER
from threadkeep.testing.resources.suite import ResourceSuite


async def fill(store: ResourceStore, thread_id: str) -> None:
    """Make a thread with one of everything a thread can have."""
    await add_thread(store, thread_id, metadata={"secret": thread_id}, ttl_minutes=1)
    done = await start(store, f"done {thread_id}", thread_id)
    left = state("error", values={"secret": thread_id}, head="c1", error={"secret": thread_id})
    await finish(store, done, left=left)
    await start(store, f"running {thread_id}", thread_id)
    await enqueue(store, f"pending {thread_id}", thread_id)
    await add_cron(store, thread_id, thread_id=thread_id, principal={"secret": thread_id})
    await store.deliveries.add(new_delivery(thread_id, done.run_id, thread_id))
    for scope, run_id in (("of a run", done.run_id), ("of a thread", None)):
        await store.idempotency.claim(IdempotencyClaim(scope, thread_id, "f", "claim", 60))
        await store.idempotency.record(
            scope,
            thread_id,
            claim_id="claim",
            response=ANSWER,
            run_id=run_id,
            thread_id=thread_id,
        )


async def left_of(store: ResourceStore, thread_id: str) -> list[str]:
    """Return what is found of a thread, by whatever leads to it."""
    runs = [await store.runs.get(f"{name} {thread_id}") for name in ("done", "running", "pending")]
    found = {
        "thread": await store.threads.get(thread_id),
        "runs": [run for run in runs if run is not None],
        "runs of the thread": (await store.runs.search(RunQuery(thread_id=thread_id))).rows,
        "cron": await store.crons.get(thread_id),
        "crons of the thread": (await store.crons.search(CronQuery(thread_id=thread_id))).rows,
        "principal": await store.crons.principal_of(thread_id),
        "delivery": await store.deliveries.get(thread_id),
        "deliveries": (await store.deliveries.search(DeliveryQuery(thread_id=thread_id))).rows,
        "answer of a run": await store.idempotency.get("of a run", thread_id),
        "answer of a thread": await store.idempotency.get("of a thread", thread_id),
    }
    return [name for name, rows in found.items() if rows]


class ErasureSuite(ResourceSuite):
    """One case per way a thread goes."""

    async def test_a_deleted_thread_leaves_nothing(self, store: ResourceStore) -> None:
        await fill(store, "t1")
        await fill(store, "t2")
        before = await left_of(store, "t2")
        assert len(before) == 10
        await store.threads.delete("t1")
        assert await left_of(store, "t1") == []
        assert await left_of(store, "t2") == before

    async def test_an_id_used_again_is_empty(self, store: ResourceStore) -> None:
        await fill(store, "t1")
        await store.threads.delete("t1")
        fresh = await add_thread(store)
        assert await left_of(store, "t1") == ["thread"]
        assert (fresh.metadata, fresh.values, fresh.head_checkpoint_id) == ({}, None, None)
        assert (fresh.status, fresh.error, fresh.config) == ("idle", None, {})
        assert fresh.expires_at is None
        assert await store.runs.latest_of("t1") is None
        assert (await start(store, "done t1")).status == "running"

    async def test_nothing_of_a_deleted_thread_is_due_or_claimed(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await fill(store, "t1")
        await store.threads.delete("t1")
        clock.advance(1e6)
        assert await store.threads.list_expired() == []
        assert await store.crons.list_due() == []
        assert await store.deliveries.list_due() == []
        assert await store.runs.claim(OWNER, limit=10) == []
        assert await store.runs.release_expired() == []
        assert await store.runs.next_start() is None
        assert (await store.threads.search(ThreadQuery())).total == 0

    async def test_a_deletion_may_be_repeated(self, store: ResourceStore) -> None:
        await fill(store, "t1")
        assert len(await store.threads.delete("t1")) == 2
        assert await store.threads.delete("t1") == []
        assert await left_of(store, "t1") == []

    async def test_a_run_of_a_deleted_thread_writes_nothing_any_more(
        self, store: ResourceStore
    ) -> None:
        await add_thread(store)
        run = await start(store)
        await store.threads.delete("t1")
        await add_thread(store)
        assert await finish(store, run, left=state("error", values={"secret": 1})) is None
        assert await store.runs.extend(OWNER, ["r1"]) == {}
        thread = await store.threads.get("t1")
        assert thread is not None
        assert (thread.status, thread.values) == ("idle", None)

    async def test_a_deleted_run_leaves_nothing(self, store: ResourceStore) -> None:
        await fill(store, "t1")
        await store.runs.delete("done t1")
        assert await store.runs.get("done t1") is None
        assert await store.deliveries.get("t1") is None
        assert await store.idempotency.get("of a run", "t1") is None
        assert await store.crons.get("t1") is not None

    async def test_what_was_deleted_is_not_found(self, store: ResourceStore) -> None:
        await fill(store, "t1")
        await store.threads.delete("t1")
        for call in (
            store.threads.update("t1", metadata={"a": 1}),
            store.threads.record_state("t1", state()),
            store.threads.copy("t1", copy_id="t2"),
            enqueue(store, "r9"),
            add_cron(store, "c9", thread_id="t1"),
        ):
            with pytest.raises(NotFoundError):
                await call
        assert await left_of(store, "t1") == []
