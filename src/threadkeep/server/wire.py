"""Rows and states as LangGraph's clients read them, and the JSON they are sent as."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langgraph.store.base import Item, SearchItem
from starlette.responses import Response

from threadkeep.engine.json import encode, interrupts_json
from threadkeep.model.assistants import Assistant
from threadkeep.model.crons import Cron
from threadkeep.model.queries import Listing
from threadkeep.model.runs import Run
from threadkeep.model.threads import Thread
from threadkeep.rules.redaction import redact_config, redact_keys, redact_kwargs

if TYPE_CHECKING:  # at run time they come with the graphs, after the port is open
    from langgraph.types import PregelTask, StateSnapshot

JSON_TYPE = "application/json"
TOTAL_HEADER = "X-Pagination-Total"
MISSED_HEADER = "X-Threadkeep-Missed-Events"  # how many are not kept any more
NEXT_HEADER = "X-Pagination-Next"

ASSISTANT_FIELDS = (
    "assistant_id",
    "graph_id",
    "name",
    "description",
    "config",
    "context",
    "metadata",
    "version",
    "created_at",
    "updated_at",
)
THREAD_FIELDS = (
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "status",
    "config",
    "values",
    "error",
    "interrupts",
)
RUN_FIELDS = (
    "run_id",
    "thread_id",
    "assistant_id",
    "metadata",
    "status",
    "kwargs",
    "multitask_strategy",
    "created_at",
    "updated_at",
)
RUN_SELECTED = (*RUN_FIELDS, "cancel_reason")  # what of a run may be asked for
CRON_FIELDS = (
    "cron_id",
    "assistant_id",
    "thread_id",
    "user_id",
    "end_time",
    "schedule",
    "timezone",
    "payload",
    "next_run_date",
    "metadata",
    "on_run_completed",
    "enabled",
    "created_at",
    "updated_at",
)
VERSION_FIELDS = tuple(name for name in ASSISTANT_FIELDS if name != "updated_at")
STATE_FIELDS = (
    "values",
    "next",
    "tasks",
    "metadata",
    "created_at",
    "checkpoint",
    "parent_checkpoint",
    "interrupts",
    "checkpoint_id",
    "parent_checkpoint_id",
)


def json_response(
    value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with a value as JSON."""
    return Response(encode(value), status_code=status, headers=headers, media_type=JSON_TYPE)


def page_response(rows: Sequence[Any], listing: Listing[Any]) -> Response:
    """Answer with a page, and say in headers how many match and where a cut page goes on."""
    headers = {TOTAL_HEADER: str(listing.total)}
    if listing.next_offset is not None:
        headers[NEXT_HEADER] = str(listing.next_offset)
    return json_response(rows, headers=headers)


def pick(row: Mapping[str, Any], fields: Collection[str] | None) -> Mapping[str, Any]:
    """Return the selected fields of a row; all of them without a selection."""
    return row if fields is None else {name: row[name] for name in row if name in fields}


def assistant(row: Assistant) -> dict[str, Any]:
    """Return an assistant as on the wire."""
    shown = {name: getattr(row, name) for name in ASSISTANT_FIELDS}
    return shown | {"config": redact_config(row.config), "context": redact_keys(row.context)}


def version(row: Assistant) -> dict[str, Any]:
    """Return one version of an assistant as on the wire."""
    return dict(pick(assistant(row), VERSION_FIELDS))


def thread(row: Thread) -> dict[str, Any]:
    """Return a thread as on the wire."""
    shown = {name: getattr(row, name) for name in THREAD_FIELDS}
    return shown | {"config": redact_config(row.config)}


def lifetime(row: Thread) -> dict[str, Any] | None:
    """Return how long a thread lives, or ``None`` when it does not end."""
    if row.ttl_minutes is None:
        return None
    return {
        "strategy": "delete",
        "ttl_minutes": row.ttl_minutes,
        "expires_at": row.expires_at,
    }


