"""What cases of the saver suite do again and again."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple
from langgraph.checkpoint.base.id import uuid6

Saver = BaseCheckpointSaver[Any]
TIME = "2026-01-02T03:04:05.678901+00:00"


def config(thread_id: Any = "t1", namespace: str = "", **more: Any) -> RunnableConfig:
    """Build a config that names a thread and a namespace."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, **more}}


def checkpoint(values: Mapping[str, Any], versions: Mapping[str, Any], **more: Any) -> Checkpoint:
    """Build a checkpoint with a new id; its uninteresting fields are filled in."""
    made: dict[str, Any] = {
        "v": 4,
        "id": str(uuid6()),
        "ts": TIME,
        "channel_values": dict(values),
        "channel_versions": dict(versions),
        "versions_seen": {},
        "updated_channels": None,
    }
    return made | more  # type: ignore[return-value]


async def put(
    saver: Saver,
    values: Mapping[str, Any],
    versions: Mapping[str, Any],
    after: RunnableConfig | None = None,
    **metadata: Any,
) -> RunnableConfig:
    """Put a checkpoint after another one, or as the thread's first."""
    made = checkpoint(values, versions)
    said: Any = {"source": "loop", "step": 0, "parents": {}, **metadata}
    return await saver.aput(after or config(), made, said, dict(versions))


async def values_of(saver: Saver, at: RunnableConfig | None = None) -> dict[str, Any]:
    """Read the values of a checkpoint, of the newest one if none is named."""
    return (await found(saver, at)).checkpoint["channel_values"]


async def found(saver: Saver, at: RunnableConfig | None = None) -> CheckpointTuple:
    """Read a checkpoint that is there."""
    read = await saver.aget_tuple(at or config())
    assert read is not None
    return read


def conversation(count: int) -> list[AnyMessage]:
    """Build messages that are long enough to be documents of their own."""
    return [
        HumanMessage(f"question {number} " + "x" * 60, id=str(number))
        if number % 2 == 0
        else AIMessage(
            f"answer {number} " + "y" * 60,
            id=str(number),
            usage_metadata={"input_tokens": 1, "output_tokens": number, "total_tokens": number + 1},
        )
        for number in range(count)
    ]
