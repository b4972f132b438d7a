"""SIGKILL at every statement boundary leaves a readable thread, and no step is lost or repeated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crashes import scenes, steps
from tests.crashes.killing import survives
from tests.differential.test_savers import plain
from tests.servers.postgres import DURABLE, Databases, postgres_server

pytestmark = pytest.mark.timeout(300)

NEVER = 1_000_000
MOST = 200  # boundaries of one scene; one that has more does not end


@pytest.fixture(scope="module")
def durable_databases() -> Iterator[Databases]:
    """A server that waits for the disk, as a deployment's does."""
    with postgres_server(DURABLE) as databases:
        yield databases


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/c.db?synchronous=full"
        return
    databases: Databases = request.getfixturevalue("durable_databases")
    with databases.new() as made:
        yield made


def seen(url: str, *threads: str) -> list[Any]:
    """Read all there is of some threads with a saver opened anew, every value included."""
    driver = scenes.open_storage(url)
    try:
        saver = scenes.open_saver(driver)
        read = []
        for thread_id in threads:
            for one in saver.list({"configurable": {"thread_id": thread_id}}):
                assert saver.get_tuple(one.config) is not None
                ids = [
                    config and config["configurable"]["checkpoint_id"]
                    for config in (one.config, one.parent_config)
                ]
                said = (ids, one.checkpoint, one.metadata, one.pending_writes)
                read.append(plain([threads.index(thread_id), *said]))
        return read
    finally:
        driver.close()


@pytest.mark.parametrize("scene", scenes.SCENES)
def test_a_kill_at_every_statement_leaves_all_or_nothing(url: str, scene: str) -> None:
    driver = scenes.open_storage(url)
    saver = scenes.open_saver(driver)
    saver.setup()
    scenes.make_thread(saver, "whole")
    driver.documents().copy(saver._scope, "whole", "done")
    before = seen(url, "whole", "copy of whole")
    assert survives(scenes.play, url, scene, "done", NEVER)
    after = seen(url, "done", "copy of done")
    assert before != after
    for number in range(1, MOST):
        thread_id = f"killed at {number}"
        saver.copy_thread("whole", thread_id)
        survived = survives(scenes.play, url, scene, thread_id, number)
        left = seen(url, thread_id, f"copy of {thread_id}")
        assert left in (before, after)
        if left == before:
            assert survives(scenes.play, url, scene, thread_id, NEVER)
            assert seen(url, thread_id, f"copy of {thread_id}") == after
        if survived:
            break
    else:
        raise AssertionError(f"{scene} has more than {MOST} statements")
    assert number > 2
    driver.close()


def test_no_step_is_lost_or_done_again_once_its_writes_are_durable(
    url: str, tmp_path: Path
) -> None:
    driver = scenes.open_storage(url)
    scenes.open_saver(driver).setup()
    driver.close()
    for number in range(1, MOST):
        thread_id, ledger = f"killed at {number}", tmp_path / f"ledger {number}"
        survived = survives(steps.run_on, url, thread_id, ledger, number)
        killed = ledger.read_text().splitlines() if ledger.exists() else []
        if not survived:
            assert survives(steps.run_on, url, thread_id, ledger, NEVER)
        done = ledger.read_text().splitlines()
        log = steps.final_log(url, thread_id, ledger)
        assert sorted(log) == sorted(["input", *steps.NODES])
        for name in steps.NODES:
            times = done.count(f"ran {name}")
            assert times == 1 or (times == 2 and f"durable {name}" not in killed)
        if survived:
            break
    else:
        raise AssertionError("the run does not end")
    assert number > 10