def run(row: Run) -> dict[str, Any]:
    """Return a run as on the wire."""
    shown = {name: getattr(row, name) for name in RUN_FIELDS}
    reason = {} if row.reason is None else {"reason": row.reason}
    return shown | {"kwargs": redact_kwargs(row.kwargs)} | reason


def selected_run(row: Run, fields: Collection[str] | None) -> Mapping[str, Any]:
    """Return the selected fields of a run; without a selection as ``run``."""
    if fields is None:
        return run(row)
    return pick(run(row) | {"cancel_reason": row.reason}, fields)


def cron(row: Cron) -> dict[str, Any]:
    """Return a cron as on the wire."""
    shown = {name: getattr(row, name) for name in CRON_FIELDS}
    return shown | {"payload": redact_kwargs(row.payload)}


def item(row: Item) -> dict[str, Any]:
    """Return a long-term memory item as on the wire; found by a search, with its score."""
    shown = {
        "namespace": list(row.namespace),
        "key": row.key,
        "value": row.value,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }
    return shown | {"score": row.score} if isinstance(row, SearchItem) else shown


def state(snapshot: "StateSnapshot") -> dict[str, Any]:
    """Return a thread's state at one checkpoint as on the wire."""
    here, parent = checkpoint(snapshot.config), checkpoint(snapshot.parent_config)
    return {
        "values": snapshot.values,
        "next": list(snapshot.next),
        "tasks": [_task(each) for each in snapshot.tasks],
        "metadata": redact_keys(snapshot.metadata or {}),
        "created_at": snapshot.created_at,
        "checkpoint": here,
        "parent_checkpoint": parent,
        "interrupts": interrupts_json(snapshot.interrupts),
        "checkpoint_id": here and here["checkpoint_id"],
        "parent_checkpoint_id": parent and parent["checkpoint_id"],
    }


def state_parts(shown: Mapping[str, Any], parts: Collection[str] | None) -> Mapping[str, Any]:
    """Return the selected parts of a state; ``values.<key>`` keeps that key alone of the values."""
    if parts is None:
        return shown
    found = {name: shown[name] for name in shown if name in parts}
    keys = [part.removeprefix("values.") for part in parts if part.startswith("values.")]
    values = shown["values"]
    if keys and "values" not in found:
        has_keys = isinstance(values, Mapping)
        found["values"] = {key: values[key] for key in keys if has_keys and key in values}
    return found


def no_state(thread_id: str) -> dict[str, Any]:
    """Return the state of a thread that no graph has run on, as on the wire."""
    here = checkpoint({"configurable": {"thread_id": thread_id}})
    lists: dict[str, Any] = {name: [] for name in ("next", "tasks", "interrupts")}
    return dict.fromkeys(STATE_FIELDS) | lists | {"values": {}, "metadata": {}, "checkpoint": here}


def checkpoint(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the address of a checkpoint as on the wire, or ``None`` where a config has none."""
    if config is None or "configurable" not in config:
        return None
    place = config["configurable"]
    address = {
        "thread_id": place.get("thread_id"),
        "checkpoint_ns": place.get("checkpoint_ns", ""),
        "checkpoint_id": place.get("checkpoint_id"),
    }
    if place.get("checkpoint_map") is not None:
        address["checkpoint_map"] = place["checkpoint_map"]
    return address


def _task(task: "PregelTask") -> dict[str, Any]:
    nested: Any = task.state
    is_address = isinstance(nested, Mapping)  # else a state, where subgraphs were asked for
    return {
        "id": task.id,
        "name": task.name,
        "path": task.path,
        "error": _error_text(task.error),
        "interrupts": interrupts_json(task.interrupts),
        "checkpoint": checkpoint(nested) if is_address else None,
        "state": None if is_address or nested is None else state(nested),
        "result": task.result,
    }


def _error_text(error: Any) -> str | None:
    if error is None or isinstance(error, str):
        return error
    return repr(error)
