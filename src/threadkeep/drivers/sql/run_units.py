"""What happens to runs and their threads, as units of work.

Every unit locks the thread before its runs, so that two of them never wait for each other.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from threadkeep.drivers.sql import delivery_units
from threadkeep.drivers.sql.database import All, One, Work
from threadkeep.drivers.sql.database import Run as Step
from threadkeep.drivers.sql.rows import Row, run_bag, run_of, runs_of, thread_bag, thread_of
from threadkeep.drivers.sql.units import is_owned
from threadkeep.errors import (
    AlreadyExistsError,
    NotFoundError,
    ThreadBusyError,
    ThreadkeepError,
    ThreadStatusError,
)
from threadkeep.model.runs import Admission, CancelAction, Claim, NewRun, Outcome, Run
from threadkeep.model.threads import Thread, ThreadState, ThreadStatus
from threadkeep.ports.resources.runs import Deliver
from threadkeep.rules.inputs import plain_delivery
from threadkeep.rules.multitask import AdmissionPlan, plan_admission
from threadkeep.rules.run_changes import admitted, cancelled, ended, started
from threadkeep.rules.run_states import SERVER_RESTARTED, shown_status
from threadkeep.rules.thread_changes import settled, stamped


def admit(
    new: NewRun,
    claim: Claim | None,
    thread_status_in: Sequence[ThreadStatus] | None,
    enforced: Mapping[str, Any],
    now: datetime,
) -> Work[Admission | ThreadkeepError]:
    """Insert a run where its thread lets it; see ``RunRepo.admit``."""
    run = admitted(new, now)
    thread_id = new.thread_id
    row = yield One("lock_thread", {"thread_id": thread_id})
    if row is None or not is_owned(row, enforced):
        return NotFoundError("thread", thread_id)
    if thread_status_in is not None and row["status"] not in thread_status_in:
        return ThreadStatusError(thread_id, row["status"], tuple(thread_status_in))
    active = yield from _active_runs(row)
    try:
        plan = plan_admission(new.multitask_strategy, active, thread_id=thread_id)
    except ThreadBusyError as refusal:
        return refusal
    if claim is not None and plan.may_start and run.start_at <= now:
        run = started(run, claim, now)
    is_new = yield from _insert(run)
    if not is_new:
        return AlreadyExistsError("run", run.run_id)
    displaced = yield from _displace(plan, now)
    thread = stamped(thread_of(row, status_column="left_status"), new, now)
    yield Step("change_thread", thread_bag(thread, shown="busy"))
    return Admission(run, thread.head_checkpoint_id, displaced)


def start(run: Run, claim: Claim, now: datetime) -> Work[Run]:
    """Make a pending run its claimer's."""
    changed = started(run, claim, now)
    yield Step("change_run", run_bag(changed))
    yield Step("add_run_lease", run_bag(changed))
    return changed


def cancel(
    run_id: str, action: CancelAction, enforced: Mapping[str, Any], now: datetime
) -> Work[Run | None]:
    """Ask a run to stop; see ``RunRepo.request_cancel``."""
    thread, run = yield from lock_run(run_id)
    if thread is None or run is None or not is_owned(thread, enforced):
        return None
    changed = yield from _stop(run, action, now)
    if run.status == "pending":
        yield from free(thread)
    return changed


def settle(
    run: Run,
    thread: Row,
    outcome: Outcome,
    state: ThreadState | None,
    now: datetime,
    deliver: Deliver | None,
) -> Work[Run | ThreadkeepError]:
    """Write a locked run's final status, what it leaves on its thread, and what tells of it."""
    changed = ended(run, outcome, now)
    new = None if deliver is None else deliver(changed)
    if new is not None:
        added = yield from delivery_units.add(plain_delivery(new), changed, now)
        if isinstance(added, ThreadkeepError):
            return added
    yield Step("change_run", run_bag(changed))
    yield Step("remove_run_lease", {"run_id": run.run_id})
    left = settled(thread_of(thread, status_column="left_status"), outcome, state, now)
    shown = yield from shown_by(left)
    yield Step("change_thread", thread_bag(left, shown=shown))
    return changed


def release(run: Run, thread: Row, now: datetime, deliver: Deliver | None) -> Work[Run]:
    """Settle a locked run whose owner is gone; a delivery whose id is taken is left out."""
    settled = yield from settle(run, thread, SERVER_RESTARTED, None, now, deliver)
    if isinstance(settled, Run):
        return settled
    return (yield from release(run, thread, now, None))


def lock_run(run_id: str) -> Work[tuple[Row | None, Run | None]]:
    """Lock a run's thread, then read both."""
    key = {"run_id": run_id}
    thread = yield One("lock_thread_of_run", key)
    row = yield One("get_run", key)
    return thread, run_of(row) if row else None


def free(thread: Row) -> Work[None]:
    """Let a thread with nothing active show its own status again."""
    key = {"thread_id": thread["thread_id"]}
    if (yield One("has_active_run", key)) is None:
        yield Step("free_thread", key)


def shown_by(thread: Thread) -> Work[ThreadStatus]:
    """Return the status a thread shows, from its own and its runs."""
    found = yield One("has_active_run", {"thread_id": thread.thread_id})
    return shown_status(thread.status, is_active=found is not None)


def _active_runs(thread: Row) -> Work[list[Run]]:
    if thread["status"] != "busy":
        return []
    rows = yield All("active_runs", {"thread_id": thread["thread_id"]})
    return runs_of(rows)


def _insert(run: Run) -> Work[bool]:
    bag = run_bag(run)
    added = yield Step("add_run", bag)
    if not added:
        return False
    yield Step("add_run_request", bag)
    if run.owner is not None:
        yield Step("add_run_lease", bag)
    return True


def _displace(plan: AdmissionPlan, now: datetime) -> Work[list[Run]]:
    displaced: list[Run] = []
    if plan.action is not None:
        for run in (*plan.end, *plan.ask):
            stopped = yield from _stop(run, plan.action, now)
            displaced.append(stopped)
    return displaced


def _stop(run: Run, action: CancelAction, now: datetime) -> Work[Run]:
    changed = cancelled(run, action, now)
    if run.status == "pending" and action == "rollback":
        yield Step("remove_run", {"run_id": run.run_id})
    elif changed is not run:
        yield Step("change_run", run_bag(changed))
    return changed
