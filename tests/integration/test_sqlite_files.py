"""A SQLite file shared by processes, killed, set up at once, or of another release."""

import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import SqliteDocumentStore
from threadkeep.errors import ConfigError, SchemaTooNewError, StorageError
from threadkeep.ports.documents import CHECKPOINTS, ITEMS, Batch, Below, Find, Pruning, Scope
from threadkeep.ports.drivers import open_driver
from threadkeep.testing.builders import address, blob, checkpoint, checkpoint_id, item

SCOPE = Scope("tests", "agent.v1")
PREAMBLE = """
import asyncio, os, sys
from pathlib import Path
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import AsyncSqliteDocumentStore, SqliteDocumentStore
from threadkeep.errors import StorageError
from threadkeep.ports.documents import ITEMS, Batch, Find, Scope
from threadkeep.testing.builders import address, checkpoint, item

SCOPE = Scope("tests", "agent.v1")
database = SqliteDatabase(Address(Path(sys.argv[1])))
store = SqliteDocumentStore(database)
"""


def started(script: str, *arguments: object) -> "subprocess.Popen[str]":
    """Run a script in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: "subprocess.Popen[str]") -> str:
    """Wait for a script that must succeed; return what it printed."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def opened(path: Path) -> SqliteDocumentStore:
    return SqliteDocumentStore(SqliteDatabase(Address(path)))


def raw_bytes_of(folder: Path) -> bytes:
    """Read the files in another process: closing one here would drop SQLite's own locks."""
    script = "import sys; [sys.stdout.buffer.write(open(f, 'rb').read()) for f in sys.argv[1:]]"
    command = [sys.executable, "-c", script, *map(str, folder.iterdir())]
    return subprocess.run(command, check=True, capture_output=True).stdout


def test_four_processes_set_a_fresh_file_up_at_once(tmp_path: Path) -> None:
    script = """
        store.setup()
        store.insert(SCOPE, Batch([item(int(sys.argv[2]))]))
        store.close()
    """
    path = tmp_path / "folder" / "d.db"
    for process in [started(script, path, number) for number in range(4)]:
        finished(process)
    store = opened(path)
    assert store.count(SCOPE, Find(ITEMS)) == 4
    store.close()


def test_two_processes_write_one_thread_at_once(tmp_path: Path) -> None:
    script = """
        store.setup()
        first = int(sys.argv[2])
        for number in range(first, first + 150):
            batch = Batch([item(number), item(9999)], [checkpoint(number)])
            assert store.insert(SCOPE, batch).written
        store.close()
    """
    path = tmp_path / "d.db"
    for process in [started(script, path, first) for first in (0, 1000)]:
        finished(process)
    store = opened(path)
    assert store.count(SCOPE, Find(ITEMS)) == 301
    assert store.count(SCOPE, Find(CHECKPOINTS)) == 300
    store.close()


WRITE_FOREVER = """
    store.setup()

    def batch(number):
        items = [item(10 * number + n, bytes(500)) for n in range(10)]
        return Batch(items, [checkpoint(number)])

    async def stage(first):
        awaiting = AsyncSqliteDocumentStore(database)
        for number in range(first, first + 50_000):
            awaiting.stage(SCOPE, batch(number), within_seconds=0.002)
            if number % 20 == 0:
                await asyncio.sleep(0.001)
                print(number, flush=True)

    first = int(sys.argv[2])
    if sys.argv[3] == "True":
        asyncio.run(stage(first))
    for number in range(first, first + 50_000):
        store.insert(SCOPE, batch(number))
        print(number, flush=True)
"""


def kill_while_writing(path: Path, first: int, *, staged: bool) -> None:
    """Kill a process in the middle of its writes, and check what is left of them."""
    process = started(WRITE_FOREVER, path, first, staged)
    assert process.stdout is not None
    acknowledged = first
    while acknowledged < first + 100:
        acknowledged = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    store = opened(path)
    checkpoints = store.count(SCOPE, Find(CHECKPOINTS))
    assert store.count(SCOPE, Find(ITEMS)) == 10 * checkpoints
    if not staged:
        whole_lines = rest.split("\n")[:-1]
        last = int(whole_lines[-1]) if whole_lines else acknowledged
        below = Below("checkpoint_id", checkpoint_id(last + 1))
        newest = Find(CHECKPOINTS, where=[below], newest_first=True, limit=1)
        (found,) = store.find(SCOPE, newest).documents
        assert found.key == checkpoint(last).key, "an insert that returned is there"
    store.close()


@pytest.mark.parametrize("staged", [False, True])
def test_a_killed_process_leaves_whole_batches_only(tmp_path: Path, staged: bool) -> None:
    kill_while_writing(tmp_path / "d.db", 0, staged=staged)


@pytest.mark.soak
def test_fifty_killed_processes_leave_whole_batches_only(tmp_path: Path) -> None:
    for number in range(50):
        kill_while_writing(tmp_path / "d.db", number * 10_000, staged=number % 2 == 1)


