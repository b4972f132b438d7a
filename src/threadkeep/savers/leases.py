"""A lease on a thread: while it is held, what is written under an older one is refused."""

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType, TracebackType
from typing import Protocol, TypeVar

from langchain_core.runnables import RunnableConfig

from threadkeep.checkpoints.known import Known
from threadkeep.checkpoints.steps import ExtendLease, ReleaseLease, Steps, TakeLease
from threadkeep.errors import InvalidRequestError, LeaseHeldError, LeaseLostError

LEASE = "__threadkeep_lease"  # a key of ``configurable``: keys that begin so are never stored
SECONDS = 30.0

T = TypeVar("T")

Held = Mapping[tuple[Known, str], int]

_NONE: Held = MappingProxyType({})
_held: ContextVar[Held] = ContextVar("threadkeep_leases", default=_NONE)


class Drives(Protocol):
    """What answers steps, blocking and awaiting."""

    def _run(self, steps: Steps[T]) -> T: ...

    async def _arun(self, steps: Steps[T]) -> T: ...


def lease_of(config: RunnableConfig, known: Known, thread_id: str) -> int | None:
    """Find the token a write is made under: the config's, else the surrounding lease's."""
    given = config["configurable"].get(LEASE)
    if given is not None and type(given) is not int:
        raise InvalidRequestError(f"configurable.{LEASE} is a lease's token, not {given!r}")
    return given if given is not None else _held.get().get((known, thread_id))


class Lease:
    """Takes a lease on entering, by ``with`` or ``async with``, and gives it back on leaving.

    What is put through the saver in this context, also in tasks and executors that copy it, is
    written under the lease. Elsewhere the token goes in the config.

    Args:
        saver: Drives the steps.
        known: What the saver and its copies share: they share their leases too.
        thread_id: The thread.
        seconds: How long it lasts; it stays valid after that until another takes it.
    """

    def __init__(self, saver: Drives, known: Known, thread_id: str, seconds: float) -> None:
        self.thread_id = thread_id
        self._saver = saver
        self._known = known
        self._seconds = seconds
        self._token: int | None = None
        self._before: Held = _NONE

    @property
    def token(self) -> int:
        """The number of the lease; greater than that of every lease on the thread before it.

        Raises:
            InvalidRequestError: It is not held.
        """
        if self._token is None:
            raise InvalidRequestError(f"the lease on thread {self.thread_id!r} is not held")
        return self._token

    def extend(self, seconds: float | None = None) -> None:
        """Let it last from now on for ``seconds``, or as long as it was taken for.

        Raises:
            LeaseLostError: It has passed to another.
        """
        self._check(self._saver._run(self._extend(seconds)))

    async def aextend(self, seconds: float | None = None) -> None:
        """See ``extend``."""
        self._check(await self._saver._arun(self._extend(seconds)))

    def __enter__(self) -> "Lease":
        return self._entered(self._saver._run(self._take()))

    async def __aenter__(self) -> "Lease":
        return self._entered(await self._saver._arun(self._take()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._saver._run(self._release())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._saver._arun(self._release())

    def _take(self) -> Steps[int | None]:
        taken: int | None = yield TakeLease(self.thread_id, self._seconds)
        return taken

    def _extend(self, seconds: float | None) -> Steps[bool]:
        wanted = self._seconds if seconds is None else seconds
        extended: bool = yield ExtendLease(self.thread_id, self.token, wanted)
        return extended

    def _release(self) -> Steps[None]:
        _held.set(self._before)
        token, self._token = self.token, None
        yield ReleaseLease(self.thread_id, token)

    def _entered(self, token: int | None) -> "Lease":
        if token is None:
            raise LeaseHeldError(self.thread_id)
        self._token = token
        self._before = _held.get()
        _held.set({**self._before, (self._known, self.thread_id): token})
        return self

    def _check(self, extended: object) -> None:
        if not extended:
            raise LeaseLostError(self.thread_id)
