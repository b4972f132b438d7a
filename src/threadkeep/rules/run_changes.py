"""A run from one status to the next, as values: what the row becomes, nothing else."""

from dataclasses import replace
from datetime import datetime, timedelta

from threadkeep.errors import InvalidRequestError
from threadkeep.model.runs import CancelAction, Claim, NewRun, Outcome, Run
from threadkeep.rules.multitask import stronger
from threadkeep.rules.run_states import CANCELLED


def admitted(new: NewRun, now: datetime) -> Run:
    """Return the row a new run starts with, pending.

    Raises:
        InvalidRequestError: ``after_seconds`` is negative, or ends after the calendar does.
    """
    try:
        start_at = now + timedelta(seconds=new.after_seconds)
    except (OverflowError, ValueError):
        start_at = None
    if start_at is None or start_at < now:
        raise InvalidRequestError(
            f"after_seconds is {new.after_seconds}; it must be a number from 0 to a few years"
        )
    return Run(
        run_id=new.run_id,
        thread_id=new.thread_id,
        assistant_id=new.assistant_id,
        status="pending",
        metadata=new.metadata,
        kwargs=new.kwargs,
        multitask_strategy=new.multitask_strategy,
        created_at=now,
        updated_at=now,
        start_at=start_at,
    )


def started(run: Run, claim: Claim, now: datetime) -> Run:
    """Return the run as its new owner has it."""
    return replace(
        run,
        status="running",
        owner=claim.owner,
        fence=run.fence + 1,
        lease_expires_at=lease_end(claim, now),
        updated_at=now,
    )


def cancelled(run: Run, action: CancelAction, now: datetime) -> Run:
    """Return what asking a run to stop makes of it.

    A pending one ends at once, a running one carries the request for its owner, a final one is
    returned itself.
    """
    asked = replace(run, cancel=stronger(run.cancel, action), updated_at=now)
    match run.status:
        case "pending":
            return ended(asked, CANCELLED, now)
        case "running":
            return asked
        case _:
            return run


def ended(run: Run, outcome: Outcome, now: datetime) -> Run:
    """Return the run with its final status; nobody owns it any more."""
    return replace(
        run,
        status=outcome.status,
        reason=outcome.reason,
        error=outcome.error,
        owner=None,
        lease_expires_at=None,
        updated_at=now,
    )


def lease_end(claim: Claim, now: datetime) -> datetime:
    """Return when a claim made or renewed now runs out."""
    return now + timedelta(seconds=claim.lease_seconds)
