"""A store with rows of every kind, for tests that move it."""

from datetime import UTC, datetime

from tests.damage import fill
from threadkeep import DocumentCheckpointSaver
from threadkeep.model.assistants import AssistantPatch
from threadkeep.model.crons import NewCron
from threadkeep.model.idempotency import IdempotencyClaim, RecordedResponse
from threadkeep.ports.drivers import Driver
from threadkeep.testing.resources.builders import (
    add_thread,
    enqueue,
    finish,
    new_assistant,
    start,
    state,
)
from threadkeep.testing.resources.deliveries import new_delivery

KEY = "a key of thirty-two characters.."
NEXT = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ODD = {"nul": "a\0b", "surrogate": "\ud800", "big": 2**70, "float": 1e300, "ü": [True, None, {}]}


async def fill_resources(driver: Driver) -> None:
    """Make resources of every kind and in every state that rows tell apart."""
    store = driver.resources()
    await store.setup()
    for number in range(3):
        made = new_assistant(f"a{number}", name=f"Ärger {number}", metadata=ODD)
        await store.assistants.create(made)
    await store.assistants.update("a1", AssistantPatch(metadata={"second": True}))
    for number in range(30):
        ttl = 5.5 if number % 3 == 0 else None
        await add_thread(store, f"t{number}", metadata={"n": number, **ODD}, ttl_minutes=ttl)
    await finish(store, await start(store, "r9", "t1"), left=state(values=ODD, head="c1"))
    await start(store, "r5", "t2")
    for run_id in ("r8", "r7", "r6"):  # admitted against the order of their ids
        await enqueue(store, run_id, "t2", metadata=ODD)
    await store.crons.create(
        NewCron(
            "c1",
            "a1",
            "* * * * *",
            thread_id="t1",
            timezone="Europe/Vienna",
            next_run_date=NEXT,
            payload={"input": ODD},
            principal={"identity": "somebody"},
        )
    )
    await store.crons.create(NewCron("c2", "a1", "5 4 * * *", enabled=False, metadata=ODD))
    for number in range(1_200):
        await store.items.put(("ü", str(number % 7)), f"k{number}", {**ODD, "n": number})
    await store.items.put(("short",), "k", {"a": 1}, ttl_minutes=10)
    await store.idempotency.claim(IdempotencyClaim("POST /runs u", "k1", "print", "one", 600))
    await store.idempotency.claim(IdempotencyClaim("POST /runs u", "k2", "print", "two", 600))
    await store.idempotency.record(
        "POST /runs u",
        "k1",
        claim_id="one",
        response=RecordedResponse(200, {"a": "b"}, ODD),
        run_id="r9",
        seconds=600,
    )
    await store.deliveries.add(new_delivery("d1", "r9", "t1"))


def saver_of(driver: Driver, *, key: str | None = None) -> DocumentCheckpointSaver:
    """Return a saver on a store that knows nothing yet."""
    keys = [] if key is None else [key]
    return DocumentCheckpointSaver(
        driver.documents(), async_documents=driver.async_documents(), encryption_keys=keys
    )


def fill_documents(driver: Driver) -> None:
    """Save conversations in the clear and encrypted, and erase one."""
    driver.documents().setup()
    fill(saver_of(driver))
    fill(saver_of(driver), "thread ü 2", 2)
    fill(saver_of(driver, key=KEY), "encrypted", 3)
    fill(saver_of(driver), "erased", 1)
    saver_of(driver).delete_thread("erased")
