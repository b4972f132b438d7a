"""``verify`` finds each kind of planted damage and names it; repair mends it and says the price."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from tests.damage import PLANTED, SCOPE, THREAD, Damage, fill, stored
from threadkeep import DocumentCheckpointSaver
from threadkeep.checkpoints.findings import HARMLESS, KINDS, ThreadReport
from threadkeep.checkpoints.opaque import opaque_codec
from threadkeep.checkpoints.repair import RepairPlan
from threadkeep.cli.main import main
from threadkeep.drivers import postgres
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import CHECKPOINTS, DocumentStore, Find
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.services.verification import Verification, Verified
from threadkeep.testing.saver_steps import checkpoint, config, conversation

# Nothing may be taken from a thread that a newer release wrote, or of which nothing else is left.
UNMENDABLE = ("newer_format", "newer_row", "missing_shape", "mixed_up_thread")
STORES = ["memory", "sqlite", "postgres"]


@pytest.fixture(params=STORES)
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    if request.param == "postgres":
        opened = postgres.open(request.getfixturevalue("postgres_url"), DriverOptions())
    else:
        opened = open_driver(
            "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"
        )
    with closing(opened) as made:
        made.documents().setup()
        yield made


def saver_on(driver: Driver) -> DocumentCheckpointSaver:
    """Return a saver that knows nothing yet."""
    return DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())


def verify(store: DocumentStore, **options: Any) -> list[Verified]:
    return list(Verification(store, SCOPE, opaque_codec()).verify(**options))


def repaired(store: DocumentStore) -> list[Verified]:
    plans: list[RepairPlan] = []

    def show(_report: ThreadReport, plan: RepairPlan) -> bool:
        plans.append(plan)
        return True

    done = verify(store, plans=True, apply=show)
    for one in done:  # what was carried out is what was shown
        assert one.after is None or any(one.plan is plan for plan in plans)
    return done


def test_a_whole_store_has_no_findings(driver: Driver) -> None:
    saver = saver_on(driver)
    fill(saver)
    fill(saver, "thread-2", 2)
    saver.copy_thread(THREAD, "thread-3")
    saver.prune(["thread-3"], keep_last=3)
    saver.delete_thread("thread-2")
    reports = list(saver.verify())
    assert [report.thread_id for report in reports] == [THREAD, "thread-3"]
    assert all(report.counts == {} and report.documents > 50 for report in reports)
    assert list(saver.verify(["none"])) == [ThreadReport("none", 0, 0)]


@pytest.mark.anyio
async def test_the_awaiting_face_verifies_the_same(driver: Driver) -> None:
    saver = saver_on(driver)
    fill(saver)
    PLANTED_MISSING(stored(driver.documents()))
    reports = [report async for report in saver.averify()]
    assert reports == list(saver.verify())
    assert reports[0].counts["missing-document"] >= 1
    assert [report async for report in saver.averify([THREAD])] == reports


PLANTED_MISSING = next(damage for damage in PLANTED if damage.__name__ == "missing_element")


@pytest.mark.parametrize("damage", PLANTED, ids=lambda each: each.__name__)
def test_planted_damage_is_named_and_mended(driver: Driver, damage: Damage) -> None:
    fill(saver_on(driver))
    store = driver.documents()
    whole = saver_on(driver).get_tuple(config(THREAD))
    document = damage(stored(store))
    found = [finding for one in verify(store) for finding in one.report.findings]
    named = [(one.kind, one.thread_id, one.collection, one.key) for one in found]
    expected = PLANTED[damage], document.thread_id, document.collection, document.key
    assert expected in named
    assert all(one.is_whole for one in verify(store)) == (expected[0] in HARMLESS)
    done = repaired(store)
    if damage.__name__ in UNMENDABLE:
        assert [one.plan.actions for one in done if one.plan] == [[]]
        assert [bool(one.plan.beyond) for one in done if one.plan] == [True]
        assert verify(store)[-1].report.counts[PLANTED[damage]]
        return
    assert all(one.is_whole for one in done), [one.after for one in done]
    assert all(report.counts == {} for report in saver_on(driver).verify())
    read = saver_on(driver).get_tuple(config(THREAD))
    assert read is not None
    assert whole is not None
    if read != whole:
        said = [action.loses for one in done if one.plan for action in one.plan.actions]
        assert any(said)
        goes_on = saver_on(driver).put(read.config, *_next(read))
        after = saver_on(driver).get_tuple(goes_on)
        assert after is not None
        assert after.parent_config == read.config
    assert list(saver_on(driver).list(config(THREAD)))


def _next(read: Any) -> tuple[Any, Any, Any]:
    made = checkpoint({"small": 99}, {"small": 99})
    return made, {"source": "loop", "step": 99, "parents": {}}, {"small": 99}


def test_every_kind_of_damage_is_planted_somewhere() -> None:
    elsewhere = {"unreadable-row", "lost-history", "unreadable-checkpoint"}  # further down
    elsewhere |= {"wrong-key", "not-encrypted"}  # in test_encryption
    assert {*PLANTED.values()} | elsewhere == {*KINDS}


def test_a_lost_message_far_back_costs_that_message_and_no_turn(driver: Driver) -> None:
    fill(saver_on(driver))
    before = saver_on(driver).get_tuple(config(THREAD))
    PLANTED_MISSING(stored(driver.documents()))
    with pytest.raises(CorruptionError, match="channel 'messages'"):
        saver_on(driver).get_tuple(config(THREAD))
    (done,) = repaired(driver.documents())
    after = saver_on(driver).get_tuple(config(THREAD))
    assert before is not None
    assert after is not None
    left = after.checkpoint["channel_values"].pop("messages")
    whole = before.checkpoint["channel_values"].pop("messages")
    assert left == [each for each in whole if each in left]
    assert len(left) == len(whole) - 1
    assert after.checkpoint["channel_values"] == before.checkpoint["channel_values"]
    assert after.config == before.config
    assert done.plan is not None
    assert any("1 elements" in action.loses for action in done.plan.actions)


def test_an_unreadable_newest_checkpoint_lets_the_thread_go_on_from_its_parent(
    driver: Driver,
) -> None:
    fill(saver_on(driver))
    before = saver_on(driver).get_tuple(config(THREAD))
    next(each for each in PLANTED if each.__name__ == "changed_row")(stored(driver.documents()))
    (done,) = repaired(driver.documents())
    after = saver_on(driver).get_tuple(config(THREAD))
    assert before is not None
    assert after is not None
    assert after.config == before.parent_config
    assert done.plan is not None
    said = " ".join(action.does + action.loses for action in done.plan.actions)
    assert "goes on from" in said
    assert "step of the history" in said


def test_a_plan_that_is_not_applied_changes_nothing(driver: Driver) -> None:
    fill(saver_on(driver))
    for damage in PLANTED:
        if damage.__name__ in ("missing_element", "orphan_document", "other_parent"):
            damage(stored(driver.documents()))
    before = stored(driver.documents())
    (done,) = verify(driver.documents(), plans=True)
    assert done.plan is not None
    assert done.plan.actions
    assert done.after is None
    assert stored(driver.documents()).documents == before.documents


def test_a_checkpoint_put_after_the_plan_is_not_taken_out(driver: Driver) -> None:
    fill(saver_on(driver))
    store = driver.documents()
    next(each for each in PLANTED if each.__name__ == "changed_row")(stored(store))
    saver = saver_on(driver)
    broken = stored(store).newest()

    def put_meanwhile(*_: Any) -> bool:
        made = checkpoint({"small": 1}, {"small": 1})
        at = config(THREAD, checkpoint_id=str(broken.fields["parent_id"]))
        saver.put(at, made, {"source": "loop", "step": 50, "parents": {}}, {"small": 1})
        return True

    (done,) = verify(store, plans=True, apply=put_meanwhile)
    assert done.is_whole
    after = saver_on(driver).get_tuple(config(THREAD))
    assert after is not None
    assert after.checkpoint["channel_values"] == {"small": 1}


def test_what_is_written_while_it_is_read_is_no_damage(driver: Driver) -> None:
    saver = saver_on(driver)
    fill(saver)
    store = driver.documents()

    class Busy:
        """Puts a step before each page of checkpoints is read: what it names was read before."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def find(self, scope: Any, find: Find) -> Any:
            if find.collection == CHECKPOINTS and find.thread_id == THREAD:
                made = checkpoint({"messages": conversation(3)}, {"messages": 99})
                told: Any = {"source": "loop", "step": 99, "parents": {}}
                saver.put(config(THREAD), made, told, {"messages": 99})
            return store.find(scope, find)

    busy: Any = Busy()
    assert [one.report.counts for one in verify(busy)] == [{}]


