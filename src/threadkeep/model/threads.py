"""A thread: one conversation, and what its last run left of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
THREAD_STATUSES: tuple[ThreadStatus, ...] = get_args(ThreadStatus)


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation.

    Attributes:
        thread_id: A UUID as text.
        status: ``busy`` while a run is pending or running, else what the last run left.
        metadata: Labels for search; runs add ``graph_id`` and ``assistant_id``.
        config: The config of the last run that the wire shows.
        values: The state's values as JSON after the last run, mirrored while they are small
            (``MIRRORED_VALUES_BYTES``); ``None`` when there are none or they are larger, then the
            head checkpoint has them.
        head_checkpoint_id: The root checkpoint the last run ended on, or ``None``.
        interrupts: Pending interrupts by task id, each a JSON object.
        error: Why the last run failed, as JSON, or ``None``.
        state_updated_at: When a run or an update last changed the values.
        ttl_minutes: Its lifetime, or ``None`` for ever.
        expires_at: When it may be collected, or ``None``.
    """

    thread_id: str
    status: ThreadStatus
    metadata: Mapping[str, Any]
    config: Mapping[str, Any]
    values: Mapping[str, Any] | None
    head_checkpoint_id: str | None
    interrupts: Mapping[str, Sequence[Any]]
    error: Any
    created_at: datetime
    updated_at: datetime
    state_updated_at: datetime
    ttl_minutes: float | None = None
    expires_at: datetime | None = None


MIRRORED_VALUES_BYTES = 4096  # larger values would rewrite the conversation at each run


@dataclass(frozen=True, slots=True)
class NewThread:
    """What a caller gives to create one."""

    thread_id: str
    metadata: Mapping[str, Any]
    ttl_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class ThreadState:
    """What a settled run or a state update leaves on the thread's row.

    Attributes:
        status: The status the run leaves, if no other run is waiting.
        values: See ``Thread.values``.
    """

    status: ThreadStatus
    values: Mapping[str, Any] | None
    head_checkpoint_id: str | None
    interrupts: Mapping[str, Sequence[Any]]
    error: Any = None
