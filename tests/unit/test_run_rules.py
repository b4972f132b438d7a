from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from threadkeep.errors import InvalidRequestError, ThreadBusyError
from threadkeep.model.runs import ACTIVE, RUN_STATUSES, Claim, NewRun, Outcome, Run
from threadkeep.model.threads import MIRRORED_VALUES_BYTES, NewThread, ThreadState
from threadkeep.rules.mirrored_values import mirror
from threadkeep.rules.multitask import plan_admission, stronger
from threadkeep.rules.run_changes import admitted, cancelled, ended, started
from threadkeep.rules.run_states import (
    CANCELLED,
    SERVER_RESTARTED,
    TRANSITIONS,
    check_outcome,
    is_active,
    left_status,
    shown_status,
)
from threadkeep.rules.thread_changes import created, settled

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
PENDING = admitted(NewRun("r1", "t1", "a1", {}), NOW)
RUNNING = started(replace(PENDING, run_id="r2"), Claim("o", 30), NOW)


def test_final_states_stay() -> None:
    assert set(TRANSITIONS) == set(RUN_STATUSES)
    for status in RUN_STATUSES:
        assert is_active(status) == (status in ACTIVE) == bool(TRANSITIONS[status])
    assert "running" in TRANSITIONS["pending"]
    assert "pending" not in TRANSITIONS["running"]


def test_every_outcome_of_ours_is_an_end() -> None:
    for outcome in (CANCELLED, SERVER_RESTARTED):
        check_outcome(outcome)
    with pytest.raises(InvalidRequestError, match="cannot end as 'pending'"):
        check_outcome(Outcome("pending"))


def test_a_thread_shows_busy_over_its_own_status() -> None:
    assert shown_status("interrupted", is_active=True) == "busy"
    assert shown_status("interrupted", is_active=False) == "interrupted"


def test_a_run_leaves_its_thread_the_status_of_its_state_or_of_its_end() -> None:
    state = ThreadState("interrupted", None, None, {})
    assert left_status(Outcome("error"), state) == "interrupted"
    assert left_status(Outcome("error"), None) == "error"
    assert left_status(Outcome("timeout"), None) == "error"
    assert left_status(CANCELLED, None) == "idle"


def test_a_strategy_says_what_happens_to_active_runs() -> None:
    active = [RUNNING, PENDING]
    assert plan_admission("enqueue", [], thread_id="t1").may_start
    assert plan_admission("reject", [], thread_id="t1").may_start
    assert not plan_admission("enqueue", active, thread_id="t1").may_start
    with pytest.raises(ThreadBusyError):
        plan_admission("reject", [PENDING], thread_id="t1")
    plan = plan_admission("interrupt", active, thread_id="t1")
    assert (plan.end, plan.ask, plan.action) == ((PENDING,), (RUNNING,), "interrupt")
    assert not plan.may_start
    assert plan_admission("rollback", [PENDING], thread_id="t1").may_start


def test_a_rollback_is_stronger() -> None:
    assert stronger(None, "interrupt") == "interrupt"
    assert stronger("interrupt", "rollback") == "rollback"
    assert stronger("rollback", "interrupt") == "rollback"


def test_a_claim_raises_the_fence() -> None:
    assert (RUNNING.fence, RUNNING.owner) == (1, "o")
    assert RUNNING.lease_expires_at == NOW + timedelta(seconds=30)


def test_cancelling_goes_by_the_status_of_the_run() -> None:
    stopped = cancelled(PENDING, "interrupt", LATER)
    assert (stopped.status, stopped.reason, stopped.cancel) == (
        "interrupted",
        "cancelled",
        "interrupt",
    )
    asked = cancelled(RUNNING, "rollback", LATER)
    assert (asked.status, asked.cancel, asked.owner) == ("running", "rollback", "o")
    final: Run = ended(RUNNING, Outcome("success"), LATER)
    assert cancelled(final, "rollback", LATER) is final


def test_a_settled_thread_without_a_state_keeps_its_values() -> None:
    thread = replace(created(NewThread("t1", {}), NOW), values={"a": 1}, head_checkpoint_id="c")
    after = settled(thread, SERVER_RESTARTED, None, LATER)
    assert (after.status, after.values, after.head_checkpoint_id) == ("error", {"a": 1}, "c")
    assert after.error == SERVER_RESTARTED.error
    assert (after.updated_at, after.state_updated_at) == (LATER, NOW)


def test_values_are_mirrored_up_to_their_bound() -> None:
    text = "x" * (MIRRORED_VALUES_BYTES - len('{"t":""}'))
    assert mirror({"t": text}) == {"t": text}
    assert mirror({"t": text + "x"}) is None
    assert mirror({"t": "é" * (MIRRORED_VALUES_BYTES // 2)}) is None
    assert mirror({"t": [[]] * MIRRORED_VALUES_BYTES}) is None
    assert mirror({"t": object()}) is None
    assert mirror(None) is None
    assert mirror({}) == {}
