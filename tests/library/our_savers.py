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
from langgraph.graph import StateGraph

from threadkeep import DocumentCheckpointSaver

POSTGRES_URL = "THREADKEEP_TEST_POSTGRES_URL"
# Their states are classes of the test functions, which a saver must be given; see decision 0013.
OF_FUNCTIONS = (
    "test_in_one_fan_out_state_graph_waiting_edge_custom_state_class_pydantic_input",
    "test_stream_messages_dedupe_pydantic_subgraph_interrupt",
)
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


@pytest.fixture(autouse=True)
def _classes_of_functions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a saver the classes of the graph where the test does not, as docs/python.md says."""
    if request.node.originalname not in OF_FUNCTIONS:
        return
    compile_ = StateGraph.compile

    def compiled(builder: Any, checkpointer: Any = None, **options: Any) -> Any:
        if isinstance(checkpointer, DocumentCheckpointSaver):
            checkpointer = checkpointer.for_graph(builder)
        return compile_(builder, checkpointer, **options)

    monkeypatch.setattr(StateGraph, "compile", compiled)
