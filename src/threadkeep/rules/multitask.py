"""What a new run does to a thread that has active ones: its multitask strategy, decided."""

from collections.abc import Sequence
from dataclasses import dataclass

from threadkeep.errors import ThreadBusyError
from threadkeep.model.runs import CancelAction, MultitaskStrategy, Run


@dataclass(frozen=True, slots=True)
class AdmissionPlan:
    """What admitting a run does.

    Attributes:
        end: Pending runs that end at once.
        ask: Running ones whose owner is asked to stop.
        action: How they stop; ``None`` when none does.
        may_start: Whether nothing on the thread is left to wait for.
    """

    end: tuple[Run, ...]
    ask: tuple[Run, ...]
    action: CancelAction | None
    may_start: bool


def plan_admission(
    strategy: MultitaskStrategy, active: Sequence[Run], *, thread_id: str
) -> AdmissionPlan:
    """Decide from the thread's active runs.

    Raises:
        ThreadBusyError: ``reject``, and there is one.
    """
    match strategy:
        case "reject" if active:
            raise ThreadBusyError(thread_id)
        case "interrupt" | "rollback":
            running = tuple(run for run in active if run.status == "running")
            pending = tuple(run for run in active if run.status == "pending")
            return AdmissionPlan(pending, running, strategy, not running)
        case _:
            return AdmissionPlan((), (), None, not active)


def stronger(present: CancelAction | None, asked: CancelAction) -> CancelAction:
    """Return what a run is asked in the end: who asked for a rollback gets it."""
    return "rollback" if "rollback" in (present, asked) else asked
