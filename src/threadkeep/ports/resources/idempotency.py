"""Idempotency records: who answers a key, and what was answered."""

from typing import Protocol

from threadkeep.model.idempotency import (
    KEPT_SECONDS,
    IdempotencyClaim,
    IdempotencyRecord,
    RecordedResponse,
)


class IdempotencyRepo(Protocol):
    """Records by scope and key.

    A record that has expired is still there until it is claimed or swept. It has expired at the
    very moment it names.
    """

    async def claim(self, claim: IdempotencyClaim) -> IdempotencyRecord | None:
        """Insert a record in flight, or take over one that has expired, in one statement.

        Of many callers at once exactly one wins. A taken-over record begins anew: it has nothing
        of the old answer.

        Returns:
            ``None`` when the caller has the key, else the record of whoever has it.

        Raises:
            InvalidRequestError: The claim does not last, or an identifier names nothing.
        """
        ...

    async def get(self, scope: str, key: str) -> IdempotencyRecord | None:
        """Read one, expired or not, or ``None``."""
        ...

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
        """Keep an answer for so many seconds, if the claim still owns the record.

        What names a thread that is gone is not kept: the record goes, too.

        Returns:
            Whether it is kept now; if not, nothing was written, or the record was removed.

        Raises:
            ValueNotStorableError: Body or headers are not JSON.
        """
        ...

    async def release(self, scope: str, key: str, *, claim_id: str) -> bool:
        """Remove a record that is in flight, if the claim still owns it; else return false."""
        ...

    async def erase(self, *, run_id: str | None = None, thread_id: str | None = None) -> int:
        """Remove every record of a run or a thread, in flight or not; return how many.

        Raises:
            InvalidRequestError: Neither or both are given.
        """
        ...

    async def sweep(self, *, limit: int) -> int:
        """Remove up to ``limit`` expired records, longest expired first; return how many."""
        ...
