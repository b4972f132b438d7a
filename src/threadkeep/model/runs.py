"""A run: one execution of a graph on a thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

RunStatus = Literal["pending", "running", "success", "error", "timeout", "interrupted"]
RUN_STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)
ACTIVE: tuple[RunStatus, ...] = ("pending", "running")
MultitaskStrategy = Literal["reject", "enqueue", "interrupt", "rollback"]
CancelAction = Literal["interrupt", "rollback"]
ERROR = "__error__"  # the key under which an answer carries why its run failed
INTERRUPT = "__interrupt__"  # the key under which an answer carries what its run waits for


@dataclass(frozen=True, slots=True)
class Run:
    """One execution.

    Attributes:
        run_id: A UUID as text, time-ordered.
        status: As in ``langgraph_sdk.schema``; all but ``pending`` and ``running`` are final.
        reason: Why a final status was reached when it was not the graph's own doing:
            ``cancelled``, ``rolled_back``, ``server_restarted``, ``secrets_lost``, ``timeout``,
            ``no_node_ran`` (a success that found nothing to do); else ``None``.
        error: The failure as JSON ``{"error", "message"}``, or ``None``.
        kwargs: What to run: input, command, config, context, stream modes and the rest, as JSON.
            Secrets are not among it in the clear (``engine.secrets``).
        start_at: Not claimed before this moment (``after_seconds``).
        owner: The process executing it, or ``None``.
        fence: Grows by one with each claim; a settle with an older one is refused.
        lease_expires_at: When its owner counts as gone, or ``None``.
        cancel: What somebody asked of it, or ``None``; kept when it is final.
    """

    run_id: str
    thread_id: str
    assistant_id: str
    status: RunStatus
    metadata: Mapping[str, Any]
    kwargs: Mapping[str, Any]
    multitask_strategy: MultitaskStrategy
    created_at: datetime
    updated_at: datetime
    start_at: datetime
    reason: str | None = None
    error: Any = None
    owner: str | None = None
    fence: int = 0
    lease_expires_at: datetime | None = None
    cancel: CancelAction | None = None


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a caller gives to create one.

    Attributes:
        thread_metadata: Merged into the thread's metadata in the same transaction (the graph and
            assistant the thread now belongs to).
    """

    run_id: str
    thread_id: str
    assistant_id: str
    kwargs: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    multitask_strategy: MultitaskStrategy = "enqueue"
    after_seconds: float = 0
    thread_metadata: Mapping[str, Any] = field(default_factory=dict)
    thread_config: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """Who executes, and until when it counts as alive without a word."""

    owner: str
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class Admission:
    """What admitting a run did.

    Attributes:
        run: The run as stored: ``running`` and owned when it could start at once, else ``pending``.
        head_checkpoint_id: The thread's head when it was admitted.
        displaced: Runs that were active and that the strategy (``interrupt``, ``rollback``) ends;
            each now carries ``cancel``.
    """

    run: Run
    head_checkpoint_id: str | None
    displaced: Sequence[Run] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; see ``Run`` for the fields."""

    status: RunStatus
    reason: str | None = None
    error: Any = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a caller who waited for a run gets.

    Attributes:
        run: The run as it ended.
        values: The answer as JSON: the final values, with ``__interrupt__`` when the run stopped
            at interrupts; ``{"__error__": {"error", "message"}}`` when it failed; ``None`` when
            there is neither, as for a run that was cancelled before it began.
    """

    run: Run
    values: bytes | None