def test_a_file_of_a_newer_release_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    store = opened(path)
    store.setup()
    store.insert(SCOPE, Batch([item(1)]))
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO threadkeep_migrations VALUES (999, 'future', '')")
        before = connection.execute("SELECT * FROM sqlite_schema").fetchall()
    connection.close()
    newer = opened(path)
    with pytest.raises(SchemaTooNewError, match="999"):
        newer.setup()
    newer.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == before
    connection.close()


def test_a_file_lives_beside_the_tables_of_other_savers(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE checkpoints (thread_id TEXT)")
        connection.execute("CREATE TABLE writes (thread_id TEXT)")
    connection.close()
    store = opened(path)
    store.setup()
    assert store.insert(SCOPE, Batch([checkpoint(1)])).written
    store.close()


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    path.write_text("This is a letter, not a database. " * 100)
    with pytest.raises(StorageError, match="not a database"):
        opened(path)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="folder"):
        opened(tmp_path / "file" / "d.db")


def test_a_store_that_was_not_set_up_says_so(tmp_path: Path) -> None:
    store = opened(tmp_path / "d.db")
    with pytest.raises(StorageError, match="setup"):
        store.insert(SCOPE, Batch([item(1)]))
    with pytest.raises(StorageError, match="setup"):
        store.find(SCOPE, Find(ITEMS))
    store.close()


def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path) -> None:
    script = """
        store.setup()
        store.insert(SCOPE, Batch([item(1)]))
        child = os.fork()
        if child == 0:
            errors = 0
            for call in (lambda: store.insert(SCOPE, Batch([item(2)])),
                         lambda: store.find(SCOPE, Find(ITEMS))):
                try:
                    call()
                except StorageError as error:
                    errors += "forked" in str(error)
            store.close()
            os._exit(errors)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 2
        store.insert(SCOPE, Batch([item(3)]))
        assert store.count(SCOPE, Find(ITEMS)) == 2
        store.close()
    """
    finished(started(script, tmp_path / "d.db"))


def test_a_process_that_forgets_to_close_loses_nothing_it_waited_for(tmp_path: Path) -> None:
    script = """
        store.setup()
        asyncio.run(AsyncSqliteDocumentStore(database).insert(SCOPE, Batch([item(1)])))
        store.insert(SCOPE, Batch([item(2)]))
    """
    path = tmp_path / "d.db"
    finished(started(script, path))
    store = opened(path)
    assert store.count(SCOPE, Find(ITEMS)) == 2
    store.close()


def test_a_process_that_forgets_to_close_commits_what_it_staged(tmp_path: Path) -> None:
    script = """
        store.setup()

        async def stage():
            AsyncSqliteDocumentStore(database).stage(SCOPE, Batch([item(1)]), within_seconds=3600)

        asyncio.run(stage())
    """
    path = tmp_path / "d.db"
    finished(started(script, path))
    store = opened(path)
    assert store.count(SCOPE, Find(ITEMS)) == 1
    store.close()


def test_an_old_sqlite_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 1))
    with pytest.raises(ConfigError, match=r"3\.34 is needed"):
        opened(tmp_path / "d.db")


def test_a_thread_erased_and_made_again_elsewhere_is_not_written_under_its_old_number(
    tmp_path: Path,
) -> None:
    here, there = opened(tmp_path / "d.db"), opened(tmp_path / "d.db")
    here.setup()
    here.insert(SCOPE, Batch([item(1), checkpoint(1)]))
    there.erase(SCOPE, "thread-1")
    there.insert(SCOPE, Batch([item(5, thread_id="thread-2")]))
    there.insert(SCOPE, Batch([item(2)]))
    required = [(CHECKPOINTS, checkpoint(1).key)]
    assert not here.insert(SCOPE, Batch([item(3)], [], required)).written
    assert here.insert(SCOPE, Batch([item(4)])).written
    for store in (here, there):
        found = store.find(SCOPE, Find(ITEMS, "thread-1")).documents
        assert [document.key for document in found] == [(address(2),), (address(4),)]
        assert store.count(SCOPE, Find(ITEMS, "thread-2")) == 1
    there.erase(SCOPE, "thread-1")
    assert here.insert(SCOPE, Batch([item(6)])).written
    assert there.count(SCOPE, Find(ITEMS, "thread-1")) == 1
    assert here.erase(SCOPE, "thread-1") == 1
    here.close()
    there.close()


