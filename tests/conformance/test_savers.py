"""The shipped suite for checkpoint savers: memory and SQLite, both faces."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

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