def test_a_delta_channel_whose_history_is_damaged_is_told(driver: Driver) -> None:
    saver = saver_on(driver)
    at: Any = config(THREAD)
    for step in range(4):
        made = checkpoint({}, {"log": step + 1})
        if step == 0:
            made["channel_values"]["log"] = ["first " * 20]
        told: Any = {"source": "loop", "step": step, "counters_since_delta_snapshot": {"log": 1}}
        at = saver.put(at, made, told, {"log": step + 1})
        saver.put_writes(at, [("log", f"more {step} " * 20)], f"task {step}")
    thread = stored(driver.documents())
    damaged = thread.documents[CHECKPOINTS][1]
    thread.put(replace(damaged, fields={**damaged.fields, "step": 77}))
    (done,) = verify(driver.documents())
    assert done.report.counts == {"wrong-sum": 1, "lost-history": 2}
    assert all("'log'" in one.says for one in done.report.findings if one.kind == "lost-history")
    assert [one.is_whole for one in repaired(driver.documents())] == [True]
    after = saver_on(driver).get_tuple(config(THREAD))
    assert after is not None
    assert after.metadata["step"] == 0


DAMAGED_COLUMNS = [
    ("checkpoint_documents", "refs", b"12345"),
    ("checkpoint_documents", "source", b"\xff\xfe"),
    ("write_documents", "refs", b"1234567890123"),
    ("items", "refs", b"123"),
    ("blobs", "metadata", b"\xff{}"),
]


