"""What a step may cost that changes a little of a large value: exact counts, on any machine."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.chat import prose
from tests.budgets.test_checkpoints import CountingStore
from threadkeep import DocumentCheckpointSaver
from threadkeep.ports.documents import REF_BYTES
from threadkeep.ports.drivers import open_driver
from threadkeep.testing.saver_steps import checkpoint, config

STEPS = 40
TEXT_STEP_BYTES = 1300  # 1 KB of prose, the pieces' addresses, the checkpoint
TABLE_STEP_BYTES = 1600  # one value of 150 bytes, its leaf, the nodes above it, the checkpoint


@pytest.fixture
def store() -> Iterator[CountingStore]:
    driver = open_driver("memory://")
    yield CountingStore(driver.documents())
    driver.close()


def handed(store: CountingStore) -> int:
    """Count the bytes of bodies and addresses handed over since the last time."""
    documents = [one for batch in store.inserts for one in (*batch.documents, *batch.replacing)]
    store.inserts.clear()
    return sum(len(one.body) + REF_BYTES * (1 + len(one.refs)) for one in documents)


def mean_step(
    store: CountingStore, value: Any, change: Callable[[Any, int], Any], *, writes: bool
) -> float:
    """Put a value, then change it step by step; return what a step handed over on average."""
    saver = DocumentCheckpointSaver(store)
    at = saver.put(config(), checkpoint({"v": value}, {"v": 1}), {}, {})
    handed(store)
    for step in range(2, 2 + STEPS):
        value = change(value, step)
        if writes:
            saver.put_writes(at, [("v", value)], "task")
        at = saver.put(at, checkpoint({"v": value}, {"v": step}), {}, {})
    cost = handed(store) / STEPS
    found = DocumentCheckpointSaver(store).get_tuple(at)
    assert found is not None
    assert repr(found.checkpoint["channel_values"]["v"]) == repr(value)
    return cost


def document(number: int) -> dict[str, Any]:
    return {"text": prose(f"document {number}", 120), "number": number}


def change_an_item(value: dict[str, Any], step: int) -> dict[str, Any]:
    """Change one, add one or delete one, anywhere."""
    rng = random.Random(step)
    key = rng.choice(list(value))
    if step % 4 == 0:
        return {name: inner for name, inner in value.items() if name != key}
    if step % 4 == 1:
        return value | {f"new-{step}": document(10**6 + step)}
    value[key] = document(10**6 + step)
    return value


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_a_step_on_a_dict_costs_the_same_at_any_number_of_keys(
    store: CountingStore, writes: bool, inside: bool
) -> None:
    def change(value: Any, step: int) -> Any:
        if inside:
            return {**value, "index": change_an_item(value["index"], step)}
        return change_an_item(value, step)

    costs = []
    for count in (100, 1000, 5000):
        value: Any = {f"doc-{number:05d}": document(number) for number in range(count)}
        if inside:
            value = {"rows": ["one"], "index": value}
        costs.append(mean_step(store, value, change, writes=writes))
        store = CountingStore(open_driver("memory://").documents())
    assert max(costs) < TABLE_STEP_BYTES
    assert costs[2] < 1.25 * costs[1]


def test_a_put_by_a_saver_that_knows_nothing_hands_over_what_is_new(store: CountingStore) -> None:
    value = {f"doc-{number:05d}": document(number) for number in range(1000)}
    at = DocumentCheckpointSaver(store).put(config(), checkpoint({"v": value}, {"v": 1}), {}, {})
    for step in range(2, 12):
        handed(store)
        value = change_an_item(value, step)
        saver = DocumentCheckpointSaver(store)
        at = saver.put(at, checkpoint({"v": value}, {"v": step}), {}, {})
        assert handed(store) < 2 * TABLE_STEP_BYTES


@pytest.mark.parametrize("kind", [str, bytes])
@pytest.mark.parametrize("writes", [False, True])
def test_a_step_on_a_text_costs_the_same_at_any_length(
    store: CountingStore, writes: bool, kind: type
) -> None:
    def add(value: Any, step: int) -> Any:
        more = prose(f"step {step}", 1000)
        return value + (more if kind is str else more.encode())

    costs = []
    for count in (100_000, 2_000_000):
        text = prose("text", 50_000) * (count // 50_000)
        value: Any = text if kind is str else text.encode()
        costs.append(mean_step(store, value, add, writes=writes))
        store = CountingStore(open_driver("memory://").documents())
    assert max(costs) < TEXT_STEP_BYTES
    assert costs[1] < 1.1 * costs[0]


def test_a_text_that_grows_by_a_word_at_a_time_is_not_stored_word_by_word(
    store: CountingStore,
) -> None:
    saver, at, text = DocumentCheckpointSaver(store), config(), prose("text", 4000)
    for step in range(400):
        text += f"word {step} "
        at = saver.put(at, checkpoint({"v": text}, {"v": step}), {}, {})
    read = DocumentCheckpointSaver(store).get_tuple(at)
    assert read is not None
    assert read.checkpoint["channel_values"]["v"] == text
    assert handed(store) < 400 * 700
