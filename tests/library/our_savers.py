"""A pytest plugin, loaded beside LangGraph's own tests: some of their savers are ours instead.

Their fixtures take savers from functions of ``tests.conftest_checkpointer``. What runs there under
the name of LangGraph's saver on SQLite runs on one of ours; what is named ``memory`` stays
LangGraph's, so that one run compares both. Nothing of this repository is imported but the package.
"""

import importlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from threadkeep import DocumentCheckpointSaver

POSTGRES_URL = "THREADKEEP_TEST_POSTGRES_URL"
TALLY = "THREADKEEP_TEST_TALLY"  # a file that gets a byte for each of our savers that is opened


def _server() -> str:
    """Return the address of a schema of its own on the server that the environment names."""
    url = urlsplit(os.environ[POSTGRES_URL])
    return url._replace(query=f"schema=t{uuid4().hex}&pool_max_size=8").geturl()


def _opened() -> None:
    with open(os.environ[TALLY], "ab") as tally:
        tally.write(b".")


@contextmanager
def _sqlite(**_: Any) -> Iterator[DocumentCheckpointSaver]:
    with (
        tempfile.TemporaryDirectory(prefix="threadkeep-library-") as folder,
        DocumentCheckpointSaver.from_url(f"sqlite:///{folder}/s.db") as saver,
    ):
        _opened()
        yield saver


@contextmanager
def _postgres(**_: Any) -> Iterator[DocumentCheckpointSaver]:
    with DocumentCheckpointSaver.from_url(_server()) as saver:
        _opened()
        yield saver


@contextmanager
def _memory(**_: Any) -> Iterator[DocumentCheckpointSaver]:
    with DocumentCheckpointSaver.from_url("memory://") as saver:
        _opened()
        yield saver


@asynccontextmanager
async def _awaiting(**_: Any) -> AsyncIterator[DocumentCheckpointSaver]:
    with tempfile.TemporaryDirectory(prefix="threadkeep-library-") as folder:
        address = f"sqlite:///{folder}/s.db" if POSTGRES_URL not in os.environ else _server()
        async with DocumentCheckpointSaver.from_url(address) as saver:
            _opened()
            yield saver


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Replace the functions before the conftest takes them over."""
    theirs: Any = importlib.import_module("tests.conftest_checkpointer")
    theirs._checkpointer_sqlite = _sqlite
    theirs._checkpointer_sqlite_aes = _postgres if POSTGRES_URL in os.environ else _memory
    theirs._checkpointer_sqlite_aio = _awaiting
