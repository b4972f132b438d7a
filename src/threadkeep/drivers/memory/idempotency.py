"""Idempotency records in memory."""

from dataclasses import replace
from datetime import timedelta

from threadkeep.drivers.memory.tables import Tables
from threadkeep.model.idempotency import (
    KEPT_SECONDS,
    IdempotencyClaim,
    IdempotencyRecord,
    RecordedResponse,
)
from threadkeep.rules.idempotency_changes import in_flight
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    check_erasure,
    check_record,
    check_seconds,
    plain_idempotency,
    plain_response,
)
from threadkeep.rules.json_text import copy_json


class MemoryIdempotencyRepo:
    """Satisfies ``IdempotencyRepo``."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def claim(self, claim: IdempotencyClaim) -> IdempotencyRecord | None:
        """See ``IdempotencyRepo.claim``."""
        plain = plain_idempotency(claim)
        with self._tables.lock:
            now = self._tables.now()
            present = self._tables.records.get((plain.scope, plain.key))
            if present is not None and present.expires_at > now:
                return _copy(present)
            self._tables.records[plain.scope, plain.key] = in_flight(plain, now)
            return None

    async def get(self, scope: str, key: str) -> IdempotencyRecord | None:
        """See ``IdempotencyRepo.get``."""
        check_record(scope, key)
        with self._tables.lock:
            found = self._tables.records.get((scope, key))
            return None if found is None else _copy(found)

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
        with self._tables.lock:
            present = self._owned(scope, key, claim_id)
            if present is None:
                return False
            if thread_id is not None and thread_id not in self._tables.threads:
                del self._tables.records[scope, key]
                return False
            self._tables.records[scope, key] = replace(
                present,
                status="done",
                response=plain,
                run_id=run_id,
                thread_id=thread_id,
                expires_at=self._tables.now() + timedelta(seconds=seconds),
            )
            return True

    async def release(self, scope: str, key: str, *, claim_id: str) -> bool:
        """See ``IdempotencyRepo.release``."""
        check_record(scope, key, claim_id)
        with self._tables.lock:
            present = self._owned(scope, key, claim_id)
            if present is None or present.status != "in_flight":
                return False
            del self._tables.records[scope, key]
            return True

    async def erase(self, *, run_id: str | None = None, thread_id: str | None = None) -> int:
        """See ``IdempotencyRepo.erase``."""
        check_erasure(run_id, thread_id)
        with self._tables.lock:
            gone = [
                address
                for address, record in self._tables.records.items()
                if (run_id is not None and record.run_id == run_id)
                or (thread_id is not None and record.thread_id == thread_id)
            ]
            for address in gone:
                del self._tables.records[address]
            return len(gone)

    async def sweep(self, *, limit: int) -> int:
        """See ``IdempotencyRepo.sweep``."""
        with self._tables.lock:
            now = self._tables.now()
            expired = sorted(
                (record.expires_at, *address)
                for address, record in self._tables.records.items()
                if record.expires_at <= now
            )[: max(limit, 0)]
            for _, scope, key in expired:
                del self._tables.records[scope, key]
            return len(expired)

    def _owned(self, scope: str, key: str, claim_id: str) -> IdempotencyRecord | None:
        present = self._tables.records.get((scope, key))
        return present if present is not None and present.claim_id == claim_id else None


def _copy(record: IdempotencyRecord) -> IdempotencyRecord:
    if record.response is None:
        return record
    headers = copy_json(record.response.headers)
    response = replace(record.response, headers=headers, body=copy_json(record.response.body))
    return replace(record, response=response)
