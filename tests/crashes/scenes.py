"""What a process was doing to a thread when it was killed: one function for each method."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from tests.crashes.killing import Bomb, watched
from threadkeep import DocumentCheckpointSaver
from threadkeep.drivers import postgres
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.testing.saver_steps import checkpoint, conversation

STEPS = 12
NEW_ID = "2f0f0000-0000-6000-8000-000000000000"  # later than every id that is made today
LARGE_BYTES = 3_000_000  # more than one batch


def at(thread_id: str, **more: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **more}}


def open_storage(url: str) -> Driver:
    if url.startswith("postgresql:"):
        return postgres.open(url, DriverOptions())
    return open_driver(url)


def open_saver(driver: Driver) -> DocumentCheckpointSaver:
    return DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())


def make_thread(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    """Store a conversation of some steps, with writes, and a subgraph that ran under one."""
    config = at(thread_id)
    for step in range(STEPS):
        values = {"m": conversation(step + 1), "n": step}
        versions: dict[str, Any] = {"m": step + 1, "n": step + 1}
        made = checkpoint(values, versions)
        config = saver.put(config, made, {"source": "loop", "step": step, "parents": {}}, versions)
        saver.put_writes(config, [("m", conversation(step + 2)[-1:]), ("n", step)], f"task {step}")
    parent = config["configurable"]["checkpoint_id"]
    below: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": "sub:1"}}
    made = checkpoint({"m": conversation(STEPS)}, {"m": STEPS})
    saver.put(below, made, {"source": "loop", "step": 0, "parents": {"": parent}}, {"m": STEPS})


def _head(saver: DocumentCheckpointSaver, thread_id: str) -> RunnableConfig:
    found = saver.get_tuple(at(thread_id))
    assert found is not None
    return found.config


def _put(saver: DocumentCheckpointSaver, thread_id: str, *, text: str = "more") -> None:
    values = {"m": [*conversation(STEPS), HumanMessage(text * 100, id="new")], "n": STEPS}
    versions: dict[str, Any] = {"m": STEPS + 1, "n": STEPS + 1}
    made = checkpoint(values, versions, id=NEW_ID)
    said: Any = {"source": "loop", "step": STEPS, "parents": {}}
    saver.put(_head(saver, thread_id), made, said, versions)


def _staged_put(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    async def put() -> None:
        head = await saver.aget_tuple(at(thread_id))
        assert head is not None
        values = {"m": [*conversation(STEPS), HumanMessage("more", id="new")], "n": STEPS}
        versions: dict[str, Any] = {"m": STEPS + 1, "n": STEPS + 1}
        made = checkpoint(values, versions, id=NEW_ID)
        said: Any = {"source": "loop", "step": STEPS, "parents": {}}
        staged = saver.staged()
        await staged.aput(head.config, made, said, versions)
        await staged.flush()

    asyncio.run(put())


def _put_large(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    drawn = "".join(f"{number * 2654435761 % 2**32:08x}" for number in range(LARGE_BYTES // 800))
    _put(saver, thread_id, text=drawn)


def _put_over(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    """Put a stored id once more with other values, as LangGraph does in exit mode."""
    found = saver.get_tuple(at(thread_id))
    assert found is not None
    made = checkpoint(
        {"m": conversation(3)}, {"m": STEPS + 1}, id=found.config["configurable"]["checkpoint_id"]
    )
    said: Any = {"source": "loop", "step": STEPS, "parents": {}}
    assert found.parent_config is not None
    saver.put(found.parent_config, made, said, {"m": STEPS + 1})


def _put_writes(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    writes: list[tuple[str, Any]] = [
        ("m", [HumanMessage("w" * 900, id="w")]),
        ("n", 1),
        ("__error__", "e" * 99),
    ]
    saver.put_writes(_head(saver, thread_id), writes, "another task")


def _prune(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    saver.prune([thread_id], keep_last=2)


def _delete_thread(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    saver.delete_thread(thread_id)


def _copy_thread(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    saver.copy_thread(thread_id, f"copy of {thread_id}")


SCENES: Mapping[str, Callable[[DocumentCheckpointSaver, str], None]] = {
    "put": _put,
    "staged put": _staged_put,
    "put of several batches": _put_large,
    "put of a stored id": _put_over,
    "put_writes": _put_writes,
    "prune": _prune,
    "delete_thread": _delete_thread,
    "copy_thread": _copy_thread,
}


def play(url: str, scene: str, thread_id: str, kill_at: int) -> None:
    """Do it with a saver opened anew, in a process that is killed at a statement."""
    bomb = Bomb(kill_at)
    with watched(bomb):
        driver = open_storage(url)
        saver = open_saver(driver)
        saver.get_tuple(at(thread_id))  # the thread is known, as to a process that runs on it
        bomb.arm()
        SCENES[scene](saver, thread_id)
        bomb.tick()  # all is done: the last boundary
        driver.close()
