"""What admits and stops runs in memory; hold the tables' lock."""

from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.drivers.memory.tables import Tables, copy_row
from threadkeep.errors import AlreadyExistsError, ThreadStatusError
from threadkeep.model.runs import Admission, CancelAction, Claim, NewRun, Run
from threadkeep.model.threads import ThreadStatus
from threadkeep.rules.multitask import AdmissionPlan, plan_admission
from threadkeep.rules.run_changes import admitted, cancelled, started
from threadkeep.rules.thread_changes import stamped


def admit(
    tables: Tables,
    new: NewRun,
    *,
    claim: Claim | None,
    thread_status_in: Sequence[ThreadStatus] | None = None,
    enforced: Mapping[str, Any] | None = None,
) -> Admission:
    """Insert a run where its thread lets it; see ``RunRepo.admit``."""
    now = tables.now()
    run = admitted(new, now)
    thread = tables.thread(new.thread_id, enforced)
    status = tables.shown_status(thread)
    if thread_status_in is not None and status not in thread_status_in:
        raise ThreadStatusError(new.thread_id, status, tuple(thread_status_in))
    active = tables.runs.active_of(new.thread_id)
    plan = plan_admission(new.multitask_strategy, active, thread_id=new.thread_id)
    if run.run_id in tables.runs.rows:
        raise AlreadyExistsError("run", run.run_id)
    displaced = _displace(tables, plan)
    if claim is not None and plan.may_start and run.start_at <= now:
        run = started(run, claim, now)
    tables.runs.put(run)
    tables.threads[thread.thread_id] = stamped(thread, new, now)
    return Admission(copy_row(run), thread.head_checkpoint_id, displaced)


def stop(tables: Tables, run: Run, action: CancelAction) -> Run:
    """Ask a run to stop; see ``RunRepo.request_cancel``."""
    changed = cancelled(run, action, tables.now())
    tables.runs.put(changed)
    if run.status == "pending" and action == "rollback":
        tables.runs.drop(changed)
    return changed


def _displace(tables: Tables, plan: AdmissionPlan) -> list[Run]:
    if plan.action is None:
        return []
    stopped = [stop(tables, run, plan.action) for run in (*plan.end, *plan.ask)]
    return [copy_row(run) for run in stopped]
