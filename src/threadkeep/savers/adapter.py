"""A store that is brought along: told apart by its shape, opened, and closed if we opened it."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

from langgraph.store.base import BaseStore

from threadkeep.errors import ConfigError
from threadkeep.model.queries import MAX_PAGE_SIZE
from threadkeep.ports.resources import ItemHolder, ItemRepo
from threadkeep.savers.adapted import AdaptedItems, OwnRanking
from threadkeep.savers.store import ItemStore

BASE_STORE = ("batch", "abatch")
TELLING = ("apply", "list_namespaces")  # of a repo, and of little else
REPO = ("get", "put", "delete", "search", "list_namespaces", "apply", "sweep")


class Holder:
    """Satisfies ``ItemHolder`` with a repo that is brought along."""

    def __init__(self, items: ItemRepo, *, max_page_size: int) -> None:
        self.items = items
        self.max_page_size = max_page_size

    async def setup(self) -> None:
        """See ``ItemHolder.setup``: who made the repo has set it up."""


@asynccontextmanager
async def adapted(
    brought: Any,
    *,
    named: str,
    ttl: Mapping[str, Any] | None = None,
    max_page_size: int = MAX_PAGE_SIZE,
    scope: Sequence[str] = (),
) -> AsyncIterator[tuple[ItemStore, ItemRepo]]:
    """Open what is brought along as a store with our rules, and yield its repo beside it.

    Args:
        brought: A ``BaseStore`` or an ``ItemRepo``, which stay their owner's; or a function, sync
            or async, that returns one or a context manager of one, which is closed here.
        named: What it is called in a message.
        ttl: ``default_ttl`` and ``refresh_on_read``, where lifetimes are configured.
        max_page_size: The largest page, in rows.
        scope: See ``ItemStore``.

    Raises:
        ConfigError: It is neither; names the method that is missing. Or it cannot do what ``ttl``
            says.
    """
    async with AsyncExitStack() as stack:
        found = await _opened(stack, brought, named)
        if isinstance(found, ItemStore):
            if scope:
                raise ConfigError(f"store.scope: {named} is an ItemStore; make it with the scope")
            yield found, found.items
            return
        holder: ItemHolder
        if _has(found, "batch") or _has(found, "abatch"):
            _check_shape(found, BASE_STORE, "BaseStore", named)
            _check_ttl(found, ttl, named)
            holder = AdaptedItems(cast(BaseStore, found), max_page_size=max_page_size)
            store = ItemStore(holder, ttl=cast(Any, ttl), ranks=OwnRanking(), scope=scope)
        else:
            _check_shape(found, REPO, "ItemRepo", named)
            holder = Holder(found, max_page_size=max_page_size)
            store = ItemStore(holder, ttl=cast(Any, ttl), scope=scope)
        yield store, holder.items


async def _opened(stack: AsyncExitStack, brought: Any, named: str) -> Any:
    if _is_store(brought):
        return brought
    made = brought
    if not _is_manager(brought):
        if not callable(brought):
            raise _neither(brought, named)
        try:
            made = await _made(brought)
        except Exception as error:
            raise ConfigError(f"{named} failed to open: {error!r}") from error
    if hasattr(made, "__aenter__"):
        return await stack.enter_async_context(made)
    if hasattr(made, "__enter__"):
        found = await asyncio.to_thread(made.__enter__)
        stack.push_async_exit(_blocking_exit(made))
        return found
    close = getattr(made, "aclose", None) or getattr(made, "close", None)
    if callable(close):
        stack.push_async_callback(_closed, close)
    return made


async def _made(make: Any) -> Any:
    """Call a factory: in a thread, for it may block, or on the loop."""
    if inspect.iscoroutinefunction(make):
        return await make()
    made = await asyncio.to_thread(make)
    return await made if inspect.isawaitable(made) else made


def _blocking_exit(manager: Any) -> Any:
    async def leave(*error: Any) -> Any:
        return await asyncio.to_thread(manager.__exit__, *error)

    return leave


async def _closed(close: Any) -> None:
    done = close() if inspect.iscoroutinefunction(close) else await asyncio.to_thread(close)
    if inspect.isawaitable(done):
        await done


def _check_ttl(store: Any, ttl: Mapping[str, Any] | None, named: str) -> None:
    """Refuse lifetimes that the store would not keep: what is ignored keeps data for ever."""
    if not ttl:
        return
    if not getattr(store, "supports_ttl", False) or not _has(store, "sweep_ttl"):
        raise ConfigError(
            f"store.ttl: {named} is a {type(store).__name__}, which deletes nothing by itself (it "
            "has no sweep_ttl); remove store.ttl, or bring a store that has lifetimes"
        )
    if ttl.get("refresh_on_read", True):
        raise ConfigError(
            f"store.ttl: {named} keeps lifetimes in its own way, and a read may not restart them "
            "as ours do; set store.ttl.refresh_on_read to false"
        )


def _is_store(brought: Any) -> bool:
    return not isinstance(brought, type) and any(
        _has(brought, name) for name in (*BASE_STORE, *TELLING)
    )


def _check_shape(found: Any, names: tuple[str, ...], kind: str, named: str) -> None:
    missing = [name for name in names if not _has(found, name)]
    if not _is_store(found):
        raise _neither(found, named)
    if missing:
        raise ConfigError(
            f"{named} is a {type(found).__name__} without {missing[0]}(), so it is no {kind}"
        )


def _neither(found: Any, named: str) -> ConfigError:
    return ConfigError(
        f"{named} is a {type(found).__name__}; expected LangGraph's BaseStore (it has no batch()), "
        "an ItemRepo (it has no get()), or a function that returns one"
    )


def _is_manager(brought: Any) -> bool:
    if isinstance(brought, type):
        return False
    return hasattr(brought, "__aenter__") or hasattr(brought, "__enter__")


def _has(found: Any, name: str) -> bool:
    return callable(getattr(found, name, None))
