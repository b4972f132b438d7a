"""Which saver an agent gets when it is not told."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

import threadkeep
from threadkeep import create_checkpointer, set_default_checkpointer
from threadkeep.errors import ConfigError, ThreadkeepError
from threadkeep.ports.drivers import DATABASE_VARIABLES
from threadkeep.savers import default
from threadkeep.savers.saver import DocumentCheckpointSaver

VARIABLES = (*DATABASE_VARIABLES, default.LANGGRAPHS)


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for remembered in (default._ours, default._langgraphs, default._announce):
        remembered.cache_clear()
    yield
    set_default_checkpointer(None)


def test_a_given_saver_wins() -> None:
    given = InMemorySaver()
    set_default_checkpointer(InMemorySaver())
    assert create_checkpointer(given) is given


def test_the_bound_saver_is_answered_until_it_is_released() -> None:
    one, two = InMemorySaver(), InMemorySaver()
    first = set_default_checkpointer(one)
    assert create_checkpointer() is one
    second = set_default_checkpointer(two)
    first.release()  # unbinds only its own
    assert create_checkpointer() is two
    second.release()
    assert create_checkpointer() is not two


def test_a_context_may_have_its_own() -> None:
    bound, own = InMemorySaver(), InMemorySaver()
    with set_default_checkpointer(bound):
        with default.default_checkpointer(own):
            assert create_checkpointer() is own
        assert create_checkpointer() is bound


@pytest.mark.parametrize("name", DATABASE_VARIABLES)
def test_a_database_gives_ours_once(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(name, f"sqlite:///{tmp_path}/s.db")
    saver = create_checkpointer()
    assert isinstance(saver, DocumentCheckpointSaver)
    assert create_checkpointer() is saver
    assert saver.get_tuple({"configurable": {"thread_id": "t"}}) is None


def test_a_database_that_no_driver_serves_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", "paper://a/b")
    with pytest.raises(ConfigError, match=r"^THREADKEEP_DATABASE_URL: no driver .* paper://"):
        create_checkpointer()


def test_a_database_that_cannot_be_opened_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", f"sqlite:///{tmp_path}/file/s.db")
    with pytest.raises(ThreadkeepError):
        create_checkpointer()


def test_langgraphs_own_saver_names_the_package_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTGRES_URL", "postgresql://nowhere/db")
    monkeypatch.setitem(__import__("sys").modules, "langgraph.checkpoint.postgres", None)
    with pytest.raises(ConfigError, match="langgraph-checkpoint-postgres"):
        create_checkpointer()


def test_without_a_database_it_is_memory_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        first, second = create_checkpointer(), create_checkpointer()
    assert isinstance(first, InMemorySaver)
    assert first is not second
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_package_offers_its_names_and_no_others() -> None:
    assert set(threadkeep.__all__) >= {"DocumentCheckpointSaver", "create_checkpointer"}
    assert threadkeep.DocumentCheckpointSaver is DocumentCheckpointSaver
    assert dir(threadkeep) == sorted(threadkeep.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = threadkeep.nothing
