"""What happens to a thread's row, as values. ``status`` is the thread's own, never ``busy``."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from threadkeep.model.runs import NewRun, Outcome
from threadkeep.model.threads import NewThread, Thread, ThreadState
from threadkeep.model.unset import Unset
from threadkeep.rules.expiry import expires_at
from threadkeep.rules.metadata import merged
from threadkeep.rules.run_states import left_status

_EMPTY: Mapping[str, Any] = {
    "metadata": {},
    "config": {},
    "values": None,
    "interrupts": {},
    "error": None,
}


def created(new: NewThread, now: datetime) -> Thread:
    """Return the row a new thread starts with.

    Raises:
        InvalidRequestError: Its lifetime is none.
    """
    return Thread(
        thread_id=new.thread_id,
        status="idle",
        metadata=new.metadata,
        config={},
        values=None,
        head_checkpoint_id=None,
        interrupts={},
        error=None,
        created_at=now,
        updated_at=now,
        state_updated_at=now,
        ttl_minutes=new.ttl_minutes,
        expires_at=expires_at(now, new.ttl_minutes),
    )


def copied(thread: Thread, copy: NewThread, now: datetime) -> Thread:
    """Return the row a copy of a thread starts with; its metadata is the thread's.

    Raises:
        InvalidRequestError: Its lifetime is none.
    """
    return replace(
        thread,
        thread_id=copy.thread_id,
        created_at=now,
        updated_at=now,
        state_updated_at=now,
        ttl_minutes=copy.ttl_minutes,
        expires_at=expires_at(now, copy.ttl_minutes),
    )


def without(thread: Thread, select: Collection[str] | None) -> Thread:
    """Return the thread with what is not selected empty; see ``ThreadQuery.select``."""
    if select is None:
        return thread
    left_out = {name: empty for name, empty in _EMPTY.items() if name not in select}
    return replace(thread, **left_out)


def patched(
    thread: Thread,
    metadata: Mapping[str, Any],
    ttl_minutes: float | Unset | None,
    now: datetime,
) -> Thread:
    """Return the thread with labels merged and, where one is given, a new lifetime.

    Raises:
        InvalidRequestError: The lifetime is none.
    """
    changed = replace(thread, metadata=merged(thread.metadata, metadata), updated_at=now)
    if isinstance(ttl_minutes, Unset):
        return changed
    return replace(changed, ttl_minutes=ttl_minutes, expires_at=expires_at(now, ttl_minutes))


def stamped(thread: Thread, new: NewRun, now: datetime) -> Thread:
    """Return the thread with what an admitted run writes on it."""
    return replace(
        thread,
        metadata=merged(thread.metadata, new.thread_metadata),
        config=thread.config if new.thread_config is None else new.thread_config,
        updated_at=now,
    )


def with_state(thread: Thread, state: ThreadState, now: datetime) -> Thread:
    """Return the thread with what a run or an update left."""
    return replace(
        thread,
        status=state.status,
        values=state.values,
        head_checkpoint_id=state.head_checkpoint_id,
        interrupts=state.interrupts,
        error=state.error,
        updated_at=now,
        state_updated_at=now,
    )


def settled(thread: Thread, outcome: Outcome, state: ThreadState | None, now: datetime) -> Thread:
    """Return the thread after a run of it ended; without a state its values stay."""
    if state is not None:
        return with_state(thread, state, now)
    status = left_status(outcome, state)
    return replace(thread, status=status, error=outcome.error, updated_at=now)
