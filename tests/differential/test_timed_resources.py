"""Crons, idempotency records, deliveries and what else goes by the clock: the same answers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.differential.test_resources import (
    ACTIONS,
    CLAIMS,
    IDS,
    JSON,
    LIMITS,
    MOVES,
    OBJECTS,
    OFFSETS,
    ORDERS,
    RUN_IDS,
    RUN_STATUSES,
    SHORT,
    STATUSES,
    TTLS,
    Plan,
    Step,
    new_runs,
    run,
    run_steps,
    step,
    thread_steps,
)
from threadkeep.model.crons import CronPatch, NewCron
from threadkeep.model.deliveries import Attempt, NewDelivery
from threadkeep.model.idempotency import IdempotencyClaim, RecordedResponse
from threadkeep.model.queries import (
    AssistantQuery,
    CronQuery,
    CronSort,
    DeliveryQuery,
    RunQuery,
    ThreadField,
    ThreadQuery,
)
from threadkeep.model.runs import Outcome, Run
from threadkeep.model.threads import NewThread
from threadkeep.model.unset import UNSET
from threadkeep.testing.clock import ManualClock

START = ManualClock().now()
MOMENTS = st.sampled_from([-5, 0, 0.000_001, 1, 4, 31, 100]).map(
    lambda seconds: START + timedelta(seconds=seconds)
)
OPTIONAL_MOMENTS: st.SearchStrategy[Any] = st.none() | MOMENTS
SECONDS = st.sampled_from([0.000_001, 1, 5, 60, 0, -1])
WANTED: st.SearchStrategy[Any] = st.sampled_from([{}, {}, {"a": "x"}, {"a": 1}, {"b": {}}])
TOKENS = st.integers(0, 3)
CRON_SORTS: st.SearchStrategy[Any] = st.sampled_from(get_args(CronSort))
FIELDS: st.SearchStrategy[Any] = st.none() | st.lists(st.sampled_from(get_args(ThreadField)))


def maker(name: str) -> Callable[[Run], NewDelivery]:
    """Return what tells of a settled run, under one id."""

    def deliver(settled: Run) -> NewDelivery:
        return NewDelivery(
            name, settled.run_id, settled.thread_id, "http://x", {"r": 1}, settled.status, 5
        )

    return deliver


@st.composite
def cron_steps(draw: st.DrawFn) -> Step:
    ident, value, token = draw(IDS), draw(OBJECTS), draw(TOKENS)
    at, thread_id = draw(OPTIONAL_MOMENTS), draw(st.none() | IDS)
    new = NewCron(
        ident,
        draw(IDS),
        "* * * * *",
        thread_id=thread_id,
        next_run_date=at,
        end_time=draw(OPTIONAL_MOMENTS),
        enabled=draw(st.booleans()),
        metadata=value,
        payload=value,
        principal=draw(st.none() | OBJECTS),
    )
    patch = CronPatch(
        next_run_date=draw(st.just(UNSET) | OPTIONAL_MOMENTS),
        timezone=draw(st.sampled_from([UNSET, None, "UTC"])),
        enabled=draw(st.none() | st.booleans()),
        metadata=value,
    )
    query = CronQuery(
        assistant_id=draw(st.none() | IDS),
        thread_id=thread_id,
        enabled=draw(st.none() | st.booleans()),
        metadata=draw(WANTED),
        enforced_metadata=draw(WANTED),
        sort_by=draw(CRON_SORTS),
        sort_order=draw(ORDERS),
        limit=draw(LIMITS),
        offset=draw(OFFSETS),
    )
    made = draw(st.none() | IDS.map(lambda name: NewThread(name, value, None)))
    asked = draw(st.none() | new_runs())
    limit = draw(LIMITS)
    return draw(
        st.sampled_from(
            [
                *[step(f"create {new}", lambda store: store.crons.create(new))] * 3,
                step(f"patch {ident} {patch}", lambda store: store.crons.update(ident, patch)),
                *[
                    step(
                        f"fire {ident} {token} {at} {asked} {made}",
                        lambda store: store.crons.fire(
                            ident, token=token, next_run_date=at, new=asked, thread=made
                        ),
                    )
                ]
                * 3,
                step(f"search {query}", lambda store: store.crons.search(query)),
                step(f"count {query}", lambda store: store.crons.count(query)),
                step(f"due {limit}", lambda store: store.crons.list_due(limit=limit)),
                step("overdue", lambda store: store.crons.overdue_seconds()),
                step(f"principal {ident}", lambda store: store.crons.principal_of(ident)),
                step(f"drop {ident}", lambda store: store.crons.delete(ident)),
            ]
        )
    )


@st.composite
def answer_steps(draw: st.DrawFn) -> Step:
    key, claim_id, seconds = draw(IDS), draw(IDS), draw(SECONDS)
    run_id, thread_id = draw(st.none() | RUN_IDS), draw(st.none() | IDS)
    claim = IdempotencyClaim("s", key, draw(IDS), claim_id, seconds)
    response = RecordedResponse(200, {"h": "v"}, draw(JSON))
    limit = draw(st.integers(-1, 2))
    return draw(
        st.sampled_from(
            [
                *[step(f"{claim}", lambda store: store.idempotency.claim(claim))] * 3,
                *[
                    step(
                        f"record {key} {claim_id} {response} {run_id} {thread_id} {seconds}",
                        lambda store: store.idempotency.record(
                            "s",
                            key,
                            claim_id=claim_id,
                            response=response,
                            run_id=run_id,
                            thread_id=thread_id,
                            seconds=seconds,
                        ),
                    )
                ]
                * 2,
                step(
                    f"release {key} {claim_id}",
                    lambda store: store.idempotency.release("s", key, claim_id=claim_id),
                ),
                step(f"get {key}", lambda store: store.idempotency.get("s", key)),
                step(
                    f"erase {run_id} {thread_id}",
                    lambda store: store.idempotency.erase(run_id=run_id, thread_id=thread_id),
                ),
                step(f"sweep {limit}", lambda store: store.idempotency.sweep(limit=limit)),
            ]
        )
    )


@st.composite
def delivery_steps(draw: st.DrawFn) -> Step:
    ident, seconds, limit = draw(IDS), draw(SECONDS), draw(st.integers(-1, 3))
    new = NewDelivery(
        ident, draw(RUN_IDS), draw(IDS), "http://x", draw(OBJECTS), draw(RUN_STATUSES), seconds
    )
    attempt = Attempt(
        draw(st.sampled_from(["delivered", "retry", "dead"])),
        error=draw(st.sampled_from([None, "502", "\0"])),
        retry_at=draw(OPTIONAL_MOMENTS),
        attempt=draw(st.none() | st.integers(1, 5)),
        keep_seconds=seconds,
    )
    query = DeliveryQuery(
        run_id=draw(st.none() | RUN_IDS),
        thread_id=draw(st.none() | IDS),
        status=draw(st.sampled_from([None, "pending", "delivering", "delivered", "dead"])),
        limit=draw(LIMITS),
        offset=draw(OFFSETS),
    )
    return draw(
        st.sampled_from(
            [
                *[step(f"add {new}", lambda store: store.deliveries.add(new))] * 3,
                *[
                    step(
                        f"claim {seconds} {limit}",
                        lambda store: store.deliveries.claim(lease_seconds=seconds, limit=limit),
                    )
                ]
                * 2,
                *[
                    step(
                        f"attempt {ident} {attempt}",
                        lambda store: store.deliveries.record_attempt(ident, attempt),
                    )
                ]
                * 2,
                step(f"replay {ident}", lambda store: store.deliveries.replay(ident)),
                step(f"search {query}", lambda store: store.deliveries.search(query)),
                step("due", lambda store: store.deliveries.list_due()),
                step(f"sweep {limit}", lambda store: store.deliveries.sweep(limit=limit)),
            ]
        )
    )


@st.composite
def whole_thread_steps(draw: st.DrawFn) -> Step:
    ident, copy_id, ttl = draw(IDS), draw(IDS), draw(TTLS)
    wanted, enforced = draw(WANTED), draw(WANTED)
    threads = ThreadQuery(
        metadata=wanted,
        enforced_metadata=enforced,
        status=draw(st.none() | STATUSES),
        select=draw(FIELDS),
        sort_by=draw(st.sampled_from(["created_at", "thread_id", "status"])),
        sort_order=draw(ORDERS),
        limit=draw(LIMITS),
    )
    assistants = AssistantQuery(metadata=wanted, enforced_metadata=enforced)
    keep, limit = draw(st.booleans()), draw(LIMITS)
    return draw(
        st.sampled_from(
            [
                *[
                    step(
                        f"copy {ident} {copy_id} {ttl}",
                        lambda store: store.threads.copy(ident, copy_id=copy_id, ttl_minutes=ttl),
                    )
                ]
                * 2,
                step(
                    f"delete {ident} {keep}",
                    lambda store: store.threads.delete(ident, keep_undelivered=keep),
                ),
                step(f"label {ident}", lambda store: store.threads.update(ident, metadata=wanted)),
                step(f"expired {limit}", lambda store: store.threads.list_expired(limit=limit)),
                step(f"threads {threads}", lambda store: store.threads.search(threads)),
                step(f"count {threads}", lambda store: store.threads.count(threads)),
                step(
                    f"thread {ident} {enforced}",
                    lambda store: store.threads.get(ident, enforced_metadata=enforced),
                ),
                step(f"count {assistants}", lambda store: store.assistants.count(assistants)),
            ]
        )
    )


@st.composite
def owned_run_steps(draw: st.DrawFn) -> Step:
    ident, run_id, name = draw(IDS), draw(RUN_IDS), draw(IDS)
    enforced = draw(WANTED)
    runs = RunQuery(
        thread_id=draw(st.none() | IDS),
        statuses=draw(st.none() | st.lists(RUN_STATUSES, max_size=2)),
        metadata=draw(WANTED),
        enforced_metadata=enforced,
        limit=draw(LIMITS),
    )
    fence, claim, action = draw(st.integers(0, 2)), draw(CLAIMS), draw(ACTIONS)
    outcome = Outcome(draw(RUN_STATUSES))
    return draw(
        st.sampled_from(
            [
                step(f"runs {runs}", lambda store: store.runs.search(runs)),
                step(f"count {runs}", lambda store: store.runs.count(runs)),
                step(f"latest {ident}", lambda store: store.runs.latest_of(ident)),
                step(
                    f"run {run_id} {enforced}",
                    lambda store: store.runs.get(run_id, enforced_metadata=enforced),
                ),
                *[
                    step(
                        f"settle {run_id} {fence} {outcome} telling {name}",
                        lambda store: store.runs.settle(
                            run_id, fence=fence, outcome=outcome, state=None, deliver=maker(name)
                        ),
                    )
                ]
                * 2,
                step(
                    f"release telling {name}",
                    lambda store: store.runs.release_expired(deliver=maker(name)),
                ),
                step(f"claim {claim}", lambda store: store.runs.claim(claim, limit=2)),
                step(
                    f"cancel {run_id} {action}",
                    lambda store: store.runs.request_cancel(run_id, action),
                ),
            ]
        )
    )


def owner_steps() -> st.SearchStrategy[Step]:
    return st.one_of(whole_thread_steps(), owned_run_steps())


PLANS = {
    "crons": st.lists(
        st.tuples(MOVES, st.one_of(cron_steps(), cron_steps(), thread_steps(), run_steps())),
        max_size=40,
    ),
    "answers": st.lists(
        st.tuples(MOVES, st.one_of(answer_steps(), answer_steps(), owner_steps(), run_steps())),
        max_size=40,
    ),
    "deliveries": st.lists(
        st.tuples(MOVES, st.one_of(delivery_steps(), owner_steps(), run_steps())), max_size=40
    ),
    "owners": st.lists(
        st.tuples(MOVES, st.one_of(owner_steps(), thread_steps(), run_steps())), max_size=40
    ),
}


@pytest.mark.parametrize("subject", PLANS)
@seed(20_261_130)
@SHORT
@given(data=st.data())
def test_drivers_answer_alike(subject: str, data: st.DataObject) -> None:
    run(data.draw(PLANS[subject]))


@pytest.mark.parametrize("subject", PLANS)
@seed(20_261_130)
@SHORT
@given(data=st.data())
def test_drivers_answer_alike_on_postgres(
    postgres_module_url: str, subject: str, data: st.DataObject
) -> None:
    run(data.draw(PLANS[subject]), postgres_module_url)


@pytest.mark.soak
@settings(SHORT, max_examples=3000)
@given(plan=st.one_of(*PLANS.values()))
def test_everything_answers_alike_for_long(plan: Plan) -> None:
    run(plan)
