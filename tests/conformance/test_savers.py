"""The shipped suite for checkpoint savers: memory, SQLite and PostgreSQL, both faces."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.postgres_savers import opened_saver
from threadkeep import DocumentCheckpointSaver
from threadkeep.testing.blocking_face import BlockingFace
from threadkeep.testing.savers import SaverSuite

Saver = BaseCheckpointSaver[Any]


class TestMemory(SaverSuite):
    @pytest.fixture
    def saver(self) -> Iterator[Saver]:
        with DocumentCheckpointSaver.from_url("memory://") as saver:
            yield saver


class TestMemoryBlocking(SaverSuite):
    @pytest.fixture
    def saver(self) -> Iterator[Saver]:
        with DocumentCheckpointSaver.from_url("memory://") as saver:
            yield BlockingFace(saver)


class TestSqlite(SaverSuite):
    @pytest.fixture
    def saver(self, tmp_path: Path) -> Iterator[Saver]:
        with DocumentCheckpointSaver.from_url(f"sqlite:///{tmp_path}/s.db") as saver:
            yield saver


class TestSqliteBlocking(SaverSuite):
    @pytest.fixture
    def saver(self, tmp_path: Path) -> Iterator[Saver]:
        with DocumentCheckpointSaver.from_url(f"sqlite:///{tmp_path}/s.db") as saver:
            yield BlockingFace(saver)


class TestSqliteEncrypted(SaverSuite):
    @pytest.fixture
    def saver(self, tmp_path: Path) -> Iterator[Saver]:
        keys = ["a new key of 16 bytes", "an old key of 16 bytes"]
        url = f"sqlite:///{tmp_path}/s.db"
        with DocumentCheckpointSaver.from_url(url, encryption_keys=keys) as saver:
            yield saver


class TestPostgres(SaverSuite):
    @pytest.fixture
    def saver(self, postgres_module_url: str) -> Iterator[Saver]:
        with opened_saver(postgres_module_url) as saver:
            yield saver


class TestPostgresBlocking(SaverSuite):
    @pytest.fixture
    def saver(self, postgres_module_url: str) -> Iterator[Saver]:
        with opened_saver(postgres_module_url) as saver:
            yield BlockingFace(saver)
