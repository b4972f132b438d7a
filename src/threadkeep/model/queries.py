"""Search arguments, frozen. ``limit=None`` means the store's page bound."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from threadkeep.model.deliveries import DeliveryStatus
from threadkeep.model.runs import RunStatus
from threadkeep.model.threads import ThreadStatus

T = TypeVar("T")

MAX_PAGE_SIZE = 1000  # rows of a page unless configured; bounds memory, not the wire

SortOrder = Literal["asc", "desc"]
AssistantSort = Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"]
CronSort = Literal[
    "cron_id",
    "assistant_id",
    "thread_id",
    "created_at",
    "updated_at",
    "next_run_date",
    "end_time",
]
ThreadField = Literal["metadata", "config", "values", "interrupts", "error"]
ThreadSort = Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"]


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """One page.

    Attributes:
        rows: The page, in the order asked for.
        total: How many match in all, whatever the page.
        next_offset: Where the next page starts when this one was cut, else ``None``.
    """

    rows: Sequence[T]
    total: int
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class AssistantQuery:
    """Which assistants; every given criterion holds.

    Attributes:
        name: Part of the name, in either case.
        metadata: Contained in the assistant's metadata (``rules.containment``).
        enforced_metadata: See ``ThreadQuery``.
    """

    graph_id: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    enforced_metadata: Mapping[str, Any] = field(default_factory=dict)
    sort_by: AssistantSort = "created_at"
    sort_order: SortOrder = "desc"
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class VersionQuery:
    """Which versions of an assistant, highest first."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ThreadQuery:
    """Which threads; every given criterion holds.

    Attributes:
        metadata: Contained in the thread's metadata (``rules.containment``).
        enforced_metadata: The same, set by the server for the caller's identity; never merged
            with ``metadata``.
        values: Contained in the mirrored values.
        ids: Only these; an empty sequence matches nothing.
        select: Which of the fields that may be large are read; ``None`` for all. What is left out
            is empty in the rows. The others are always read.
    """

    metadata: Mapping[str, Any] = field(default_factory=dict)
    enforced_metadata: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    status: ThreadStatus | None = None
    ids: Sequence[str] | None = None
    select: Collection[ThreadField] | None = None
    sort_by: ThreadSort = "created_at"
    sort_order: SortOrder = "desc"
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs; every given criterion holds. Newest first by (created_at, run_id).

    Attributes:
        statuses: One of these; an empty sequence matches nothing.
        enforced_metadata: Contained in the metadata of the run's thread: a run is its thread
            owner's. See ``ThreadQuery``.
    """

    thread_id: str | None = None
    assistant_id: str | None = None
    statuses: Sequence[RunStatus] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    enforced_metadata: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class CronQuery:
    """Which crons; every given criterion holds.

    Attributes:
        metadata: Contained in the cron's metadata (``rules.containment``).
        enforced_metadata: See ``ThreadQuery``.
        sort_by: What has no value there comes last, in either order.
    """

    assistant_id: str | None = None
    thread_id: str | None = None
    enabled: bool | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    enforced_metadata: Mapping[str, Any] = field(default_factory=dict)
    sort_by: CronSort = "created_at"
    sort_order: SortOrder = "desc"
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class DeliveryQuery:
    """Which deliveries; every given criterion holds. Newest first by (created_at, delivery_id)."""

    run_id: str | None = None
    thread_id: str | None = None
    status: DeliveryStatus | None = None
    limit: int | None = None
    offset: int = 0
