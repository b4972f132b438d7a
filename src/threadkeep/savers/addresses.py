"""Where a checkpoint is, in LangGraph's words and in ours."""

from typing import Any

from langchain_core.runnables import RunnableConfig

from threadkeep.checkpoints.known import Place
from threadkeep.errors import InvalidRequestError


def text(name: str, value: Any) -> str:
    """Accept an id that every database can keep.

    Raises:
        InvalidRequestError: It is none.
    """
    if not isinstance(value, str) or "\x00" in value:
        raise InvalidRequestError(f"{name} must be text without NUL, not {value!r}")
    return value


def address(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Read thread, namespace and checkpoint id of a config.

    Raises:
        InvalidRequestError: It names no thread, or something that is no id.
    """
    configurable = config.get("configurable") or {}
    if configurable.get("thread_id") is None:
        raise InvalidRequestError(
            "a checkpointer needs configurable.thread_id, as in "
            '{"configurable": {"thread_id": "..."}}'
        )
    checkpoint_id = configurable.get("checkpoint_id") or None
    return (
        text("thread_id", str(configurable["thread_id"])),
        text("checkpoint_ns", configurable.get("checkpoint_ns") or ""),
        None if checkpoint_id is None else text("checkpoint_id", checkpoint_id),
    )


def thread_id_of(given: Any) -> str:
    """Accept a thread id, which LangGraph may give as a number.

    Raises:
        InvalidRequestError: It is none that every database can keep.
    """
    return text("thread_id", str(given))


def config_of(place: Place) -> RunnableConfig:
    """Make the config that names a checkpoint."""
    thread_id, namespace, checkpoint_id = place
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }
