"""A reader that shares no code with ours, written from the page, answers what the saver answers."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from tests.goldens.contents import SCOPE
from tests.independent_reader import Ext, Store
from tests.integration.test_goldens import FILES, documents_of
from threadkeep import DocumentCheckpointSaver
from threadkeep.drivers import postgres
from threadkeep.ports.documents import Batch
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.testing.saver_steps import checkpoint, config

SEEDS = range(4)
WORDS = ("alpha", "beta", "grün", "\x00", "\udc80 alone", "x" * 50, "long " * 400)


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Driver, str]]:
    if request.param == "postgres":
        where = request.getfixturevalue("postgres_url")
        opened = postgres.open(where, DriverOptions())
    else:
        where = str(tmp_path / "s.db")
        opened = open_driver(f"sqlite:///{where}")
    with closing(opened) as driver:
        driver.documents().setup()
        yield driver, where


def on_disk(value: Any) -> Any:
    """State a value as the independent reader does."""
    if isinstance(value, BaseMessage):
        kind = type(value)
        return Ext(5, [kind.__module__, kind.__name__, on_disk(value.__dict__), "…"])
    if isinstance(value, dict):
        return {key: on_disk(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return Ext(16, [on_disk(inner) for inner in value])
    if isinstance(value, list):
        return [on_disk(inner) for inner in value]
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        return Ext(17, value.encode("utf-8", "surrogatepass"))
    return value


def same(told: Any) -> Any:
    """Leave out what has no use: the last text of a message, which method LangGraph calls."""
    if isinstance(told, Ext) and told.code == 5:
        return Ext(5, [*(same(each) for each in told.payload[:3]), "…"])
    if isinstance(told, Ext) and told.code == 18:
        return int.from_bytes(told.payload, "big", signed=True)
    if isinstance(told, Ext):
        return Ext(told.code, same(told.payload))
    if isinstance(told, dict):
        return {key: same(inner) for key, inner in told.items()}
    return [same(each) for each in told] if isinstance(told, list) else told


class Talk:
    """Random conversations."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.messages: list[Any] = []
        self.facts: dict[str, Any] = {}
        self.log = ""

    def value(self, depth: int = 2) -> Any:
        kinds: list[Any] = [None, True, self.chance.randrange(-9, 2**70), 1.5, b"raw" * 30]
        kinds += [self.chance.choice(WORDS)] * 3
        if depth:
            inner = [self.value(depth - 1) for _ in range(self.chance.randrange(4))]
            kinds += [inner, tuple(inner), {f"k{at}": one for at, one in enumerate(inner)}]
        return self.chance.choice(kinds)

    def step(self) -> dict[str, Any]:
        for _ in range(self.chance.randrange(4)):
            words = " ".join(self.chance.choices(WORDS[:3], k=20))
            kind = self.chance.choice([HumanMessage, AIMessage])
            self.messages.append(kind(words, id=str(len(self.messages))))
        if self.chance.random() < 0.3:
            self.messages.append(ToolMessage("found " * 30, tool_call_id="c", id="t"))
        for _ in range(self.chance.randrange(30)):
            self.facts[f"fact {self.chance.randrange(200)}"] = self.value()
        self.log += "more text of a log that grows " * self.chance.randrange(60)
        names = [name for name in ("any", "other", "odd é") if self.chance.random() < 0.6]
        return {
            "messages": list(self.messages),
            "facts": dict(self.facts),
            "log": self.log,
            "by key": {"list": [self.value(), "z" * 70], "text": self.log[:1500]},
            **{name: self.value() for name in names},
        }


def fill(driver: Driver, seed: int) -> None:
    talk = Talk(seed)
    saver = DocumentCheckpointSaver(driver.documents())
    at: Any = config(f"thread {seed}")
    for step in range(12):
        values = talk.step()
        numbers: Any = dict.fromkeys(values, step + 1 if seed % 2 else f"{step + 1:032}.0.5")
        made = checkpoint(values, numbers)
        told: Any = {"source": "loop", "step": step, "run_id": f"r{step // 4}", "parents": {}}
        if talk.chance.random() < 0.3:
            told["odd"] = talk.value()
        at = saver.put(at, made, told, numbers)
        writes = [(name, value) for name, value in values.items() if talk.chance.random() < 0.4]
        saver.put_writes(at, [*writes, ("__error__", "e" * 60)], f"task {step}", f"path {step % 3}")
        if talk.chance.random() < 0.2:
            saver = DocumentCheckpointSaver(driver.documents())
    if seed == 2:
        saver.prune([f"thread {seed}"], keep_last=5)


def compare(driver: Driver, where: str) -> int:
    saver = DocumentCheckpointSaver(driver.documents())
    compared = 0
    for thread in Store(where).threads():
        assert (thread.namespace, thread.agent_id) == (SCOPE.namespace, SCOPE.agent_id)
        for told in thread.checkpoints():
            read = saver.get_tuple(config(thread.name, told["ns"], checkpoint_id=told["id"]))
            assert read is not None
            made: Any = dict(read.checkpoint)
            assert told["id"] == made["id"]
            assert (told["v"], told["ts"]) == (made["v"], made["ts"])
            assert told["versions"] == made["channel_versions"]
            assert told["seen"] == made["versions_seen"]
            assert told["updated"] == made["updated_channels"]
            assert same(told["values"]) == same(on_disk(made["channel_values"]))
            assert same(told["metadata"]) == same(on_disk(read.metadata))
            parent = (
                read.parent_config["configurable"]["checkpoint_id"] if read.parent_config else None
            )
            assert told["parent"] == parent
            pending = [[*each] for each in read.pending_writes or ()]
            assert same([[*each] for each in told["writes"]]) == same(on_disk(pending))
            assert told["extras"].keys() == {each for each in made if each == "pending_sends"}
            compared += 1
    return compared


def test_random_conversations_are_read_alike(stored: tuple[Driver, str]) -> None:
    driver, where = stored
    for seed in SEEDS:
        fill(driver, seed)
    assert compare(driver, where) == 12 * len(SEEDS) - 7


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden_files_are_read_alike(stored: tuple[Driver, str], file: Path) -> None:
    driver, where = stored
    driver.documents().insert(SCOPE, Batch(replacing=documents_of(file)))
    assert compare(driver, where) == 6
