"""What callers give, checked and made plain before any driver sees it.

Each function returns its argument with JSON made of plain types and shared with nobody, or refuses
it: ``InvalidRequestError`` for identifiers and lifetimes, ``ValueNotStorableError`` for values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

from threadkeep.errors import InvalidRequestError
from threadkeep.model.assistants import AssistantPatch, NewAssistant
from threadkeep.model.crons import CronPatch, NewCron
from threadkeep.model.deliveries import Attempt, AttemptOutcome, NewDelivery
from threadkeep.model.idempotency import IdempotencyClaim, RecordedResponse
from threadkeep.model.queries import (
    AssistantQuery,
    AssistantSort,
    CronQuery,
    CronSort,
    DeliveryQuery,
    RunQuery,
    SortOrder,
    ThreadField,
    ThreadQuery,
    ThreadSort,
    VersionQuery,
)
from threadkeep.model.runs import Claim, NewRun, Outcome
from threadkeep.model.threads import NewThread, ThreadState
from threadkeep.model.unset import Unset
from threadkeep.rules.expiry import plain_lifetime
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.json_text import normal_json, normal_object
from threadkeep.rules.mirrored_values import mirror
from threadkeep.rules.run_states import check_left_status, check_outcome

MAX_KEPT_SECONDS = 366 * 86_400  # a year; what is to be kept longer belongs elsewhere
MAX_LEASE_SECONDS = 86_400  # a day; a process silent for longer is gone


def plain_assistant(new: NewAssistant) -> NewAssistant:
    """Return it checked and plain."""
    _check(assistant_id=new.assistant_id, graph_id=new.graph_id, name=new.name)
    return replace(
        new,
        description=_described(new.description),
        config=normal_object(new.config, "config"),
        context=normal_object(new.context, "context"),
        metadata=normal_object(new.metadata, "metadata"),
    )


def plain_patch(patch: AssistantPatch) -> AssistantPatch:
    """Return it checked and plain."""
    _check(graph_id=patch.graph_id, name=patch.name)
    described = patch.description
    return replace(
        patch,
        description=described if isinstance(described, Unset) else _described(described),
        config=_optional(patch.config, "config"),
        context=_optional(patch.context, "context"),
        metadata=normal_object(patch.metadata, "metadata"),
    )


def plain_thread(new: NewThread) -> NewThread:
    """Return it checked and plain."""
    _check(thread_id=new.thread_id)
    return replace(
        new,
        metadata=normal_object(new.metadata, "metadata"),
        ttl_minutes=plain_lifetime(new.ttl_minutes),
    )


def plain_change(ttl_minutes: float | Unset | None) -> float | Unset | None:
    """Return a change of a thread's lifetime checked and plain."""
    return ttl_minutes if isinstance(ttl_minutes, Unset) else plain_lifetime(ttl_minutes)


def plain_state(state: ThreadState) -> ThreadState:
    """Return it checked and plain, with the values only where the row can hold them."""
    check_left_status(state.status)
    _check(head_checkpoint_id=state.head_checkpoint_id)
    return replace(
        state,
        values=mirror(state.values),
        interrupts=normal_object(state.interrupts, "interrupts"),
        error=normal_json(state.error, "error"),
    )


def plain_run(new: NewRun) -> NewRun:
    """Return it checked and plain."""
    _check(run_id=new.run_id, thread_id=new.thread_id, assistant_id=new.assistant_id)
    return replace(
        new,
        kwargs=normal_object(new.kwargs, "kwargs"),
        metadata=normal_object(new.metadata, "metadata"),
        thread_metadata=normal_object(new.thread_metadata, "thread metadata"),
        thread_config=_optional(new.thread_config, "thread config"),
    )


