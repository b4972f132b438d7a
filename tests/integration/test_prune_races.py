"""Prunes and deletions beside writes and reads: each order is forced, on each driver.

``Until`` drives steps by hand up to a request, so that something else can come before it.
"""

import random
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from tests.postgres_savers import opened_saver
from threadkeep import DocumentCheckpointSaver
from threadkeep.checkpoints.get import get
from threadkeep.checkpoints.prune import Retention, prune
from threadkeep.checkpoints.put import put as put_steps
from threadkeep.checkpoints.steps import Fetch, Insert, Prune, Steps, perform
from threadkeep.checkpoints.writes import put_writes as put_writes_steps
from threadkeep.errors import NotFoundError
from threadkeep.testing.saver_steps import checkpoint, config, conversation

LARGE = random.Random(3).randbytes(2_500_000).hex()  # more than two requests hold


class Until:
    """Drives steps until they make a request, and to their end when told to go on."""

    def __init__(
        self, saver: DocumentCheckpointSaver, steps: Steps[Any], request: Any, count: int = 1
    ) -> None:
        self._saver, self._steps = saver, steps
        self._held = steps.send(None)
        while True:
            count -= isinstance(self._held, request)
            if count == 0:
                return
            self._held = steps.send(self._answer())

    def go_on(self) -> Any:
        while True:
            try:
                self._held = self._steps.send(self._answer())
            except StopIteration as done:
                return done.value

    def _answer(self) -> Any:
        return perform(self._held, self._saver._documents, self._saver._scope)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentCheckpointSaver]:
    if request.param == "postgresql":
        with opened_saver(request.getfixturevalue("postgres_module_url")) as saver:
            yield saver
        return
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"
    with DocumentCheckpointSaver.from_url(url) as saver:
        yield saver


def put(
    saver: DocumentCheckpointSaver, values: dict[str, Any], at: RunnableConfig | None, version: int
) -> RunnableConfig:
    made = checkpoint(values, dict.fromkeys(values, version))
    return saver.put(at or config(), made, {"source": "loop", "step": version}, {})


def start_put(
    saver: DocumentCheckpointSaver, values: dict[str, Any], at: RunnableConfig, version: int
) -> tuple[Steps[None], RunnableConfig]:
    made = checkpoint(values, dict.fromkeys(values, version))
    request = saver._put(at, made, {"source": "loop", "step": version})
    return put_steps(request, saver._codec(), saver._known), config(checkpoint_id=made["id"])


def chain(saver: DocumentCheckpointSaver, lengths: list[int]) -> list[RunnableConfig]:
    at: list[RunnableConfig] = []
    for version, length in enumerate(lengths):
        values = {"m": conversation(length), "x": f"text {length} " * 20}
        at.append(put(saver, values, at[-1] if at else None, version + 1))
    return at


def fresh(saver: DocumentCheckpointSaver) -> DocumentCheckpointSaver:
    """Another process's saver: it knows nothing yet."""
    scope = saver._scope
    return DocumentCheckpointSaver(
        saver._documents, namespace=scope.namespace, agent_id=scope.agent_id
    )


def values_of(saver: DocumentCheckpointSaver, at: RunnableConfig | None = None) -> Any:
    found = fresh(saver).get_tuple(at or config())
    assert found is not None
    return found.checkpoint["channel_values"]


def expected(length: int) -> dict[str, Any]:
    return {"m": conversation(length), "x": f"text {length} " * 20}


def test_a_fork_put_before_the_delete_is_planned_for(saver: DocumentCheckpointSaver) -> None:
    at = chain(saver, [30, 3])
    pruning = Until(saver, prune("t1", Retention(), saver._codec()), Prune)
    fork = put(saver, expected(30), at[0], 9)
    assert pruning.go_on().done
    assert values_of(saver, fork) == expected(30)
    assert [one.config for one in saver.list(config())] == [fork]
    assert values_of(saver) == expected(30)


def test_a_follower_of_the_head_put_before_the_delete_changes_nothing(
    saver: DocumentCheckpointSaver,
) -> None:
    at = chain(saver, [30, 3])
    pruning = Until(saver, prune("t1", Retention(), saver._codec()), Prune)
    new = put(saver, expected(30), at[1], 9)  # what only the pruned step has comes back
    assert pruning.go_on().checkpoints == 1
    assert values_of(saver, new) == expected(30)
    assert values_of(saver, at[1]) == expected(3)


@pytest.mark.parametrize("parent", [0, 1])
@pytest.mark.parametrize("cold", [False, True])
def test_a_put_decided_on_before_the_delete_and_sent_after_it_is_whole(
    saver: DocumentCheckpointSaver, parent: int, cold: bool
) -> None:
    at = chain(saver, [30, 3])
    writer = fresh(saver) if cold else saver
    steps, made = start_put(writer, expected(30), at[parent], 9)
    putting = Until(writer, steps, Insert)
    saver.prune(["t1"])
    putting.go_on()
    assert values_of(saver, made) == expected(30)
    assert values_of(saver, at[1]) == expected(3)


def test_what_went_ahead_of_a_put_and_was_pruned_is_sent_again(
    saver: DocumentCheckpointSaver,
) -> None:
    at = chain(saver, [3, 5])
    steps, made = start_put(saver, {"m": conversation(5), "x": LARGE}, at[1], 9)
    putting = Until(saver, steps, Insert, count=2)
    saver.prune(["t1"])
    putting.go_on()
    assert values_of(saver, made) == {"m": conversation(5), "x": LARGE}


def test_what_went_ahead_of_the_first_put_and_was_pruned_is_sent_again(
    saver: DocumentCheckpointSaver,
) -> None:
    steps, made = start_put(saver, {"x": LARGE}, config(), 1)
    putting = Until(saver, steps, Insert, count=2)
    chain(saver, [3, 5])
    saver.prune(["t1"])
    putting.go_on()
    assert values_of(saver, made) == {"x": LARGE}


