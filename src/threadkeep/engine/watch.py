"""Frees an event loop that a node holds: an async node that computes on and on without awaiting.

Nothing on the loop can help itself then, so a thread looks from outside. When the loop has not
moved for the limit and a node is what it executes, ``NodeHeldLoopError`` is raised in that node,
as a failure of its own: its run ends as ``error`` and the loop goes on. A node inside a call of C
code is reached when that call returns.
"""

import asyncio
import ctypes
import logging
import sys
import threading
import time
import traceback
from types import FrameType, TracebackType
from typing import Self

from threadkeep.errors import RunTimeoutError

logger = logging.getLogger(__name__)

LOOKS_PER_LIMIT = 10  # a node is failed at most a tenth of the limit late
NODE_MODULES = ("langgraph.pregel", "langgraph._internal")  # what calls a node stands below it


class NodeHeldLoopError(RunTimeoutError):
    """A node held the event loop for too long without awaiting."""

    def __init__(self) -> None:
        super().__init__(
            "an async node held the event loop without awaiting, so nothing else could go on; "
            "make it a sync node, which runs in a thread, or let it await"
        )


class LoopWatch:
    """Watches the running loop while it is entered.

    Args:
        limit_seconds: How long a node may hold it.
    """

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._look_seconds = limit_seconds / LOOKS_PER_LIMIT
        self._moved_at = time.monotonic()
        self._left = threading.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._watched = threading.get_ident()

    def __enter__(self) -> Self:
        self._watched = threading.get_ident()
        self._move(asyncio.get_running_loop())
        threading.Thread(target=self._watch, name="threadkeep-loop-watch", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.set()
        if self._timer is not None:
            self._timer.cancel()

    def _move(self, loop: asyncio.AbstractEventLoop) -> None:
        self._moved_at = time.monotonic()
        self._timer = loop.call_later(self._look_seconds, self._move, loop)

    def _watch(self) -> None:
        while not self._left.wait(self._look_seconds):
            held = time.monotonic() - self._moved_at
            if held > self._limit_seconds:
                self._free(held)

    def _free(self, held_seconds: float) -> None:
        frame = sys._current_frames().get(self._watched)
        if frame is None or not _is_in_node(frame):
            return
        self._moved_at = time.monotonic()  # a node that swallows it is asked again later
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._watched), ctypes.py_object(NodeHeldLoopError)
        )
        where = "".join(traceback.format_stack(frame, limit=3))
        logger.error("a node held the event loop for %.1f s:\n%s", held_seconds, where)


def _is_in_node(frame: FrameType) -> bool:
    """Say whether a node is executing: user code that LangGraph has called."""
    if str(frame.f_globals.get("__name__", "")).startswith(("asyncio", *NODE_MODULES)):
        return False
    below = frame.f_back
    while below is not None:
        if str(below.f_globals.get("__name__", "")).startswith(NODE_MODULES):
            return True
        below = below.f_back
    return False
