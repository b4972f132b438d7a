"""What a webhook tells of a run that has ended, and the delivery that carries it."""

import uuid
from collections.abc import Mapping
from typing import Any

from threadkeep.model.deliveries import NewDelivery
from threadkeep.model.runs import Run
from threadkeep.rules.json_text import json_text
from threadkeep.rules.redaction import redact_kwargs

MAX_PAYLOAD_BYTES = 256 * 1024  # what a receiver must be ready to take in one call
LEASE_SECONDS = 15.0  # for one attempt: its time-out, and some more
LEFT_OUT = {"__truncated__": True}  # in the place of what made a payload too large

_DELIVERIES = uuid.UUID("2f0c4c8e-0d0b-5c5e-9a58-6d1a3c1b7f40")  # names deliveries by their run


def delivery_of(run: Run, values: Any) -> NewDelivery | None:
    """Return what is to be sent for a run that has ended; ``None`` where nobody asked.

    Its id is made of the run's, so that one run is told of once however often its end is recorded.

    Args:
        run: The run with its final status.
        values: What a caller who waited for it gets, as JSON; ``None`` for nothing.
    """
    url = run.kwargs.get("webhook")
    if not url:
        return None
    payload, is_truncated = _payload(run, values)
    return NewDelivery(
        delivery_id=str(uuid.uuid5(_DELIVERIES, run.run_id)),
        run_id=run.run_id,
        thread_id=run.thread_id,
        url=url,
        payload=payload,
        run_status=run.status,
        lease_seconds=LEASE_SECONDS,
        is_truncated=is_truncated,
    )


def _payload(run: Run, values: Any) -> tuple[Mapping[str, Any], bool]:
    """Return the payload, without its values and then without what was asked if it is too large."""
    whole: dict[str, Any] = {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": run.assistant_id,
        "metadata": run.metadata,
        "status": run.status,
        "reason": run.reason,
        "error": run.error,
        "kwargs": redact_kwargs(run.kwargs),
        "multitask_strategy": run.multitask_strategy,
        "created_at": run.created_at.isoformat(),
        "updated_at": run.updated_at.isoformat(),
        "run_started_at": run.start_at.isoformat(),
        "run_ended_at": run.updated_at.isoformat(),
        "values": values,
    }
    for name in ("values", "kwargs", "metadata", "error"):
        if len(json_text(whole).encode()) <= MAX_PAYLOAD_BYTES:
            return whole, any(value == LEFT_OUT for value in whole.values())
        whole[name] = LEFT_OUT
    return whole, True
