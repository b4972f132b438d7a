"""What every store must do with idempotency records."""

from datetime import timedelta

import anyio
import pytest

from threadkeep.errors import InvalidRequestError, ValueNotStorableError
from threadkeep.model.idempotency import IdempotencyClaim, IdempotencyRecord, RecordedResponse
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources.builders import add_thread, enqueue
from threadkeep.testing.resources.suite import ResourceSuite

ANSWER = RecordedResponse(200, {"content-location": "/threads/t1"}, {"run_id": "r1", "é": [None]})


def claim_of(
    claim_id: str = "one",
    *,
    key: str = "k",
    scope: str = "POST /runs u",
    fingerprint: str = "f1",
    seconds: float = 60,
) -> IdempotencyClaim:
    """Build a claim."""
    return IdempotencyClaim(scope, key, fingerprint, claim_id, seconds)


async def read(store: ResourceStore, key: str = "k") -> IdempotencyRecord | None:
    """Read a record of the usual scope."""
    return await store.idempotency.get("POST /runs u", key)


async def record(
    store: ResourceStore,
    claim_id: str = "one",
    *,
    key: str = "k",
    run_id: str | None = None,
    thread_id: str | None = None,
    seconds: float = 3600,
) -> bool:
    """Record the usual answer."""
    return await store.idempotency.record(
        "POST /runs u",
        key,
        claim_id=claim_id,
        response=ANSWER,
        run_id=run_id,
        thread_id=thread_id,
        seconds=seconds,
    )


