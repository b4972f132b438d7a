"""The default saver: the bound one, else a database, else memory.

A server binds its own saver before it loads graphs, so that a graph module that asks for a
checkpointer gets the server's.
"""

import importlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from threadkeep.errors import ConfigError
from threadkeep.ports.drivers import DATABASE_VARIABLES, configured_database, open_driver
from threadkeep.savers.saver import DocumentCheckpointSaver

LANGGRAPHS = "POSTGRES_URL"

_log = logging.getLogger(__name__)
_override: ContextVar[BaseCheckpointSaver[Any] | None] = ContextVar("saver", default=None)


class _Bound:
    """The saver of this process."""

    saver: BaseCheckpointSaver[Any] | None = None


class Binding:
    """Undoes what ``set_default_checkpointer`` did; also a context manager."""

    def __init__(self, saver: BaseCheckpointSaver[Any] | None) -> None:
        self._saver = saver

    def release(self) -> None:
        """Unbind the saver, unless another one has been bound since; idempotent."""
        if _Bound.saver is self._saver:
            _Bound.saver = None

    def __enter__(self) -> "Binding":
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


def set_default_checkpointer(saver: BaseCheckpointSaver[Any] | None) -> Binding:
    """Bind the saver that ``create_checkpointer`` answers in this process; ``None`` unbinds."""
    _Bound.saver = saver
    return Binding(saver)


@contextmanager
def default_checkpointer(saver: BaseCheckpointSaver[Any]) -> Iterator[None]:
    """Bind a saver in this context only: for tests, before whatever the process has bound."""
    token = _override.set(saver)
    try:
        yield
    finally:
        _override.reset(token)


def create_checkpointer(memory: BaseCheckpointSaver[Any] | None = None) -> BaseCheckpointSaver[Any]:
    """Answer the saver an agent should use.

    In this order: ``memory``; the bound one; ours on ``THREADKEEP_DATABASE_URL``, ``DATABASE_URI``
    or ``POSTGRES_URI``; LangGraph's ``PostgresSaver`` on ``POSTGRES_URL``; a new
    ``InMemorySaver``. A database is opened once and shared, and stays open with the process.

    Raises:
        ConfigError: No driver serves the address, or a package is missing.
        StorageError: The configured database cannot be reached. There is no way around it into
            memory.
    """
    bound = memory or _override.get() or _Bound.saver
    if bound is not None:
        return bound
    ours = configured_database(os.environ)
    if ours is not None:
        return _ours(*ours)
    if os.environ.get(LANGGRAPHS):
        return _langgraphs(os.environ[LANGGRAPHS])
    _announce("in memory only, as no database is configured", logging.WARNING)
    return InMemorySaver()


@lru_cache(maxsize=8)
def _ours(name: str, url: str) -> BaseCheckpointSaver[Any]:
    driver = open_driver(url)
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    saver.setup()
    _announce(f"in the database of {name}", logging.INFO)
    return saver


@lru_cache(maxsize=8)
def _langgraphs(url: str) -> BaseCheckpointSaver[Any]:
    try:
        postgres = importlib.import_module("langgraph.checkpoint.postgres")
        pool = importlib.import_module("psycopg_pool")
        rows = importlib.import_module("psycopg.rows")
    except ImportError as error:
        raise ConfigError(
            f"{LANGGRAPHS} asks for LangGraph's PostgresSaver: install "
            "langgraph-checkpoint-postgres and psycopg[binary,pool], or set "
            f"{DATABASE_VARIABLES[0]} for threadkeep's own saver"
        ) from error
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": rows.dict_row}
    saver: BaseCheckpointSaver[Any] = postgres.PostgresSaver(
        pool.ConnectionPool(url, max_size=10, kwargs=options, open=True)
    )
    saver.setup()  # type: ignore[attr-defined]
    _announce(f"in the database of {LANGGRAPHS}, by LangGraph's PostgresSaver", logging.INFO)
    return saver


@lru_cache(maxsize=8)
def _announce(where: str, level: int) -> None:
    """Say once where checkpoints go."""
    _log.log(level, "checkpoints are kept %s", where)
