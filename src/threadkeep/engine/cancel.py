"""Why a run is stopped before its graph has ended, and what that makes of it."""

from enum import IntEnum

from threadkeep.model.runs import CancelAction, Outcome


class Stop(IntEnum):
    """Reasons to stop a run; where several meet, the highest counts."""

    SHUTDOWN = 1
    TIMEOUT = 2
    INTERRUPT = 3
    ROLLBACK = 4
    LOST = 5


# How a run ended, as far as can be said, that others settled or deleted.
LOST = Outcome("interrupted", reason="cancelled")


def stop_for(action: CancelAction) -> Stop:
    """Return the reason that a caller's wish is."""
    return Stop.ROLLBACK if action == "rollback" else Stop.INTERRUPT


def outcome_of(stop: Stop, *, timeout_seconds: float | None) -> Outcome:
    """Return how a stopped run ends."""
    match stop:
        case Stop.TIMEOUT:
            message = f"the run took longer than {timeout_seconds} seconds"
            error = {"error": "RunTimeoutError", "message": message}
            return Outcome("timeout", reason="timeout", error=error)
        case Stop.SHUTDOWN:
            return Outcome("interrupted", reason="server_restarted")
        case Stop.ROLLBACK:
            return Outcome("interrupted", reason="rolled_back")
        case _:
            return LOST