class IdempotencySuite(ResourceSuite):
    """One case per promise of ``IdempotencyRepo``."""

    async def test_a_new_key_is_the_claimers(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        assert await store.idempotency.claim(claim_of()) is None
        held = await read(store)
        assert held is not None
        assert (held.status, held.claim_id, held.fingerprint) == ("in_flight", "one", "f1")
        assert (held.response, held.run_id, held.thread_id) == (None, None, None)
        assert held.expires_at == clock.now() + timedelta(seconds=60)
        assert await read(store, "another") is None

    async def test_who_has_the_key_is_reported(self, store: ResourceStore) -> None:
        await store.idempotency.claim(claim_of())
        held = await store.idempotency.claim(claim_of("two", fingerprint="f2"))
        assert held is not None
        assert (held.claim_id, held.fingerprint) == ("one", "f1")
        assert held == await read(store)

    async def test_exactly_one_of_many_claims_wins(self, store: ResourceStore) -> None:
        answers: list[IdempotencyRecord | None] = []

        async def claim(number: int) -> None:
            answers.append(await store.idempotency.claim(claim_of(f"c{number}")))

        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(claim, number)
        held = await read(store)
        assert held is not None
        assert answers.count(None) == 1
        assert {answer.claim_id for answer in answers if answer} == {held.claim_id}

    async def test_scopes_keep_keys_apart(self, store: ResourceStore) -> None:
        assert await store.idempotency.claim(claim_of()) is None
        assert await store.idempotency.claim(claim_of("two", scope="POST /runs v")) is None
        assert await store.idempotency.claim(claim_of("three", key="K")) is None

    async def test_an_answer_comes_back_exactly(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await store.idempotency.claim(claim_of())
        clock.advance(1)
        assert await record(store, run_id="r1", thread_id="t1")
        held = await store.idempotency.claim(claim_of("two"))
        assert held is not None
        assert (held.status, held.response) == ("done", ANSWER)
        assert (held.run_id, held.thread_id) == ("r1", "t1")
        assert held.expires_at == clock.now() + timedelta(seconds=3600)
        body = {"text": "\0\ud800", "big": 2**70, "none": None}
        await store.idempotency.claim(claim_of(key="odd"))
        odd = RecordedResponse(201, {}, body)
        await store.idempotency.record("POST /runs u", "odd", claim_id="one", response=odd)
        held = await read(store, "odd")
        assert held is not None
        assert held.response == odd

    async def test_what_is_no_json_is_refused(self, store: ResourceStore) -> None:
        await store.idempotency.claim(claim_of())
        for odd in (RecordedResponse(200, {}, {1}), RecordedResponse(200, {"a": {1}}, None)):  # type: ignore[dict-item]
            with pytest.raises(ValueNotStorableError):
                await store.idempotency.record("POST /runs u", "k", claim_id="one", response=odd)
        held = await read(store)
        assert held is not None
        assert held.status == "in_flight"

    async def test_a_stale_claim_records_nothing(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.idempotency.claim(claim_of())
        clock.advance(60)
        assert await store.idempotency.claim(claim_of("two")) is None
        assert not await record(store, "one")
        held = await read(store)
        assert held is not None
        assert (held.claim_id, held.status) == ("two", "in_flight")
        assert not await record(store, "one", key="unknown")
        assert await read(store, "unknown") is None

    async def test_a_slow_answer_is_kept_while_nobody_took_over(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.idempotency.claim(claim_of())
        clock.advance(61)
        assert await record(store)

    async def test_a_released_key_is_free(self, store: ResourceStore) -> None:
        await store.idempotency.claim(claim_of())
        assert await store.idempotency.release("POST /runs u", "k", claim_id="one")
        assert await read(store) is None
        assert await store.idempotency.claim(claim_of("two")) is None

    async def test_only_the_owner_in_flight_releases(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        release = store.idempotency.release
        await store.idempotency.claim(claim_of())
        clock.advance(60)
        await store.idempotency.claim(claim_of("two"))
        assert not await release("POST /runs u", "k", claim_id="one")
        assert await record(store, "two")
        assert not await release("POST /runs u", "k", claim_id="two")
        assert not await release("POST /runs u", "unknown", claim_id="two")
        assert await read(store) is not None

    async def test_an_expired_record_is_taken_over_and_begins_anew(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await add_thread(store)
        await store.idempotency.claim(claim_of())
        await record(store, run_id="r1", thread_id="t1", seconds=10)
        clock.advance(9.999_999)
        assert await store.idempotency.claim(claim_of("two", fingerprint="f2")) is not None
        clock.advance(0.000_001)
        assert await store.idempotency.claim(claim_of("two", fingerprint="f2")) is None
        held = await read(store)
        assert held is not None
        assert (held.status, held.claim_id, held.fingerprint) == ("in_flight", "two", "f2")
        assert (held.response, held.run_id, held.thread_id) == (None, None, None)

    async def test_exactly_one_of_many_takes_an_expired_record_over(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.idempotency.claim(claim_of("old"))
        clock.advance(60)
        won: list[int] = []

        async def claim(number: int) -> None:
            if await store.idempotency.claim(claim_of(f"c{number}")) is None:
                won.append(number)

        async with anyio.create_task_group() as group:
            for number in range(16):
                group.start_soon(claim, number)
        assert len(won) == 1

    async def test_an_expired_record_reads_until_it_is_swept(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.idempotency.claim(claim_of())
        clock.advance(1e6)
        assert await read(store) is not None
        assert await store.idempotency.sweep(limit=10) == 1
        assert await read(store) is None

    async def test_a_run_is_erased_from_the_records(self, store: ResourceStore) -> None:
        for key, run_id in (("k1", "r1"), ("k2", "r2"), ("k3", None)):
            await store.idempotency.claim(claim_of(key=key))
            await record(store, key=key, run_id=run_id)
        assert await store.idempotency.erase(run_id="r1") == 1
        assert await store.idempotency.erase(run_id="r1") == 0
        assert [await read(store, key) is None for key in ("k1", "k2", "k3")] == [
            True,
            False,
            False,
        ]

    async def test_a_thread_is_erased_from_the_records(self, store: ResourceStore) -> None:
        for number in (1, 2):
            await add_thread(store, f"t{number}")
            await store.idempotency.claim(claim_of(key=f"k{number}"))
            await record(store, key=f"k{number}", run_id="r", thread_id=f"t{number}")
        assert await store.idempotency.erase(thread_id="t1") == 1
        assert await store.idempotency.erase(thread_id="t1") == 0
        assert await read(store, "k1") is None
        assert await read(store, "k2") is not None

    async def test_an_erasure_names_one_of_the_two(self, store: ResourceStore) -> None:
        with pytest.raises(InvalidRequestError):
            await store.idempotency.erase()
        with pytest.raises(InvalidRequestError):
            await store.idempotency.erase(run_id="r", thread_id="t")

    async def test_deleting_a_run_or_thread_erases_its_records(self, store: ResourceStore) -> None:
        await add_thread(store)
        await add_thread(store, "t2")
        for run_id, thread_id in (("r1", "t1"), ("r2", "t2"), ("r3", "t2")):
            await enqueue(store, run_id, thread_id)
            await store.idempotency.claim(claim_of(key=run_id))
            named = None if run_id == "r3" else thread_id
            await record(store, key=run_id, run_id=run_id, thread_id=named)
        await store.runs.delete("r1")
        assert await read(store, "r1") is None
        assert await read(store, "r2") is not None
        await store.threads.delete("t2")
        assert await read(store, "r2") is None
        assert await read(store, "r3") is None

    async def test_an_answer_about_a_thread_that_is_gone_is_not_kept(
        self, store: ResourceStore
    ) -> None:
        await store.idempotency.claim(claim_of())
        assert not await record(store, "stale", thread_id="gone")
        assert await read(store) is not None
        assert not await record(store, thread_id="gone")
        assert await read(store) is None

    async def test_a_sweep_removes_the_expired_only_longest_first(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        for number in range(1, 6):
            await store.idempotency.claim(claim_of(key=f"k{number}", seconds=60 - number))
        await store.idempotency.claim(claim_of(key="kept", seconds=1000))
        clock.advance(59)
        assert await store.idempotency.sweep(limit=0) == 0
        assert await store.idempotency.sweep(limit=-1) == 0
        assert await store.idempotency.sweep(limit=2) == 2
        assert [await read(store, f"k{number}") is None for number in range(1, 6)] == [
            False,
            False,
            False,
            True,
            True,
        ]
        assert await store.idempotency.sweep(limit=10) == 3
        assert await store.idempotency.sweep(limit=10) == 0
        assert await read(store, "kept") is not None

    async def test_a_claim_that_does_not_last_is_refused(self, store: ResourceStore) -> None:
        for seconds in (0, -1, float("nan"), float("inf")):
            with pytest.raises(InvalidRequestError):
                await store.idempotency.claim(claim_of(seconds=seconds))
        for odd in (claim_of(key=""), claim_of(scope="\0"), claim_of(claim_id="\ud800")):
            with pytest.raises(InvalidRequestError):
                await store.idempotency.claim(odd)
        assert await read(store) is None

    async def test_a_claim_may_last_less_than_a_second(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.idempotency.claim(claim_of(seconds=0.25))
        clock.advance(0.249_999)
        assert await store.idempotency.claim(claim_of("two")) is not None
        clock.advance(0.000_001)
        assert await store.idempotency.claim(claim_of("two")) is None

    async def test_a_clock_that_goes_back_revives_nothing(
        self, store: ResourceStore, clock: ManualClock
    ) -> None:
        await store.idempotency.claim(claim_of())
        clock.advance(60)
        await store.idempotency.claim(claim_of("two"))
        clock.advance(-3600)
        assert not await record(store, "one")
        held = await store.idempotency.claim(claim_of("three"))
        assert held is not None
        assert held.claim_id == "two"
