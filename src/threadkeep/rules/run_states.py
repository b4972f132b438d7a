"""What a run's status may become, and what runs make of their thread's status.

A thread has a status of its own, which the last run or state update left; while a run of it is
pending or running it shows ``busy`` instead, and what it had comes back when nothing is active.
"""

from collections.abc import Mapping

from threadkeep.errors import InvalidRequestError
from threadkeep.model.runs import ACTIVE, Outcome, RunStatus
from threadkeep.model.threads import ThreadState, ThreadStatus

TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    "pending": frozenset({"running", "interrupted"}),
    "running": frozenset({"success", "error", "timeout", "interrupted"}),
    "success": frozenset(),
    "error": frozenset(),
    "timeout": frozenset(),
    "interrupted": frozenset(),
}

NO_NODE_RAN = "no_node_ran"  # the reason of a turn that found nothing to do
SECRETS_LOST = "secrets_lost"  # the reason of a run whose secrets its process took along
CANCELLED = Outcome("interrupted", reason="cancelled")
SERVER_RESTARTED = Outcome(
    "error",
    reason="server_restarted",
    error={
        "error": "ServerRestarted",
        "message": "the process that executed this run is gone; start a new run to go on",
    },
)


def check_outcome(outcome: Outcome) -> None:
    """Refuse an outcome that is no end.

    Raises:
        InvalidRequestError: Its status is not final.
    """
    if outcome.status not in TRANSITIONS["running"]:
        raise InvalidRequestError(f"a run cannot end as {outcome.status!r}")


def check_left_status(status: ThreadStatus) -> None:
    """Refuse a status that only active runs give a thread.

    Raises:
        InvalidRequestError: It is ``busy``.
    """
    if status == "busy":
        raise InvalidRequestError("a state cannot leave its thread 'busy'; only active runs do")


def shown_status(left: ThreadStatus, *, is_active: bool) -> ThreadStatus:
    """Return the status a thread shows."""
    return "busy" if is_active else left


def left_status(outcome: Outcome, state: ThreadState | None) -> ThreadStatus:
    """Return the status a settled run leaves its thread.

    Without a state, as when its process died, a failed run leaves ``error``, another ``idle``.
    """
    if state is not None:
        return state.status
    return "error" if outcome.status in {"error", "timeout"} else "idle"


def is_active(status: RunStatus) -> bool:
    """Say whether a run is waiting or executing."""
    return status in ACTIVE
