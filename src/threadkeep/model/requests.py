"""What a caller asks of a run, after validation and before it becomes a ``Run``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from threadkeep.model.runs import MultitaskStrategy
from threadkeep.model.threads import ThreadStatus

StreamMode = Literal[
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "custom",
    "debug",
    "tasks",
    "checkpoints",
    "events",
    "tools",
    "lifecycle",
]
STREAM_MODES: tuple[StreamMode, ...] = get_args(StreamMode)
Durability = Literal["sync", "async", "exit"]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run to be made, as the wire says it. Defaults are LangGraph's server's.

    Attributes:
        thread_id: The thread, or ``None`` for a stateless run on a thread of its own.
        assistant_id: An assistant's id, or a graph id, which means its default assistant.
        input: The graph's input; ``None`` with no command continues where the thread stands.
        command: ``{"resume", "update", "goto"}`` instead of input.
        checkpoint: ``{"checkpoint_id", "checkpoint_ns", "checkpoint_map"}`` to start from.
        stream_mode: What to publish; empty means ``values``.
        stream_subgraphs: Publish events of subgraphs too, named ``mode|namespace``.
        stream_resumable: Keep events for readers that come back, with ids on the wire.
        interrupt_before: Node names, or ``"*"``.
        if_not_exists: Whether a missing thread is created or refused.
        on_completion: What becomes of a stateless run's thread: ``delete`` or ``keep``.
        on_disconnect: What a lost connection of ``wait`` and ``stream`` does to the run.
        thread_status_in: Refuse unless the thread's status is one of these.
        strict_resume: Fail a resume that names an interrupt which does not wait.
        webhook: Who is told how the run ended, or ``None``.
    """

    assistant_id: str
    thread_id: str | None = None
    input: Any = None
    command: Mapping[str, Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] | None = None
    stream_mode: Sequence[StreamMode] = ()
    stream_subgraphs: bool = False
    stream_resumable: bool = False
    interrupt_before: Sequence[str] | Literal["*"] = ()
    interrupt_after: Sequence[str] | Literal["*"] = ()
    multitask_strategy: MultitaskStrategy = "enqueue"
    if_not_exists: Literal["create", "reject"] = "reject"
    on_completion: Literal["delete", "keep"] = "delete"
    on_disconnect: Literal["cancel", "continue"] = "continue"
    after_seconds: float = 0
    durability: Durability = "async"
    thread_status_in: Sequence[ThreadStatus] | None = None
    strict_resume: bool = False
    webhook: str | None = None


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """One update of a superstep: what a node is said to have answered.

    Attributes:
        as_node: The node.
        values: Its answer, where there is no command.
        command: ``{"resume", "update", "goto"}`` as its answer.
    """

    as_node: str
    values: Any = None
    command: Mapping[str, Any] | None = None
