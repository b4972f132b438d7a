"""Secrets of runs that wait: they reach the graph, and stand in no row in the clear."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from tests.integration.deployment import Deployment, body, deployed
from threadkeep.engine.secrets import SecretCipher, SecretKeeper
from threadkeep.errors import ConfigError, SecretsLostError
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import NewRun, Run
from threadkeep.model.threads import NewThread
from threadkeep.ports.drivers import DriverOptions, open_driver
from threadkeep.ports.resources import ResourceStore
from threadkeep.rules.run_changes import admitted
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.savers.store import ItemStore

pytestmark = pytest.mark.anyio

SECRET = "hunter2-correct-horse"
SHOWN = "small-model"
CONFIG = {
    "configurable": {"api_key": SECRET, "model": SHOWN},
    "metadata": {"auth_token": SECRET, "team": "a"},
}
DIGEST = hashlib.sha256(SECRET.encode()).hexdigest()


class State(TypedDict, total=False):
    seen: str
    model: str


def node(state: State, config: RunnableConfig) -> State:
    configurable = config["configurable"]
    secret: str = configurable.get("api_key", "nothing")
    return {"seen": hashlib.sha256(secret.encode()).hexdigest(), "model": configurable["model"]}


def graph() -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder


@dataclass(frozen=True)
class File:
    """A SQLite file, opened once for all that share it."""

    path: Path
    resources: ResourceStore
    saver: DocumentCheckpointSaver
    store: ItemStore

    def bytes(self) -> bytes:
        """Return all that is in the file and beside it."""
        return b"".join(each.read_bytes() for each in self.path.parent.glob(self.path.name + "*"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    path = tmp_path / "secrets.db"
    driver = open_driver(f"sqlite:///{path}", DriverOptions())
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    saver.setup()
    resources = driver.resources()
    yield File(path, resources, saver, ItemStore(resources))
    driver.close()


def on(file: File, owner: str, **given: Any) -> Any:
    return deployed({"g": graph()}, file.resources, file.saver, file.store, owner=owner, **given)


def request(**given: Any) -> RunRequest:
    return RunRequest("g", "t1", input={"seen": ""}, config=CONFIG, **given)


async def queued(file: File, **given: Any) -> Run:
    """Have a process make a run, and end before it has begun."""
    async with on(file, "maker", has_background=False, **given) as maker:
        await file.resources.threads.create(NewThread("t1", {}))
        made: Run = await maker.runs.create(request(after_seconds=0.2))
        return made


async def ended(other: Deployment, run: Run) -> Any:
    return await other.runs.join("t1", run.run_id)


@pytest.mark.parametrize("key", [None, "a key of many characters"])
async def test_a_secret_reaches_the_graph_and_no_row(file: File, key: str | None) -> None:
    cipher = SecretCipher(key) if key else None
    async with on(file, "one", cipher=cipher) as here:
        await file.resources.threads.create(NewThread("t1", {}))
        run = await here.runs.create(request(after_seconds=0.1))
        assert SECRET not in repr(await file.resources.runs.get(run.run_id))
        assert SECRET.encode() not in file.bytes()
        result = await ended(here, run)
        assert result.run.status == "success"
        thread = await file.resources.threads.get("t1")
        assert thread is not None
        assert thread.values == {"seen": DIGEST, "model": SHOWN}
        assert thread.config["configurable"] == {"model": SHOWN}
        waited = await here.runs.wait(request())
        assert body(waited)["seen"] == DIGEST
        assert SECRET not in repr(await file.resources.runs.get(run.run_id))
    assert SECRET.encode() not in file.bytes()


async def test_a_run_taken_over_without_its_secrets_ends_and_says_so(file: File) -> None:
    run = await queued(file)
    async with on(file, "other") as other:
        result = await ended(other, run)
    assert (result.run.status, result.run.reason) == ("error", "secrets_lost")
    assert result.run.error["error"] == "SecretsLostError"
    assert SECRET not in repr(result)
    thread = await file.resources.threads.get("t1")
    assert thread is not None
    assert thread.status == "error"


async def test_a_run_taken_over_by_a_process_with_the_key_has_its_secrets(file: File) -> None:
    run = await queued(file, cipher=SecretCipher("a key of many characters"))
    async with on(file, "other", cipher=SecretCipher("a key of many characters")) as other:
        assert (await ended(other, run)).run.status == "success"
    thread = await file.resources.threads.get("t1")
    assert thread is not None
    assert thread.values == {"seen": DIGEST, "model": SHOWN}


@pytest.mark.parametrize("key", [None, "another key of characters"])
async def test_a_process_without_the_key_ends_the_run_and_says_so(
    file: File, key: str | None
) -> None:
    run = await queued(file, cipher=SecretCipher("a key of many characters"))
    async with on(file, "other", cipher=SecretCipher(key) if key else None) as other:
        result = await ended(other, run)
    assert (result.run.status, result.run.reason) == ("error", "secrets_lost")
    assert "THREADKEEP_SECRET_KEY" in result.run.error["message"]


async def test_a_run_without_secrets_is_taken_over_by_anybody(file: File) -> None:
    async with on(file, "maker", has_background=False) as maker:
        await file.resources.threads.create(NewThread("t1", {}))
        plain = {"configurable": {"model": SHOWN}}
        asked = RunRequest("g", "t1", input={"seen": ""}, config=plain, after_seconds=0.1)
        run = await maker.runs.create(asked)
    async with on(file, "other") as other:
        assert (await ended(other, run)).run.status == "success"


def row_of(run_id: str, kwargs: Any) -> Run:
    return admitted(NewRun(run_id, "t1", "a", kwargs), datetime(2030, 1, 1, tzinfo=UTC))


def test_an_encrypted_secret_opens_in_its_own_row_only() -> None:
    cipher = SecretCipher("a key of many characters")
    keeper = SecretKeeper(cipher)
    hidden = keeper.hide("r1", {"config": CONFIG, "context": {"password": SECRET}})
    again = keeper.hide("r1", {"config": CONFIG, "context": {"password": SECRET}})
    assert hidden["sealed"] != again["sealed"]
    found = keeper.reveal(row_of("r1", hidden)).kwargs
    assert found == {"config": CONFIG, "context": {"password": SECRET}}
    with pytest.raises(SecretsLostError):
        keeper.reveal(row_of("r2", hidden))


def test_a_key_that_is_too_short_is_refused() -> None:
    with pytest.raises(ConfigError, match="THREADKEEP_SECRET_KEY has 5"):
        SecretCipher("short")
