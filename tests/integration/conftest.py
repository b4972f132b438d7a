"""A server that the tests over HTTP share; each test makes threads and labels of its own."""

import contextlib
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from tests.integration.http_graphs import graphs
from tests.integration.http_server import serve
from tests.servers.postgres import Databases


@pytest.fixture(
    scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.servers)]
)
def http_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a server on a SQLite file, and of one on PostgreSQL."""
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            database = f"sqlite:///{tmp_path_factory.mktemp('http') / 'threadkeep.db'}"
        else:
            databases: Databases = request.getfixturevalue("postgres_databases")
            database = stack.enter_context(databases.new())
        yield stack.enter_context(serve(graphs(), database, heartbeat_seconds=0.2))


@pytest.fixture
def http(http_url: str) -> Iterator[httpx.Client]:
    """A bare client of it."""
    with httpx.Client(base_url=http_url, timeout=30) as client:
        yield client


@pytest.fixture
def client(http_url: str) -> SyncLangGraphClient:
    """LangGraph's client of it."""
    return get_sync_client(url=http_url, api_key=None)


@pytest.fixture
def async_client(http_url: str) -> LangGraphClient:
    """LangGraph's awaiting client of it."""
    return get_client(url=http_url, api_key=None)


@pytest.fixture
def label() -> dict[str, str]:
    """Metadata that no other test has."""
    return {"label": uuid4().hex}
