"""What a whole store is made of: the kinds of rows, in the order in which they can be restored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[Scalar, ...]

VERSION = 1  # of the kinds, their columns and the file they are written to


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of row.

    Attributes:
        name: As the file names it.
        key: The columns by which a row is known and in whose order rows are read: text by code
            point, bytes and integers naturally.
        others: The other columns.
        loose: Those of ``others`` that only order rows, so that another store may number them
            otherwise.
    """

    name: str
    key: Sequence[str]
    others: Sequence[str]
    loose: Sequence[str] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column, in the order of a row."""
        return (*self.key, *self.others)

    def key_of(self, row: Row) -> Row:
        """Return what a row is known by."""
        return row[: len(self.key)]

    def settled(self, row: Row) -> Row:
        """Return a row without its loose columns: what is the same in every store."""
        if not self.loose:
            return row
        named = zip(self.columns, row, strict=True)
        return tuple(value for name, value in named if name not in self.loose)


_ASSISTANT = ("graph_id", "name", "description", "config", "context", "metadata")
_TIMES = ("created_at", "updated_at")
_THREAD = ("namespace", "agent_id", "thread_id")

# What is named before what names it.
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("assistants", ("assistant_id",), ("version", *_ASSISTANT, *_TIMES)),
        Kind("assistant_versions", ("assistant_id", "version"), (*_ASSISTANT, *_TIMES)),
        Kind(
            "threads",
            ("thread_id",),
            (
                *("status", "left_status", "metadata", "config", "values", "head_checkpoint_id"),
                *("interrupts", "error", *_TIMES, "state_updated_at", "ttl_minutes", "expires_at"),
            ),
        ),
        Kind(
            "runs",
            ("run_id",),
            (
                *("position", "thread_id", "assistant_id", "status", "metadata", "kwargs"),
                *("multitask_strategy", *_TIMES, "start_at", "reason", "error", "fence"),
                *("cancel", "owner", "lease_expires_at"),
            ),
            loose=("position",),
        ),
        Kind(
            "crons",
            ("cron_id",),
            (
                *("assistant_id", "thread_id", "schedule", "timezone", "end_time"),
                *("next_run_date", "enabled", "on_run_completed", "payload", "metadata"),
                *("user_id", "principal", *_TIMES, "token"),
            ),
        ),
        Kind("items", ("path", "key"), ("value", *_TIMES, "ttl_minutes", "expires_at")),
        Kind(
            "idempotency_records",
            ("scope", "key"),
            (
                *("fingerprint", "claim_id", "status", "response", "run_id", "thread_id"),
                "expires_at",
            ),
        ),
        Kind(
            "deliveries",
            ("delivery_id",),
            (
                *("run_id", "thread_id", "url", "payload", "is_truncated", "run_status"),
                *("status", "attempt", "next_attempt_at", "last_error", *_TIMES, "expires_at"),
            ),
        ),
        Kind("document_erasures", ("mark",), ("erased_at",)),
        Kind("document_threads", _THREAD, ()),
        Kind("addressed_documents", (*_THREAD, "ref"), ("kind", "refs", "body", "metadata")),
        Kind(
            "checkpoint_documents",
            (*_THREAD, "ns", "id"),
            ("parent", "source", "step", "meta", "refs", "body"),
        ),
        Kind("write_documents", (*_THREAD, "ns", "id", "task", "part"), ("refs", "body")),
    )
}
