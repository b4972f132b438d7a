"""Runs whose checkpoints a database loses: they are no success, wherever one looks."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration import engine_graphs as made
from tests.integration.deployment import body, deployed
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.errors import UnavailableError
from threadkeep.model.requests import RunRequest
from threadkeep.ports.drivers import Driver, open_driver
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.savers.store import ItemStore

pytestmark = pytest.mark.anyio

LOSE = """CREATE TRIGGER lose BEFORE INSERT ON checkpoint_documents
    BEGIN SELECT RAISE(ABORT, 'no room for checkpoints'); END"""


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    opened = open_driver(f"sqlite:///{tmp_path / 'runs.db'}")
    yield opened
    opened.close()


def other_process(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        connection.execute(statement)
        connection.commit()


def steps_and(act: Callable[[], Any]) -> Any:
    """Return a graph of which a node does something that its checkpoints suffer from."""

    async def node(state: made.Log) -> made.Log:
        if state["log"] == ["lose"]:
            act()
        return {"log": ["done"]}

    return made.one_node(node)


async def test_a_run_whose_checkpoints_are_lost_apart_from_its_settle_is_no_success(
    driver: Driver, tmp_path: Path
) -> None:
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    resources = driver.resources()
    graphs = {"lossy": steps_and(lambda: other_process(tmp_path, LOSE))}
    async with deployed(graphs, resources, saver, ItemStore(resources)) as site:
        thread_id = await site.new_thread("thread")
        lost = await site.runs.wait(RunRequest("lossy", thread_id, input={"log": ["lose"]}))
        row = await site.runs.get(thread_id, lost.run.run_id)
        thread = await site.thread(thread_id)
        assert "no room for checkpoints" in body(lost)["__error__"]["message"]
        assert (lost.run.status, row.status, thread.status) == ("error", "error", "error")
        assert row.error == thread.error == body(lost)["__error__"]

        other_process(tmp_path, "DROP TRIGGER lose")
        after = await site.runs.wait(RunRequest("lossy", thread_id, input={"log": ["c"]}))
        assert after.run.status == "success"
        assert (await site.thread(thread_id)).status == "idle"


async def test_checkpoints_that_were_lost_stay_lost_when_the_settle_is_tried_again(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[bool] = []
    write = SqliteDatabase.write

    async def busy_once(database: SqliteDatabase, work: Any) -> Any:
        if "settle" in work.__qualname__ and not refused:
            refused.append(True)
            raise UnavailableError("sqlite: database is locked")
        return await write(database, work)

    monkeypatch.setattr(SqliteDatabase, "write", busy_once)
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    resources = driver.resources()
    graphs = {"lossy": steps_and(lambda: other_process(tmp_path, LOSE))}
    async with deployed(graphs, resources, saver, ItemStore(resources)) as site:
        thread_id = await site.new_thread("thread")
        lost = await site.runs.wait(RunRequest("lossy", thread_id, input={"log": ["lose"]}))
        row = await site.runs.get(thread_id, lost.run.run_id)
    assert refused
    assert (lost.run.status, row.status) == ("error", "error")


async def test_a_saver_on_another_database_is_waited_for_before_the_settle(
    driver: Driver, tmp_path: Path
) -> None:
    async with DocumentCheckpointSaver.from_url(f"sqlite:///{tmp_path}/apart.db") as saver:
        resources = driver.resources()
        graphs = {"steps": made.steps(3)}
        async with deployed(graphs, resources, saver, ItemStore(resources)) as site:
            thread_id = await site.new_thread("thread")
            result = await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
            assert result.run.status == "success"
            assert len((await site.state("steps", thread_id)).values["log"]) == 3
