"""The threads sync nodes run in, and which run each of them works for.

LangGraph hands sync nodes to the event loop's default executor. This one knows the run that a
call belongs to, so that a stopped run can be waited for until none of its threads works any more:
a thread cannot be stopped from outside. Its threads do not keep the process from ending.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS_PER_JOB = 4  # a run may have several sync nodes at once
FEWEST_THREADS = 32  # name look-ups and other small work share them
PRUNE_AT = 64  # calls noted for a run before those that ended are let go

_Call = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class RunThreads:
    """The calls of one run that work in threads."""

    def __init__(self) -> None:
        self._calls: list[Future[Any]] = []

    def add(self, call: "Future[Any]") -> None:
        """Note a call."""
        if len(self._calls) >= PRUNE_AT:
            self._calls = [noted for noted in self._calls if not noted.done()]
        self._calls.append(call)

    @property
    def are_working(self) -> bool:
        """Whether any call has not ended."""
        return any(not call.done() for call in self._calls)

    async def ended(self, *, within_seconds: float | None) -> bool:
        """Wait until every call has ended, at most so long; say whether they have."""
        working = {_done(call) for call in self._calls if not call.done()}
        if not working:
            return True
        _, left = await asyncio.wait(working, timeout=within_seconds)
        return not left


def _done(call: "Future[Any]") -> "asyncio.Future[None]":
    """Return a future that is done when the call is, whatever came of it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not done.done():
            done.set_result(None)

    def from_thread(_: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell)

    call.add_done_callback(from_thread)
    return done


# The run whose task (or a task it made) is executing.
current_run: ContextVar[RunThreads | None] = ContextVar("threadkeep_current_run", default=None)


class NodeThreads(ThreadPoolExecutor):
    """An executor for ``loop.set_default_executor``; see the module.

    Args:
        jobs: How many runs execute at once.
    """

    def __init__(self, jobs: int) -> None:
        most = max(FEWEST_THREADS, jobs * THREADS_PER_JOB)
        super().__init__(max_workers=most)
        self._most = most
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._count = 0
        self._is_shut = False
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run a call in a thread, on behalf of the run whose context this is."""
        call: Future[T] = Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._calls.put((call, fn, args, kwargs))
            if not self._idle.acquire(blocking=False) and self._count < self._most:
                self._count += 1
                name = f"threadkeep-node-{self._count}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        if (run := current_run.get()) is not None:
            run.add(call)
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Take no more calls and let idle threads end; a thread that works is not waited for."""
        with self._lock:
            if self._is_shut:
                return
            self._is_shut = True
            for _ in range(self._count):
                self._calls.put(None)

    def _serve(self) -> None:
        while (taken := self._next()) is not None:
            call, fn, args, kwargs = taken
            if call.set_running_or_notify_cancel():
                try:
                    call.set_result(fn(*args, **kwargs))
                except StopIteration as error:  # a future takes any other
                    call.set_exception(RuntimeError(f"a call raised StopIteration({error})"))
                except BaseException as error:
                    call.set_exception(error)
            del taken, call, fn, args, kwargs

    def _next(self) -> _Call | None:
        try:
            return self._calls.get_nowait()
        except queue.Empty:
            self._idle.release()
            return self._calls.get()