@pytest.mark.parametrize(("table", "column", "value"), DAMAGED_COLUMNS)
def test_a_row_that_the_file_cannot_be_read_from_is_named_and_passed_over(
    tmp_path: Path, table: str, column: str, value: bytes
) -> None:
    file = tmp_path / "s.db"
    names = {"items": "documents", "blobs": "document_metadata"}
    with closing(open_driver(f"sqlite:///{file}")) as driver:
        driver.documents().setup()
        fill(saver_on(driver))
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            where = f"{column} IS NOT NULL" if table != "blobs" else "true"
            row = f"SELECT rowid FROM documents WHERE {where}" if table == "items" else ""
            key = "rowid" if table == "items" else "(ns, id)" if "_" in table else "ref"
            inner = row or f"SELECT {key.strip('()')} FROM {names.get(table, table)} WHERE {where}"
            connection.execute(
                f"UPDATE {names.get(table, table)} SET {column} = ? "
                f"WHERE {key} IN ({inner} LIMIT 1 OFFSET 1)",
                (value,),
            )
        (done,) = verify(driver.documents(), plans=True)
        told = [one for one in done.report.findings if one.kind == "unreadable-row"]
        assert told
        assert all(one.thread_id == THREAD and one.key for one in told)
        assert done.report.documents > 100  # the others were looked at
        assert done.plan is not None
        assert done.plan.beyond


def test_the_command_tells_damage_plans_and_mends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", f"sqlite:///{tmp_path}/s.db")
    with closing(open_driver(f"sqlite:///{tmp_path}/s.db")) as driver:
        driver.documents().setup()
        fill(saver_on(driver))
        assert main(["verify"]) == 0
        assert "1 threads" in capsys.readouterr().out
        PLANTED_MISSING(stored(driver.documents()))
        assert main(["verify"]) == 3
        told = capsys.readouterr().out
        assert f"missing-document: thread {THREAD}, langgraph_items_v2" in told
        assert "threadkeep verify --repair" in told
        assert main(["verify", "--repair"]) == 3
        assert "lost: " in capsys.readouterr().out
        assert main(["verify", "--apply"]) == 2
        assert main(["verify", "--json", "--repair", "--thread", THREAD]) == 3
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [line["thread"] for line in lines[:-1]] == [THREAD]
        assert lines[0]["plan"]
        assert lines[-1]["counts"]["missing-document"] >= 1
        assert main(["verify", "--repair", "--apply"]) == 0
        assert main(["verify", "--json"]) == 0
        assert main(["verify", "--namespace", "other"]) == 0


def test_a_store_of_a_newer_schema_is_refused_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", f"sqlite:///{tmp_path}/s.db")
    assert main(["verify"]) == 0
    with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO threadkeep_migrations VALUES (999, 'later', 'now')")
    assert main(["verify"]) == 1
    assert "upgrade threadkeep" in capsys.readouterr().err


TRAP = """
class Trap:
    def __init_subclass__(cls): raise SystemExit("subclassed")
    def __new__(cls, *args): raise SystemExit("made")
raise SystemExit("imported")
"""

LOOK = """
import sys
from threadkeep.cli.main import main
code = main(["verify", "--repair"])
unwanted = {"trap_module", "langgraph.graph", "langchain_core.messages"} & {*sys.modules}
assert not unwanted, unwanted
sys.exit(code)
"""


@pytest.mark.parametrize("damaged", [False, True])
def test_who_looks_makes_no_value_and_imports_no_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, damaged: bool
) -> None:
    class Trap(BaseModel):
        text: str

    Trap.__module__, Trap.__qualname__ = "trap_module", "Trap"
    module = ModuleType("trap_module")
    module.Trap = Trap  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trap_module", module)
    with closing(open_driver(f"sqlite:///{tmp_path}/s.db")) as driver:
        driver.documents().setup()
        fill(saver_on(driver))
        values: Any = {"trap": Trap(text="t" * 99), "traps": [Trap(text="u" * 99)] * 9}
        made = checkpoint(values, {"trap": 1, "traps": 1})
        saver_on(driver).put(config(THREAD), made, {"source": "loop", "step": 1}, {})
        if damaged:
            PLANTED_MISSING(stored(driver.documents()))
    (tmp_path / "trap_module.py").write_text(TRAP)
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={
            **os.environ,
            "THREADKEEP_DATABASE_URL": f"sqlite:///{tmp_path}/s.db",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == (3 if damaged else 0), done.stderr + done.stdout
