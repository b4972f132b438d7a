"""Rows as a database answers with them, and the model they stand for.

Times are whole microseconds since 1970 in UTC, JSON is text (``rules.json_text``), a namespace is
its labels as UTF-8, each ended by a zero byte: so a subtree is a range of paths, and paths are in
the order of their labels. What goes in is plain (``rules.inputs``), so encoding cannot fail.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from threadkeep.model.assistants import Assistant
from threadkeep.model.items import Item, Namespace
from threadkeep.model.runs import Run
from threadkeep.model.threads import Thread, ThreadStatus
from threadkeep.rules.json_text import decode_json, json_text

Row: TypeAlias = Mapping[str, Any]
Bag: TypeAlias = dict[str, Any]

AFTER_LABELS = b"\xff"  # sorts after every byte of UTF-8: where a subtree's range ends

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Return a moment as it is stored."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(stored: int) -> datetime:
    """Return the moment that is stored."""
    return _EPOCH + timedelta(microseconds=stored)


def optional_micros(at: datetime | None) -> int | None:
    """Return a moment as it is stored, where there is one."""
    return None if at is None else micros(at)


def optional_moment(stored: int | None) -> datetime | None:
    """Return the moment that is stored, where one is."""
    return None if stored is None else moment(stored)


def path_of(labels: Namespace) -> bytes:
    """Return labels as they are stored."""
    return b"".join(label.encode() + b"\0" for label in labels)


def labels_of(path: bytes) -> Namespace:
    """Return the labels that are stored."""
    return tuple(label.decode() for label in bytes(path).split(b"\0")[:-1])


def assistant_bag(row: Assistant) -> Bag:
    """Return the columns of an assistant or of one of its versions."""
    return {
        "assistant_id": row.assistant_id,
        "graph_id": row.graph_id,
        "version": row.version,
        "name": row.name,
        "description": row.description,
        "config": json_text(row.config),
        "context": json_text(row.context),
        "metadata": json_text(row.metadata),
        "created_at": micros(row.created_at),
        "updated_at": micros(row.updated_at),
    }


def assistant_of(row: Row) -> Assistant:
    """Return the assistant, or version of one, that a row holds."""
    return Assistant(
        assistant_id=row["assistant_id"],
        graph_id=row["graph_id"],
        version=row["version"],
        name=row["name"],
        description=row["description"],
        config=decode_json(row["config"]),
        context=decode_json(row["context"]),
        metadata=decode_json(row["metadata"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )


def thread_bag(row: Thread, *, shown: ThreadStatus) -> Bag:
    """Return the columns of a thread whose own status is ``row.status``."""
    return {
        "thread_id": row.thread_id,
        "status": shown,
        "left_status": row.status,
        "metadata": json_text(row.metadata),
        "config": json_text(row.config),
        "values": None if row.values is None else json_text(row.values),
        "head_checkpoint_id": row.head_checkpoint_id,
        "interrupts": json_text(row.interrupts),
        "error": json_text(row.error),
        "created_at": micros(row.created_at),
        "updated_at": micros(row.updated_at),
        "state_updated_at": micros(row.state_updated_at),
        "ttl_minutes": row.ttl_minutes,
        "expires_at": optional_micros(row.expires_at),
    }


def thread_of(row: Row, *, status_column: str = "status") -> Thread:
    """Return the thread that a row holds, with the status it shows or, if asked, its own.

    JSON that was not selected is absent in the row, and empty in the thread.
    """
    return Thread(
        thread_id=row["thread_id"],
        status=row[status_column],
        metadata=_optional_json(row["metadata"]) or {},
        config=_optional_json(row["config"]) or {},
        values=_optional_json(row["values"]),
        head_checkpoint_id=row["head_checkpoint_id"],
        interrupts=_optional_json(row["interrupts"]) or {},
        error=_optional_json(row["error"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        state_updated_at=moment(row["state_updated_at"]),
        ttl_minutes=row["ttl_minutes"],
        expires_at=optional_moment(row["expires_at"]),
    )


def _optional_json(text: str | None) -> Any:
    return None if text is None else decode_json(text)


def run_bag(run: Run) -> Bag:
    """Return the columns of a run, of its request and of its lease."""
    return {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": run.assistant_id,
        "status": run.status,
        "metadata": json_text(run.metadata),
        "kwargs": json_text(run.kwargs),
        "multitask_strategy": run.multitask_strategy,
        "created_at": micros(run.created_at),
        "updated_at": micros(run.updated_at),
        "start_at": micros(run.start_at),
        "reason": run.reason,
        "error": json_text(run.error),
        "owner": run.owner,
        "fence": run.fence,
        "lease_expires_at": optional_micros(run.lease_expires_at),
        "cancel": run.cancel,
    }


def run_of(row: Row) -> Run:
    """Return the run that a row holds."""
    return Run(
        run_id=row["run_id"],
        thread_id=row["thread_id"],
        assistant_id=row["assistant_id"],
        status=row["status"],
        metadata=decode_json(row["metadata"]),
        kwargs=decode_json(row["kwargs"]),
        multitask_strategy=row["multitask_strategy"],
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        start_at=moment(row["start_at"]),
        reason=row["reason"],
        error=decode_json(row["error"]),
        owner=row["owner"],
        fence=row["fence"],
        lease_expires_at=optional_moment(row["lease_expires_at"]),
        cancel=row["cancel"],
    )


def runs_of(rows: Sequence[Row]) -> list[Run]:
    """Return the runs that rows hold."""
    return [run_of(row) for row in rows]


def item_bag(item: Item) -> Bag:
    """Return the columns of an item and of its lifetime."""
    return {
        "path": path_of(item.namespace),
        "key": item.key,
        "value": json_text(item.value),
        "created_at": micros(item.created_at),
        "updated_at": micros(item.updated_at),
        "ttl_minutes": item.ttl_minutes,
        "expires_at": optional_micros(item.expires_at),
    }


def item_of(row: Row) -> Item:
    """Return the item that a row holds."""
    return Item(
        namespace=labels_of(row["path"]),
        key=row["key"],
        value=decode_json(row["value"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        ttl_minutes=row["ttl_minutes"],
        expires_at=optional_moment(row["expires_at"]),
    )
