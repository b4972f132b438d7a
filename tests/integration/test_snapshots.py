"""A whole store moves from one database to another and back, and every row is the same."""

import asyncio
import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests import moving
from tests.damage import THREAD
from tests.postgres_resources import empty, tables
from threadkeep.cli.main import main
from threadkeep.drivers import memory, postgres, sqlite
from threadkeep.errors import CorruptionError, NotSupportedError, SchemaTooNewError, StorageError
from threadkeep.model.snapshots import KINDS
from threadkeep.ports.drivers import Driver, DriverOptions
from threadkeep.ports.transfer import Transfer, transfer_of
from threadkeep.rules.snapshot_lines import BLOCK_ROWS, Sums, line
from threadkeep.services import snapshots
from threadkeep.testing.resources.builders import OWNER, add_thread, enqueue
from threadkeep.testing.saver_steps import config

Opener = Callable[[str], Any]


def untold(_kind: str, _done: int) -> None:
    """Tell nobody."""


@pytest.fixture
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens an empty store on a kind of database; the same kind twice is the same database."""
    urls = {"sqlite": f"sqlite:///{tmp_path}/s.db", "other sqlite": f"sqlite:///{tmp_path}/o.db"}

    @contextmanager
    def opened(kind: str) -> Iterator[Driver]:
        if kind == "postgres":
            driver = postgres.open(request.getfixturevalue("postgres_url"), DriverOptions())
        else:
            driver = sqlite.open(urls[kind], DriverOptions())
        with closing(driver):
            driver.documents().setup()
            yield driver

    return opened


def fill(driver: Driver) -> None:
    moving.fill_documents(driver)
    asyncio.run(moving.fill_resources(driver))


def snapshot(driver: Driver) -> io.BytesIO:
    file = io.BytesIO()
    snapshots.write(transfer_of(driver), file, untold)
    return file


def restore(driver: Driver, file: io.BytesIO) -> snapshots.Compared:
    snapshots.restore(transfer_of(driver), file, untold)
    return snapshots.compare(transfer_of(driver), file)


def rows(driver: Driver, *, settled: bool = False) -> dict[str, list[Any]]:
    with transfer_of(driver).view() as view:
        found = {kind: list(view.rows(kind)) for kind in KINDS}
    if settled:
        return {kind: [KINDS[kind].settled(row) for row in all_] for kind, all_ in found.items()}
    return found


@pytest.mark.parametrize(
    ("source", "target"),
    [("sqlite", "postgres"), ("postgres", "sqlite"), ("sqlite", "other sqlite")],
)
def test_a_store_moves_row_by_row_and_back(source: str, target: str, opener: Opener) -> None:
    with opener(source) as old, opener(target) as new:
        fill(old)
        file = snapshot(old)
        contents = snapshots.check(file)
        assert all(contents.rows[kind] > 0 for kind in KINDS)
        assert snapshots.filled(transfer_of(new)) == []
        compared = restore(new, file)
        assert (compared.missing, compared.different) == ({}, {})
        assert compared.same == contents.rows
        assert rows(new) == rows(old)
        # What is told is the same, and goes on.
        asyncio.run(_goes_on(old, new))
        for thread_id, key in ((THREAD, None), ("thread ü 2", None), ("encrypted", moving.KEY)):
            reader, keeper = moving.saver_of(new, key=key), moving.saver_of(old, key=key)
            saved = list(reader.list(config(thread_id)))
            assert saved == list(keeper.list(config(thread_id)))
            assert saved
            assert [report.counts for report in reader.verify([thread_id])] == [{}]


async def _goes_on(old: Driver, new: Driver) -> None:
    before, after = old.resources(), new.resources()
    for number in range(3):
        assert await after.assistants.get(f"a{number}") == await before.assistants.get(f"a{number}")
    for number in range(30):
        assert await after.threads.get(f"t{number}") == await before.threads.get(f"t{number}")
    for run_id in ("r5", "r6", "r7", "r8", "r9"):
        assert await after.runs.get(run_id) == await before.runs.get(run_id)
    assert await after.crons.principal_of("c1") == {"identity": "somebody"}
    assert await after.deliveries.get("d1") == await before.deliveries.get("d1")
    running = await after.runs.get("r5")
    assert running is not None
    await after.runs.delete("r5")
    await enqueue(after, "r0", "t2")  # comes after those that were restored
    order = []
    for _ in range(4):
        (claimed,) = await after.runs.claim(OWNER, limit=5)
        order.append(claimed.run_id)
        await after.runs.delete(claimed.run_id)
    assert order == ["r8", "r7", "r6", "r0"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_view_is_of_one_moment(kind: str, opener: Opener) -> None:
    with opener(kind) as driver:
        asyncio.run(_add_threads(driver, 0, 100))
        with transfer_of(driver).view() as view:
            reading = view.rows("threads")
            first = next(reading)
            asyncio.run(_add_threads(driver, 100, 200))
            asyncio.run(_delete_thread(driver, "t50"))
            assert len([first, *reading]) == 100
            assert [*view.rows("runs")] == []
        with transfer_of(driver).view() as view:
            assert len([*view.rows("threads")]) == 199


async def _add_threads(driver: Driver, first: int, last: int) -> None:
    store = driver.resources()
    for number in range(first, last):
        await add_thread(store, f"t{number}")


async def _delete_thread(driver: Driver, thread_id: str) -> None:
    await driver.resources().threads.delete(thread_id)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_is_there_stays_and_what_is_not_is_added(kind: str, opener: Opener) -> None:
    with opener("other sqlite") as old, opener(kind) as new:
        asyncio.run(_make_runs(old, ["t1", "t2"], "r"))
        asyncio.run(_make_runs(new, ["t2", "t3"], "s"))
        compared = restore(new, snapshot(old))
        assert compared.missing == {}
        assert compared.different == {"threads": 1}  # t2 as it was there
        assert asyncio.run(_claimed(new)) == ["sa", "sb", "ra", "rb"]


async def _make_runs(driver: Driver, thread_ids: list[str], prefix: str) -> None:
    store = driver.resources()
    for thread_id in thread_ids:
        await add_thread(store, thread_id, metadata={"of": prefix})
    await enqueue(store, f"{prefix}a", "t2")
    await enqueue(store, f"{prefix}b", "t2")


async def _claimed(driver: Driver) -> list[str]:
    store, order = driver.resources(), []
    while claimed := await store.runs.claim(OWNER, limit=1):
        order.append(claimed[0].run_id)
        await store.runs.delete(claimed[0].run_id)
    return order


class Cut(Exception):
    """What a restore was cut off by."""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_restore_that_was_cut_off_goes_on(kind: str, opener: Opener) -> None:
    with opener("other sqlite") as old, opener(kind) as new:
        fill(old)
        file = snapshot(old)
        for after in range(1, 20, 4):
            with suppress(Cut):
                snapshots.restore(transfer_of(new), file, _cutting(after))
        compared = restore(new, file)
        assert (compared.missing, compared.different) == ({}, {})
        assert rows(new) == rows(old)


def _cutting(blocks: int) -> snapshots.Told:
    left = iter(range(blocks))

    def told(_kind: str, _done: int) -> None:
        if next(left, None) is None:
            raise Cut

    return told


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_row_without_what_it_names_is_refused_with_its_block(kind: str, opener: Opener) -> None:
    with opener(kind) as driver:
        asyncio.run(_make_runs(driver, ["t1", "t2"], "r"))
        runs = rows(driver)["runs"]
        asyncio.run(_delete_thread(driver, "t2"))
        transfer: Transfer = transfer_of(driver)
        with pytest.raises(StorageError, match="restore_runs"):
            transfer.restore("runs", runs)
        assert rows(driver)["runs"] == []
        assert transfer.restore("runs", []) == 0


def test_a_difference_is_found(opener: Opener) -> None:
    with opener("sqlite") as old, opener("other sqlite") as new:
        asyncio.run(_make_runs(old, ["t1", "t2"], "r"))
        file = snapshot(old)
        restore(new, file)
        asyncio.run(_delete_thread(new, "t2"))
        asyncio.run(_add_threads(new, 3, 5))
        compared = snapshots.compare(transfer_of(new), file)
        assert compared.missing == {"threads": 1, "runs": 2}
        assert compared.same == {"threads": 1}


def test_damage_of_a_file_is_found(opener: Opener) -> None:
    with opener("sqlite") as driver:
        asyncio.run(_make_runs(driver, ["t1", "t2"], "r"))
        whole = snapshot(driver).getvalue()
    lines = whole.splitlines(keepends=True)
    damaged = {
        "no snapshot": b"",
        "no snapshot of threadkeep": b"SQLite format 3\0" + whole,
        "ends too early": b"".join(lines[:-1]),
        "line 2 .* not as it was written": whole.replace(b'"t1"', b'"t9"', 1),
        "line 2 .* is gone": b"".join([lines[0], *lines[2:]]),
        f"line {len(lines)} .* is cut off": whole[:-1],
        "goes on after its end": whole + lines[-1],
    }
    for message, content in damaged.items():
        with pytest.raises(CorruptionError, match=message):
            snapshots.check(io.BytesIO(content))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["threads", [["t1"]]], "no rows of 'threads'"),
        (["moons", []], "no rows of 'moons'"),
        ({"b": "AA=="}, "no block"),
        ([{"b": "*"}, 1], "no JSON"),
        (["end", {}], "counts other rows"),
    ],
)
def test_a_block_of_another_form_is_refused(value: Any, message: str) -> None:
    sums = Sums()
    file = line({snapshots.FORMAT: 1, "made_at": "", "made_by": ""}, sums) + line(value, sums)
    with pytest.raises(CorruptionError, match=message):
        snapshots.check(io.BytesIO(file))


def test_a_file_of_a_newer_release_is_refused() -> None:
    with pytest.raises(SchemaTooNewError, match="version 2"):
        snapshots.check(io.BytesIO(line({snapshots.FORMAT: 2}, Sums())))


def test_a_store_in_memory_cannot_be_moved() -> None:
    with (
        closing(memory.open("memory://", DriverOptions())) as driver,
        pytest.raises(NotSupportedError, match="THREADKEEP_DATABASE_URL"),
    ):
        transfer_of(driver)


def test_no_table_is_left_out(postgres_url: str) -> None:
    """Each table is of a kind, a part of one, made of one, or of this database alone."""
    parts = {"run_requests", "run_leases", "item_lifetimes", "thread_search"}
    alone = {"document_leases"}  # whoever prunes or copies a thread just now
    assert {*tables()} - parts - alone == {*KINDS}
    with closing(postgres.open(postgres_url, DriverOptions())) as driver:
        driver.documents().setup()
        empty(postgres_url)
        assert snapshots.filled(transfer_of(driver)) == []


def test_memory_is_bounded_by_rows_and_not_by_the_store(opener: Opener, tmp_path: Path) -> None:
    with opener("sqlite") as old, opener("other sqlite") as new:
        asyncio.run(_add_items(old, 40, 1_000_000))
        path = tmp_path / "file"
        tracemalloc.start()
        try:
            with path.open("wb") as out:
                snapshots.write(transfer_of(old), out, untold)
            with path.open("rb") as file:
                assert snapshots.check(file).rows["items"] == 40
                snapshots.restore(transfer_of(new), file, untold)
                assert snapshots.compare(transfer_of(new), file).same == {"items": 40}
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert path.stat().st_size > 40_000_000
        assert peak < 16_000_000


async def _add_items(driver: Driver, count: int, size: int) -> None:
    store = driver.resources()
    for number in range(count):
        await store.items.put(("n",), f"k{number}", {"text": "x" * size})


def test_rows_lie_in_blocks(opener: Opener) -> None:
    with opener("sqlite") as driver:
        asyncio.run(_add_threads(driver, 0, BLOCK_ROWS + 1))
        lines = snapshot(driver).getvalue().splitlines()
        assert len(lines) == 4  # a header, two blocks, an end


def test_the_commands_plan_first(
    opener: Opener,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with opener("sqlite") as driver:
        fill(driver)
        kept = rows(driver)
    file, target = str(tmp_path / "all.snapshot"), f"sqlite:///{tmp_path}/new.db"
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", f"sqlite:///{tmp_path}/s.db")
    assert main(["snapshot", file, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == {kind: len(found) for kind, found in kept.items()}
    assert Path(file).stat().st_mode & 0o777 == 0o600
    assert main(["snapshot", file]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["restore", file, "--apply"]) == 2
    assert "the store has assistants" in capsys.readouterr().err

    monkeypatch.setenv("THREADKEEP_DATABASE_URL", target)
    assert main(["restore", file]) == 0
    assert "Nothing was written" in capsys.readouterr().out
    with closing(sqlite.open(target, DriverOptions())) as driver:
        assert snapshots.filled(transfer_of(driver)) == []
    assert main(["restore", file, "--apply"]) == 0
    assert "equal" in capsys.readouterr().out
    with closing(sqlite.open(target, DriverOptions())) as driver:
        assert rows(driver) == kept
    assert main(["restore", file, "--merge", "--apply", "--json"]) == 0
    plan, done = map(json.loads, capsys.readouterr().out.splitlines())
    assert plan["plan"]["store_has"] == list(KINDS)
    assert sum(done["written"].values()) == 0
    assert done["same"] == {kind: len(found) for kind, found in kept.items()}


def test_the_commands_say_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", f"sqlite:///{tmp_path}/s.db")
    (tmp_path / "damaged").write_bytes(b"?")
    for words, code, message in (
        (["restore", str(tmp_path / "absent")], 2, "cannot be read"),
        (["restore", str(tmp_path / "damaged")], 3, "no snapshot"),
        (["snapshot", str(tmp_path / "absent" / "file")], 2, "cannot be written"),
    ):
        assert main(words) == code
        assert message in capsys.readouterr().err
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", "memory://")
    assert main(["snapshot", str(tmp_path / "file")]) == 1
    assert "cannot be moved" in capsys.readouterr().err
    assert not (tmp_path / "file").exists()
