"""Every document store of ours, on each of its faces, against the one suite."""

from pathlib import Path

import pytest

from threadkeep.drivers.lift import InThreads
from threadkeep.drivers.memory.async_documents import AsyncMemoryDocumentStore
from threadkeep.drivers.memory.documents import MemoryDocumentStore
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import (
    AsyncPostgresDocumentStore,
    PostgresDocumentStore,
)
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import AsyncSqliteDocumentStore, SqliteDocumentStore
from threadkeep.ports.documents import AsyncDocumentStore
from threadkeep.ports.staging import StagingDocumentStore
from threadkeep.testing.document_staging import StagingSuite
from threadkeep.testing.documents import DocumentStoreSuite
from threadkeep.testing.faces import Awaited


class TestMemory(DocumentStoreSuite):
    @pytest.fixture
    def store(self) -> AsyncDocumentStore:
        return Awaited(MemoryDocumentStore())


class TestAsyncMemory(DocumentStoreSuite):
    @pytest.fixture
    def store(self) -> AsyncDocumentStore:
        return AsyncMemoryDocumentStore(MemoryDocumentStore())


class TestLiftedMemory(DocumentStoreSuite):
    @pytest.fixture
    def store(self) -> AsyncDocumentStore:
        return InThreads(MemoryDocumentStore())


class TestSqlite(DocumentStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> AsyncDocumentStore:
        return Awaited(SqliteDocumentStore(SqliteDatabase(Address(tmp_path / "d.db"))))


class TestAsyncSqlite(DocumentStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> AsyncDocumentStore:
        return AsyncSqliteDocumentStore(SqliteDatabase(Address(tmp_path / "d.db")))


class TestMemoryStaging(StagingSuite):
    @pytest.fixture
    def store(self) -> StagingDocumentStore:
        return AsyncMemoryDocumentStore(MemoryDocumentStore())


class TestSqliteStaging(StagingSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> StagingDocumentStore:
        return AsyncSqliteDocumentStore(SqliteDatabase(Address(tmp_path / "d.db")))


class TestPostgresStaging(StagingSuite):
    @pytest.fixture
    def store(self, postgres_module_url: str) -> StagingDocumentStore:
        return AsyncPostgresDocumentStore(PostgresDatabase(parse(postgres_module_url, {})))


class TestPostgres(DocumentStoreSuite):
    @pytest.fixture
    def store(self, postgres_module_url: str) -> AsyncDocumentStore:
        return Awaited(PostgresDocumentStore(PostgresDatabase(parse(postgres_module_url, {}))))


class TestAsyncPostgres(DocumentStoreSuite):
    @pytest.fixture
    def store(self, postgres_module_url: str) -> AsyncDocumentStore:
        return AsyncPostgresDocumentStore(PostgresDatabase(parse(postgres_module_url, {})))
