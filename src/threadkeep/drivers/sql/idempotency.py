"""Idempotency records in a SQL database."""

from collections.abc import Mapping
from datetime import timedelta

from threadkeep.drivers.sql.database import Database, One, Run, Work
from threadkeep.drivers.sql.rows import Bag, Row, micros, moment
from threadkeep.errors import UnavailableError
from threadkeep.model.idempotency import (
    KEPT_SECONDS,
    IdempotencyClaim,
    IdempotencyRecord,
    RecordedResponse,
)
from threadkeep.ports.clock import Clock
from threadkeep.rules.idempotency_changes import in_flight
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    check_erasure,
    check_record,
    check_seconds,
    plain_idempotency,
    plain_response,
)
from threadkeep.rules.json_text import decode_json, json_text
from threadkeep.rules.paging import MAX_OFFSET

CLAIMS = 5  # tries, each of which met a record that was gone when it was read


class SqlIdempotencyRepo:
    """Satisfies ``IdempotencyRepo``."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def claim(self, claim: IdempotencyClaim) -> IdempotencyRecord | None:
        """See ``IdempotencyRepo.claim``."""
        plain = plain_idempotency(claim)

        def work() -> Work[IdempotencyRecord | None]:
            for _ in range(CLAIMS):
                now = self._clock.now()
                bound = _bag(in_flight(plain, now)) | {"now": micros(now)}
                claimed = yield Run("claim_idempotency", bound)
                if claimed:
                    return None
                row = yield One("get_idempotency", {"scope": plain.scope, "key": plain.key})
                if row is not None:
                    return _record_of(row)
            raise UnavailableError(f"the idempotency key {plain.key!r} changes hands; try again")

        return await self._database.write(work)

    async def get(self, scope: str, key: str) -> IdempotencyRecord | None:
        """See ``IdempotencyRepo.get``."""
        check_record(scope, key)

        def work() -> Work[IdempotencyRecord | None]:
            row = yield One("get_idempotency", {"scope": scope, "key": key})
            return None if row is None else _record_of(row)

        return await self._database.read(work)

    async def record(
        self,
        scope: str,
        key: str,
        *,
        claim_id: str,
        response: RecordedResponse,
        run_id: str | None = None,
        thread_id: str | None = None,
        seconds: float = KEPT_SECONDS,
    ) -> bool:
        """See ``IdempotencyRepo.record``."""
        check_record(scope, key, claim_id)
        plain = plain_response(response)
        check_seconds("an answer is kept", seconds)
        for kind, name in (("run_id", run_id), ("thread_id", thread_id)):
            if name is not None:
                check_identifier(kind, name)
        owned = {"scope": scope, "key": key, "claim_id": claim_id}

        def work() -> Work[bool]:
            if thread_id is not None:
                thread = yield One("lock_thread", {"thread_id": thread_id})
                if thread is None:
                    yield Run("disown_idempotency", owned)
                    return False
            end = self._clock.now() + timedelta(seconds=seconds)
            recorded = yield Run(
                "record_idempotency",
                owned
                | {
                    "response": json_text(_plain(plain)),
                    "run_id": run_id,
                    "thread_id": thread_id,
                    "expires_at": micros(end),
                },
            )
            return bool(recorded)

        return await self._database.write(work)

    async def release(self, scope: str, key: str, *, claim_id: str) -> bool:
        """See ``IdempotencyRepo.release``."""
        check_record(scope, key, claim_id)

        def work() -> Work[bool]:
            bound = {"scope": scope, "key": key, "claim_id": claim_id}
            released = yield Run("release_idempotency", bound)
            return bool(released)

        return await self._database.write(work)

    async def erase(self, *, run_id: str | None = None, thread_id: str | None = None) -> int:
        """See ``IdempotencyRepo.erase``."""
        check_erasure(run_id, thread_id)

        def work() -> Work[int]:
            if run_id is not None:
                erased: int = yield Run("erase_idempotency_of_run", {"run_id": run_id})
                return erased
            erased = yield Run("erase_idempotency_of_thread", {"thread_id": thread_id})
            return erased

        return await self._database.write(work)

    async def sweep(self, *, limit: int) -> int:
        """See ``IdempotencyRepo.sweep``."""

        def work() -> Work[int]:
            now = micros(self._clock.now())
            bound = {"now": now, "limit": max(0, min(limit, MAX_OFFSET))}
            swept: int = yield Run("sweep_idempotency", bound)
            return swept

        return await self._database.write(work)


def _bag(record: IdempotencyRecord) -> Bag:
    return {
        "scope": record.scope,
        "key": record.key,
        "fingerprint": record.fingerprint,
        "claim_id": record.claim_id,
        "status": record.status,
        "response": None if record.response is None else json_text(_plain(record.response)),
        "run_id": record.run_id,
        "thread_id": record.thread_id,
        "expires_at": micros(record.expires_at),
    }


def _plain(response: RecordedResponse) -> Mapping[str, object]:
    return {"status": response.status, "headers": response.headers, "body": response.body}


def _record_of(row: Row) -> IdempotencyRecord:
    held = None if row["response"] is None else decode_json(row["response"])
    return IdempotencyRecord(
        scope=row["scope"],
        key=row["key"],
        fingerprint=row["fingerprint"],
        claim_id=row["claim_id"],
        status=row["status"],
        response=None if held is None else RecordedResponse(**held),
        run_id=row["run_id"],
        thread_id=row["thread_id"],
        expires_at=moment(row["expires_at"]),
    )
