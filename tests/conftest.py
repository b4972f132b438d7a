"""Fixtures that every folder of tests may use.

A server starts when the first test asks for it and ends with the session. One that cannot start is
an error of the test that asked, never a skip.
"""

from collections.abc import Iterator

import pytest

from tests.servers.nats import nats_server
from tests.servers.postgres import Databases, postgres_server
from tests.servers.valkey import valkey_server

SERVER_FIXTURES = {"postgres_databases", "nats_url", "redis_url"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that needs a server, so that `make fast` can leave it out."""
    for item in items:
        if SERVER_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("servers")


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of tests marked `anyio`: the one that LangGraph runs on."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_databases() -> Iterator[Databases]:
    """Makes databases on a real PostgreSQL with pgvector."""
    with postgres_server() as databases:
        yield databases


@pytest.fixture
def postgres_url(postgres_databases: Databases) -> Iterator[str]:
    """A PostgreSQL database of this test's own, with pgvector."""
    with postgres_databases.new() as url:
        yield url


@pytest.fixture(scope="module")
def postgres_module_url(postgres_databases: Databases) -> Iterator[str]:
    """A PostgreSQL database that the tests of one module share."""
    with postgres_databases.new() as url:
        yield url


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    """A NATS server with JetStream, shared by the session: name subjects and buckets uniquely."""
    with nats_server() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis-compatible server, shared by the session: name keys uniquely."""
    with valkey_server() as url:
        yield url
