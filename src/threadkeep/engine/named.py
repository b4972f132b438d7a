"""What ``langgraph.json`` names in the project's own code: a saver, or what opens one."""

import asyncio
import contextlib
import importlib
import inspect
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from threadkeep.engine.graphs import GraphSpec
from threadkeep.errors import ConfigError, ThreadkeepError

# What a run, a state and a deleted thread need; a saver that inherits one of these has it not.
NEEDED = ("aget_tuple", "alist", "aput", "aput_writes", "adelete_thread")


async def named_object(key: str, path: str, folder: Path) -> Any:
    """Import what a key of the file names, in a thread.

    Raises:
        ConfigError: It is not there, or importing it failed.
    """
    opening = await asyncio.to_thread(importlib.import_module, "threadkeep.engine.opening")
    file, _, export = path.rpartition(":")
    try:
        return await asyncio.to_thread(opening.imported, GraphSpec(key, file, export), folder)
    except ThreadkeepError as error:
        reason = str(error).removeprefix(f"graph {key!r} ")
        raise ConfigError(f"langgraph.json: {key}: {reason}") from error


async def open_saver(stack: AsyncExitStack, path: str, folder: Path) -> BaseCheckpointSaver[Any]:
    """Open the saver that ``checkpointer.path`` names; what it opened is closed with the stack.

    Raises:
        ConfigError: It cannot be opened, is no saver, or lacks a method that a server needs.
    """
    key = "checkpointer.path"
    found = await named_object(key, path, folder)
    try:
        if not isinstance(found, BaseCheckpointSaver) and callable(found):
            found = found()
        found = await stack.enter_async_context(_opened(found))
    except ThreadkeepError:
        raise
    except Exception as error:
        raise ConfigError(
            f"langgraph.json: {key}: {path} cannot be opened: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, BaseCheckpointSaver):
        raise ConfigError(
            f"langgraph.json: {key}: found {path}, a {type(found).__name__}; expected a "
            "BaseCheckpointSaver, or a function or async context manager that gives one"
        )
    base: Mapping[str, Any] = vars(BaseCheckpointSaver)
    if missing := [name for name in NEEDED if getattr(type(found), name) is base[name]]:
        raise ConfigError(
            f"langgraph.json: {key}: {type(found).__name__} has no {', '.join(missing)}, which a "
            "server needs; use its async class, or add them"
        )
    return found


@asynccontextmanager
async def _opened(found: Any) -> AsyncIterator[Any]:
    """Yield a saver from itself, an awaitable or a context manager of one."""
    if inspect.isawaitable(found):
        found = await found
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(found, contextlib.AbstractAsyncContextManager):
            found = await stack.enter_async_context(found)
        elif isinstance(found, contextlib.AbstractContextManager):
            found = stack.enter_context(found)
        yield found