def plain_cron(new: NewCron) -> NewCron:
    """Return it checked and plain."""
    _check(
        cron_id=new.cron_id,
        assistant_id=new.assistant_id,
        thread_id=new.thread_id,
        schedule=new.schedule,
        timezone=new.timezone,
        user_id=new.user_id,
    )
    return replace(
        new,
        end_time=_plain_moment("end_time", new.end_time),
        next_run_date=_plain_moment("next_run_date", new.next_run_date),
        payload=normal_object(new.payload, "payload"),
        metadata=normal_object(new.metadata, "metadata"),
        principal=_optional(new.principal, "principal"),
    )


def plain_cron_patch(patch: CronPatch) -> CronPatch:
    """Return it checked and plain."""
    zone, end, following = patch.timezone, patch.end_time, patch.next_run_date
    _check(schedule=patch.schedule, timezone=None if isinstance(zone, Unset) else zone)
    return replace(
        patch,
        end_time=end if isinstance(end, Unset) else _plain_moment("end_time", end),
        next_run_date=following
        if isinstance(following, Unset)
        else _plain_moment("next_run_date", following),
        payload=_optional(patch.payload, "payload"),
        metadata=normal_object(patch.metadata, "metadata"),
    )


def plain_cron_query(query: CronQuery) -> CronQuery:
    """Return it checked and plain."""
    _check(assistant_id=query.assistant_id, thread_id=query.thread_id)
    _check_sort(query.sort_by, query.sort_order, get_args(CronSort))
    return replace(
        query,
        metadata=normal_object(query.metadata, "metadata"),
        enforced_metadata=plain_enforced(query.enforced_metadata),
    )


