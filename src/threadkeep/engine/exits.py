"""Keeps a graph that wants to end the process from ending the server.

The event loop lets ``SystemExit`` and ``KeyboardInterrupt`` of any task out, so ``sys.exit()`` in a
node, or in a library it calls, would stop every run and every request. In the tasks of a run, and
wherever else a graph is open, they become a ``GraphError``: a failure like others.
"""

import asyncio
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any

from threadkeep.engine.json import error_of
from threadkeep.engine.threads import current_run
from threadkeep.errors import GraphError, ThreadkeepError

ENDING = (SystemExit, KeyboardInterrupt)


def kept_in(error: BaseException) -> GraphError:
    """Return the failure that an exception which must not leave a graph stands for."""
    shown = error_of(error)
    return GraphError(f"the graph raised {shown['error']}({shown['message']})")


@contextmanager
def graph_failures(graph_id: str) -> Iterator[None]:
    """Turn what a graph's own code raises into a ``GraphError`` that says so.

    Reducers, factories and schemas run wherever a graph is read, fed with what was stored.
    """
    try:
        yield
    except ThreadkeepError:
        raise
    except Exception as error:
        shown = error_of(error)
        raise GraphError(
            f"graph {graph_id!r} fails: {shown['error']}: {shown['message']}"
        ) from error


@contextmanager
def exits_kept_in() -> Iterator[None]:
    """Turn what would end the process into a ``GraphError``."""
    try:
        yield
    except ENDING as error:
        raise kept_in(error) from error


class _Kept(Coroutine[Any, Any, Any]):
    """A coroutine as it is, but for how it may end."""

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner = inner
        self.__name__ = getattr(inner, "__name__", type(inner).__name__)
        self.__qualname__ = getattr(inner, "__qualname__", self.__name__)

    def send(self, value: Any) -> Any:
        """Go on; see ``Coroutine``, so for every method here."""
        with exits_kept_in():
            return self._inner.send(value)

    def throw(self, *raised: Any) -> Any:
        """Raise inside."""
        with exits_kept_in():
            return self._inner.throw(*raised)

    def close(self) -> None:
        """End early."""
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()


class RunTasks:
    """A task factory, for ``loop.set_task_factory``, over the one there was before."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        """Make a task; one that works for a run keeps exits in."""
        context: Context | None = options.get("context")
        run = current_run.get() if context is None else context.get(current_run)
        if run is not None and asyncio.iscoroutine(coro):
            coro = _Kept(coro)
        if self._before is not None:
            return self._before(loop, coro, **options)
        return asyncio.Task(coro, loop=loop, **options)