class SetClock:
    """A clock that stands where it is set."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


def test_a_present_addressed_document_is_renewed(tmp_path: Path) -> None:
    clock = SetClock()
    store = SqliteDocumentStore(SqliteDatabase(Address(tmp_path / "d.db")), clock=clock)
    store.setup()
    written = [item(1), blob(2), blob(3, metadata='{"a": 1}')]
    store.insert(SCOPE, Batch(written))
    clock.moment += timedelta(hours=1)
    store.insert(SCOPE, Batch([*written, item(4)]))
    with sqlite3.connect(tmp_path / "d.db") as reader:
        touched = reader.execute("SELECT touched FROM documents").fetchall()
    reader.close()
    assert touched == [(int(clock.moment.timestamp()),)] * 4
    store.close()


def test_nothing_of_an_erased_thread_stays_in_the_files(tmp_path: Path) -> None:
    store = opened(tmp_path / "d.db")
    store.setup()
    for number in range(300):
        for thread_id in ("kept", "secret"):
            mark = f"<{thread_id} text>".encode()
            store.insert(
                SCOPE,
                Batch(
                    [
                        item(number, mark * (1 + number % 50), thread_id=thread_id),
                        blob(
                            1000 + number,
                            thread_id=thread_id,
                            metadata=f'{{"note": "<{thread_id} text>"}}',
                        ),
                    ],
                    [checkpoint(number, mark * 9, thread_id=thread_id, ns=f"<{thread_id} text>")],
                ),
            )
    assert b"<secret text>" in raw_bytes_of(tmp_path)
    assert store.erase(SCOPE, "secret") == 900
    raw = raw_bytes_of(tmp_path)
    assert b"<secret text>" not in raw
    assert b"secret" not in raw
    assert b"<kept text>" in raw
    assert store.count(SCOPE, Find(ITEMS)) == 300
    store.close()


def test_a_prune_gives_back_to_the_disk_what_it_frees(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    store = opened(path)
    store.setup()
    for number in range(1, 9):
        refs = [address(number)]
        body = bytes([number]) * 1_000_000
        store.insert(SCOPE, Batch([item(number, body), checkpoint(number, refs=refs)]))
    gone = [("", checkpoint_id(number)) for number in range(1, 8)]
    assert store.prune(SCOPE, "thread-1", Pruning(gone)).documents == 7
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 2_000_000
    assert store.fetch(SCOPE, "thread-1", [address(8)]).documents
    store.close()
    assert path.stat().st_size < 2_000_000


def test_a_prune_does_not_wait_for_a_reader_that_holds_the_log(tmp_path: Path) -> None:
    store = opened(tmp_path / "d.db")
    store.setup()
    for number in (1, 2, 3):
        refs = [address(number)]
        body = bytes([number]) * 1_000_000
        store.insert(SCOPE, Batch([item(number, body), checkpoint(number, refs=refs)]))
    reader = sqlite3.connect(tmp_path / "d.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM documents").fetchone() == (3,)
    before = time.monotonic()
    assert store.prune(SCOPE, "thread-1", Pruning([("", checkpoint_id(1))])).documents == 1
    assert time.monotonic() - before < 5, "it takes milliseconds; a lock is waited for 10 s"
    reader.close()
    assert store.prune(SCOPE, "thread-1", Pruning([("", checkpoint_id(2))])).documents == 1
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 2_000_000
    store.close()


def test_what_a_reader_kept_in_the_log_is_gone_after_the_reader_and_a_write(
    tmp_path: Path,
) -> None:
    store = opened(tmp_path / "d.db")
    store.setup()
    store.insert(SCOPE, Batch([item(1, b"<secret text>" * 100, thread_id="secret")]))
    reader = sqlite3.connect(tmp_path / "d.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM documents").fetchone() == (1,)
    before = time.monotonic()
    assert store.erase(SCOPE, "secret") == 1
    assert time.monotonic() - before < 10, "an erasure does not wait for a reader for ever"
    assert store.count(SCOPE, Find(ITEMS)) == 0
    reader.execute("COMMIT")
    store.insert(SCOPE, Batch([item(2)]))
    assert b"<secret text>" not in raw_bytes_of(tmp_path)
    reader.close()
    store.close()


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_file_that_is_deleted_or_replaced_under_us_is_a_clear_error(
    tmp_path: Path, change: str
) -> None:
    file = tmp_path / "s.db"
    with closing(open_driver(f"sqlite:///{tmp_path}/other.db")) as other:
        other.documents().setup()
    with closing(open_driver(f"sqlite:///{file}")) as driver:
        store = driver.documents()
        store.setup()
        store.insert(SCOPE, Batch([item(1)]))
        assert store.count(SCOPE, Find(ITEMS)) == 1
        if change == "deleted":
            file.unlink()
        else:
            (tmp_path / "other.db").rename(file)
        with pytest.raises(StorageError, match="deleted, moved or replaced"):
            store.insert(SCOPE, Batch([item(2)]))
        with pytest.raises(StorageError, match="deleted, moved or replaced"):
            store.count(SCOPE, Find(ITEMS))
        assert file.exists() == (change == "replaced")


def test_a_relative_file_stays_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_driver("sqlite:///s 100%25 #%3F.db")) as driver:
        store = driver.documents()
        store.setup()
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.insert(SCOPE, Batch([item(1)]))
        assert store.count(SCOPE, Find(ITEMS)) == 1
        assert list((tmp_path / "elsewhere").iterdir()) == []
