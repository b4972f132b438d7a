"""An idempotency record as values."""

from datetime import datetime, timedelta

from threadkeep.model.idempotency import IdempotencyClaim, IdempotencyRecord


def in_flight(claim: IdempotencyClaim, now: datetime) -> IdempotencyRecord:
    """Return the record a won claim leaves, with nothing of an older one."""
    return IdempotencyRecord(
        scope=claim.scope,
        key=claim.key,
        fingerprint=claim.fingerprint,
        claim_id=claim.claim_id,
        status="in_flight",
        response=None,
        run_id=None,
        thread_id=None,
        expires_at=now + timedelta(seconds=claim.seconds),
    )