@pytest.mark.parametrize("value", ["text 30 " * 20, LARGE])
def test_writes_decided_on_before_the_delete_are_whole(
    saver: DocumentCheckpointSaver, value: str
) -> None:
    at = chain(saver, [30, 3])
    request = saver._put_writes(at[0], [("x", value), ("m", conversation(30))], "task", "")
    writing = Until(saver, put_writes_steps(request, saver._codec(), saver._known), Insert)
    saver.prune(["t1"])
    writing.go_on()
    again = checkpoint({}, {}, id=at[0]["configurable"]["checkpoint_id"])
    saver.put(config(), again, {}, {})
    found = fresh(saver).get_tuple(at[0])
    assert found is not None
    assert [text for _, _, text in found.pending_writes or ()] == [value, conversation(30)]


def test_values_of_replaced_writes_are_not_relied_on(saver: DocumentCheckpointSaver) -> None:
    at = chain(saver, [3, 5])
    saver.put_writes(at[1], [("__resume__", "answer " * 30)], "task")
    saver.put_writes(at[1], [("__resume__", "other " * 30)], "task")
    saver.put_writes(at[1], [("x", "first " * 30)], "task")
    saver.put_writes(at[1], [("x", "second " * 30)], "task")
    saver.prune(["t1"])
    values = {"m": ["answer " * 30, "second " * 30], "x": "answer " * 30}
    assert values_of(saver, put(saver, values, at[1], 9)) == values


def test_a_read_during_a_prune_is_of_before_or_of_after(saver: DocumentCheckpointSaver) -> None:
    at = chain(saver, [30])
    reader = fresh(saver)
    reading = Until(reader, get("t1", "", None, reader._codec(), reader._known), Fetch)
    put(saver, expected(3), at[0], 9)
    saver.prune(["t1"])
    assert reading.go_on().checkpoint["channel_values"] == expected(3)
    reader = fresh(saver)
    reading = Until(reader, get("t1", "", None, reader._codec(), reader._known), Fetch)
    saver.delete_thread("t1")
    assert reading.go_on() is None


def test_a_plan_beside_another_prune_is_made_anew(saver: DocumentCheckpointSaver) -> None:
    at: RunnableConfig | None = None
    for version in range(6):
        made = checkpoint({"x": f"{version} " * 50}, {"x": version})
        at = saver.put(at or config(), made, {"run_id": f"run {version}"}, {})
    pruning = Until(saver, prune("t1", Retention(2), saver._codec()), Fetch)
    saver.prune(["t1"], keep_last=1)
    assert pruning.go_on().done
    assert len(list(saver.list(config()))) == 1


def test_nothing_to_prune_is_found_out_by_one_request_a_schema(
    saver: DocumentCheckpointSaver,
) -> None:
    chain(saver, [3, 5, 7])
    for retention in (Retention(3), Retention(1, before=1)):
        steps = prune("t1", retention, saver._codec())
        finds = [steps.send(None)]
        finds.append(steps.send(perform(finds[0], saver._documents, saver._scope)))
        with pytest.raises(StopIteration):
            steps.send(perform(finds[1], saver._documents, saver._scope))
        assert [find.bodies for find in finds] == [False, False]  # type: ignore[union-attr]


async def opened(path: Path) -> AsyncIterator[DocumentCheckpointSaver]:
    async with DocumentCheckpointSaver.from_url(f"sqlite:///{path}/s.db") as saver:
        yield saver


@pytest.mark.anyio
@pytest.mark.parametrize("parent", [0, 1])
async def test_a_staged_put_is_seen_by_a_prune_after_it(tmp_path: Path, parent: int) -> None:
    async for saver in opened(tmp_path):
        at = chain(saver, [30, 3])
        staged = saver.staged()
        made = checkpoint(expected(30), dict.fromkeys(expected(30), 9))
        new = await staged.aput(at[parent], made, {"source": "loop"}, {})
        await saver.aprune(["t1"])
        await staged.flush()
        assert values_of(saver, new) == expected(30)
        assert len([one async for one in saver.alist(config())]) == 1


def test_another_process_does_not_bring_a_deleted_thread_back(
    saver: DocumentCheckpointSaver,
) -> None:
    at = chain(saver, [3, 5])
    worker = fresh(saver)  # its run began long ago, and it has forgotten what it knew
    saver.delete_thread("t1")
    with pytest.raises(NotFoundError):
        worker.put_writes(at[1], [("x", "late")], "task")
    with pytest.raises(NotFoundError):
        put(worker, expected(7), at[1], 9)
    parents = {"": at[1]["configurable"]["checkpoint_id"]}
    with pytest.raises(NotFoundError):
        worker.put(config(namespace="child:1"), checkpoint({}, {}), {"parents": parents}, {})
    assert not worker._documents.measure(worker._scope, "t1")
    new = put(worker, expected(2), None, 1)
    for late in (worker, fresh(saver), saver):
        with pytest.raises(NotFoundError):
            late.put_writes(at[1], [("x", "late")], "task")
        with pytest.raises(NotFoundError):
            put(late, expected(7), at[1], 9)
    newer = put(fresh(saver), expected(3), new, 2)
    fresh(saver).put_writes(newer, [("x", "early")], "task")
    assert [one.config for one in saver.list(config())] == [newer, new]


def test_young_checkpoints_of_a_pruned_thread_stay(saver: DocumentCheckpointSaver) -> None:
    at = chain(saver, [3, 5, 7])
    saver.prune(["t1"], older_than=timedelta(days=1))
    assert [one.config for one in saver.list(config())] == at[::-1]
