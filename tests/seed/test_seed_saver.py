"""Threads that naas-abi-core 3.1.0 stored, schema 1 and 2, are read as its own saver reads them."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from benchmarks.environments import python_with
from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import CorruptionError, NotSupportedError, StorageError
from threadkeep.ports.drivers import open_driver
from threadkeep.ports.seed_documents import SeedDriver
from threadkeep.savers.seed_saver import SeedSaver
from threadkeep.savers.serde import SafeSerializer

WRITER = Path(__file__).parent / "write_threads.py"
RELEASE = "naas-abi-core[nats]==3.1.0"
THREADS = ["asked", "continued", "new", "old"]

# A package index on a slow line is part of these tests.
pytestmark = [pytest.mark.timeout(900), pytest.mark.servers]


class Written:
    """A database of naas-abi-core, and what its own saver told of it."""

    def __init__(self, url: str, told: list[Any]) -> None:
        self.url, self.told = url, told


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    python = python_with("naas-abi-core-3.1.0", RELEASE)
    path = str(tmp_path_factory.mktemp("seed") / "documents.sqlite")
    url = f"sqlite:///{path}"
    if request.param == "postgres":
        path = request.getfixturevalue("postgres_module_url")
        url = f"{path}{'&' if '?' in path else '?'}schema=abi_document"
    done = subprocess.run(
        [python, WRITER, path], capture_output=True, text=True, timeout=600, cwd=WRITER.parent
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return Written(url, json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def saver(written: Written) -> Iterator[SeedSaver]:
    with closing(open_driver(written.url)) as driver:
        assert isinstance(driver, SeedDriver)
        yield SeedSaver(driver.seed_documents())


def places(saver: BaseCheckpointSaver[Any]) -> list[Any]:
    found = []
    for one in saver.list(None):
        parent = one.parent_config and one.parent_config["configurable"]["checkpoint_id"]
        at = one.config["configurable"]
        place = [at["thread_id"], at["checkpoint_ns"], at["checkpoint_id"], parent]
        found.append((place, one.checkpoint, one.metadata, one.pending_writes))
    return found


def test_all_is_read_as_its_own_saver_reads_it(written: Written, saver: SeedSaver) -> None:
    serde = SafeSerializer()
    theirs = []
    for *place, packed in written.told:
        said = serde.loads_typed(("msgpack", base64.b64decode(packed)))
        theirs.append((place, said[0], said[1], [tuple(each) for each in said[2]]))
    ours = places(saver)
    assert [one[0] for one in ours] == [one[0] for one in theirs]
    for mine, known in zip(ours, theirs, strict=True):
        assert mine[:3] == known[:3]
        assert sorted(mine[3], key=str) == sorted(known[3], key=str)
    assert saver.thread_ids() == THREADS
    assert {place[0] for place, *_ in theirs} == set(THREADS)


def test_one_checkpoint_is_read_by_its_place(saver: SeedSaver) -> None:
    listed = list(saver.list(None))
    for one in listed[:3] + listed[-3:]:
        assert saver.get_tuple(one.config) == one
    newest = saver.get_tuple({"configurable": {"thread_id": "new"}})
    assert newest == next(one for one in listed if one.config["configurable"]["thread_id"] == "new")
    assert saver.get_tuple({"configurable": {"thread_id": "none"}}) is None
    loops = [one for one in listed if one.metadata["source"] == "loop"]
    assert list(saver.list(None, filter={"source": "loop"})) == loops
    assert list(saver.list(None, filter={"source": "loop"}, limit=2)) == loops[:2]
    of_new = list(saver.list({"configurable": {"thread_id": "new"}}))
    assert (
        list(saver.list({"configurable": {"thread_id": "new"}}, before=of_new[1].config))
        == (of_new[2:])
    )


@pytest.mark.anyio
async def test_it_is_read_by_awaiting_callers_too(saver: SeedSaver) -> None:
    config: Any = {"configurable": {"thread_id": "old"}}
    listed = [one async for one in saver.alist(config)]
    assert listed == list(saver.list(config))
    assert await saver.aget_tuple(config) == listed[0]


def test_a_thread_goes_on_in_a_saver_of_ours(saver: SeedSaver) -> None:
    with DocumentCheckpointSaver.from_url("memory://") as ours:
        for one in reversed(list(saver.list({"configurable": {"thread_id": "asked"}}))):
            at: Any = one.parent_config or {
                "configurable": {"thread_id": "asked", "checkpoint_ns": ""}
            }
            ours.put(at, one.checkpoint, one.metadata, {})
            for task in dict.fromkeys(task for task, *_ in one.pending_writes or ()):
                of_task = [each[1:] for each in one.pending_writes or () if each[0] == task]
                ours.put_writes(one.config, of_task, task)
        copied = list(ours.list({"configurable": {"thread_id": "asked"}}))
        assert [one.checkpoint["id"] for one in copied] == [
            one.checkpoint["id"] for one in saver.list({"configurable": {"thread_id": "asked"}})
        ]


def test_nothing_is_written(saver: SeedSaver) -> None:
    for method in (saver.put, saver.put_writes, saver.delete_thread):
        with pytest.raises(NotSupportedError, match="only read"):
            method()


def test_a_database_that_is_none_is_told(tmp_path: Path) -> None:
    with closing(open_driver(f"sqlite:///{tmp_path}/other.db")) as driver:
        assert isinstance(driver, SeedDriver)
        with pytest.raises(StorageError, match="abi_documents"):
            SeedSaver(driver.seed_documents()).thread_ids()
    with closing(open_driver("memory://")) as memory:
        assert not isinstance(memory, SeedDriver)


def test_a_document_that_is_gone_is_told(written: Written, saver: SeedSaver) -> None:
    newest: Any = {"configurable": {"thread_id": "new"}}
    fetch = saver._documents.fetch

    class Lacking:
        find, threads = saver._documents.find, saver._documents.threads

        @staticmethod
        def fetch(namespace: str, collection: str, ids: list[str]) -> list[str]:
            return list(fetch(namespace, collection, ids))[1:]

    with pytest.raises(CorruptionError, match="is not stored"):
        SeedSaver(Lacking()).get_tuple(newest)  # type: ignore[arg-type]