def plain_enforced(wanted: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return enforced metadata plain; none is empty, which every row contains."""
    return normal_object(wanted or {}, "enforced metadata")


def plain_moment(name: str, at: datetime) -> datetime:
    """Return a moment in UTC.

    Raises:
        InvalidRequestError: It has no time zone.
    """
    if at.tzinfo is None:
        raise InvalidRequestError(f"{name} {at.isoformat()} has no time zone; give one, e.g. Z")
    return at.astimezone(UTC)


def plain_idempotency(claim: IdempotencyClaim) -> IdempotencyClaim:
    """Return it checked."""
    check_record(claim.scope, claim.key, claim.claim_id)
    _check(fingerprint=claim.fingerprint)
    check_seconds("a claim", claim.seconds)
    return claim


def check_record(scope: str, key: str, claim_id: str | None = None) -> None:
    """Refuse what cannot name an idempotency record."""
    _check(scope=scope, key=key, claim_id=claim_id)


def check_erasure(run_id: str | None, thread_id: str | None) -> None:
    """Refuse an erasure that does not name exactly one of the two."""
    if (run_id is None) == (thread_id is None):
        raise InvalidRequestError("an erasure names either a run or a thread")
    _check(run_id=run_id, thread_id=thread_id)


def plain_response(response: RecordedResponse) -> RecordedResponse:
    """Return it plain."""
    headers = normal_object(response.headers, "the recorded headers")
    return replace(response, headers=headers, body=normal_json(response.body, "the recorded body"))


def plain_delivery(new: NewDelivery) -> NewDelivery:
    """Return it checked and plain."""
    _check(delivery_id=new.delivery_id, run_id=new.run_id, thread_id=new.thread_id, url=new.url)
    check_seconds("a delivery's lease", new.lease_seconds)
    return replace(new, payload=normal_object(new.payload, "payload"))


def plain_attempt(attempt: Attempt) -> Attempt:
    """Return it checked and plain."""
    if attempt.outcome not in get_args(AttemptOutcome):
        raise InvalidRequestError(f"an attempt cannot end as {attempt.outcome!r}")
    if attempt.outcome == "retry" and attempt.retry_at is None:
        raise InvalidRequestError("an attempt to be tried again needs retry_at")
    check_seconds("a delivery is kept", attempt.keep_seconds)
    return replace(
        attempt,
        error=normal_json(attempt.error, "error"),
        retry_at=_plain_moment("retry_at", attempt.retry_at),
    )


def plain_delivery_query(query: DeliveryQuery) -> DeliveryQuery:
    """Return it checked."""
    _check(run_id=query.run_id, thread_id=query.thread_id, status=query.status)
    return query


def check_seconds(what: str, seconds: float) -> None:
    """Refuse a time that is none.

    Raises:
        InvalidRequestError: It is not above 0, or above ``MAX_KEPT_SECONDS``.
    """
    if not 0 < seconds <= MAX_KEPT_SECONDS:
        raise InvalidRequestError(
            f"{what} for {seconds} seconds; it must be above 0 and at most {MAX_KEPT_SECONDS}"
        )


def check_claim(claim: Claim) -> None:
    """Refuse a claim nobody makes, or one that ends before it starts.

    Raises:
        InvalidRequestError: Its owner names nothing, or its lease is none.
    """
    _check(owner=claim.owner)
    if not 0 < claim.lease_seconds <= MAX_LEASE_SECONDS:
        raise InvalidRequestError(
            f"a lease of {claim.lease_seconds} seconds; it must be above 0 and at most "
            f"{MAX_LEASE_SECONDS}"
        )


def check_run_ids(run_ids: Sequence[str]) -> None:
    """Refuse a list with an identifier that cannot name a run."""
    for run_id in run_ids:
        _check(run_id=run_id)


def plain_outcome(outcome: Outcome) -> Outcome:
    """Return it checked and plain."""
    check_outcome(outcome)
    _check(reason=outcome.reason)
    return replace(outcome, error=normal_json(outcome.error, "error"))


def plain_assistant_query(query: AssistantQuery) -> AssistantQuery:
    """Return it checked and plain."""
    _check(graph_id=query.graph_id, name=query.name or None)
    _check_sort(query.sort_by, query.sort_order, get_args(AssistantSort))
    return replace(
        query,
        metadata=normal_object(query.metadata, "metadata"),
        enforced_metadata=plain_enforced(query.enforced_metadata),
    )


def plain_version_query(query: VersionQuery) -> VersionQuery:
    """Return it checked and plain."""
    return replace(query, metadata=normal_object(query.metadata, "metadata"))


def plain_thread_query(query: ThreadQuery) -> ThreadQuery:
    """Return it checked and plain."""
    _check(status=query.status)
    _check_sort(query.sort_by, query.sort_order, get_args(ThreadSort))
    for thread_id in query.ids or ():
        _check(thread_id=thread_id)
    for name in query.select or ():
        if name not in get_args(ThreadField):
            raise InvalidRequestError(f"cannot select {name!r} of a thread")
    return replace(
        query,
        metadata=normal_object(query.metadata, "metadata"),
        enforced_metadata=plain_enforced(query.enforced_metadata),
        values=normal_object(query.values, "values"),
    )


def plain_run_query(query: RunQuery) -> RunQuery:
    """Return it checked and plain."""
    _check(thread_id=query.thread_id, assistant_id=query.assistant_id)
    return replace(
        query,
        metadata=normal_object(query.metadata, "metadata"),
        enforced_metadata=plain_enforced(query.enforced_metadata),
    )


def _check(**identifiers: str | None) -> None:
    for kind, text in identifiers.items():
        if text is not None:
            check_identifier(kind, text)


def _check_sort(sort_by: str, sort_order: str, known: Sequence[str]) -> None:
    if sort_by not in known:
        raise InvalidRequestError(f"cannot sort by {sort_by!r}; known are {', '.join(known)}")
    if sort_order not in get_args(SortOrder):
        raise InvalidRequestError(f"the sort order {sort_order!r} is neither asc nor desc")


def _described(text: str | None) -> str | None:
    if text:
        check_identifier("description", text)
    return text


def _plain_moment(name: str, at: datetime | None) -> datetime | None:
    return None if at is None else plain_moment(name, at)


def _optional(value: Mapping[str, Any] | None, where: str) -> Mapping[str, Any] | None:
    return None if value is None else normal_object(value, where)
