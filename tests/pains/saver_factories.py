"""Our savers for the pain cases: ``factory(storage_id, **options)`` is a context manager.

The same storage id names the same data, so a second call opens a second client of it.
``stored_bytes`` and ``raw_bytes`` look at what a storage holds.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from threadkeep.checkpoints.sums import unseal_row
from threadkeep.drivers import postgres
from threadkeep.errors import CorruptionError
from threadkeep.model.default_scope import AGENT_ID, NAMESPACE
from threadkeep.ports.documents import CHECKPOINTS, COLLECTIONS, DocumentStore, Find, Scope
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.savers.saver import DocumentCheckpointSaver

_FOLDER = Path(tempfile.gettempdir()) / "threadkeep-pains"
_memory: dict[str, Driver] = {}
_databases: dict[str, str] = {}  # addresses of the storages on PostgreSQL


@contextlib.contextmanager
def memory_saver(storage: str, *, setup: bool = True) -> Iterator[DocumentCheckpointSaver]:
    """Open a saver on documents in memory."""
    if storage not in _memory:
        _memory[storage] = open_driver("memory://")
    driver = _memory[storage]
    yield _saver(driver, setup=setup)


@contextlib.contextmanager
def sqlite_saver(storage: str, *, setup: bool = True) -> Iterator[DocumentCheckpointSaver]:
    """Open a saver on a SQLite file."""
    with contextlib.closing(open_driver(_url(storage))) as driver:
        yield _saver(driver, setup=setup)


@contextlib.contextmanager
def postgres_saver(storage: str, *, setup: bool = True) -> Iterator[DocumentCheckpointSaver]:
    """Open a saver on a PostgreSQL database, where ``keep_in`` said in which."""
    with contextlib.closing(postgres.open(_databases[storage], DriverOptions())) as driver:
        yield _saver(driver, setup=setup)


def keep_in(storage: str, database: str) -> None:
    """Give a storage a schema of its own in a PostgreSQL database."""
    _databases[storage] = f"{database}?schema=s{storage}"


def _saver(driver: Driver, *, setup: bool) -> DocumentCheckpointSaver:
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    if setup:
        saver.setup()
    return saver


def stored_bytes(storage: str) -> int:
    """Say how much the documents of a storage take, as they are stored."""
    scope = Scope(NAMESPACE, AGENT_ID)
    with _documents(storage) as store:
        found = store.find(scope, Find(CHECKPOINTS, bodies=False)).documents
        threads = {document.thread_id for document in found}
        return sum(
            usage.size_bytes
            for thread_id in threads
            for usage in store.measure(scope, thread_id).values()
        )


def file_bytes(storage: str) -> int:
    """Say how much the files of a storage on SQLite take on the disk, its log among them."""
    return sum(file.stat().st_size for file in _FOLDER.glob(f"{storage}.db*"))


def raw_bytes(storage: str) -> bytes:
    """Give every byte a storage holds, and every body once more as it was before compression."""
    held: list[bytes] = [file.read_bytes() for file in _FOLDER.glob(f"{storage}.db*")]
    if storage in _databases:
        held += _rows(storage)
    with _documents(storage) as store:
        for collection in COLLECTIONS:
            for document in store.find(Scope(NAMESPACE, AGENT_ID), Find(collection)).documents:
                held += [document.body, repr((document.key, document.fields)).encode()]
                with contextlib.suppress(CorruptionError):
                    held.append(unseal_row(document))
    return b"\n".join(held)


def _rows(storage: str) -> Iterator[bytes]:
    """Iterate over every value of every table."""
    database, schema = _databases[storage].split("?schema=")
    with psycopg.connect(database) as connection:
        tables = connection.execute(
            "select tablename from pg_tables where schemaname = %s", [schema]
        ).fetchall()
        for (table,) in tables:
            rows = connection.execute(f"select * from {schema}.{table}".encode())
            for value in (value for row in rows for value in row):
                yield value if isinstance(value, bytes) else repr(value).encode()


@contextlib.contextmanager
def _documents(storage: str) -> Iterator[DocumentStore]:
    if storage in _memory:
        yield _memory[storage].documents()
        return
    if storage in _databases:
        opened = postgres.open(_databases[storage], DriverOptions())
    else:
        opened = open_driver(_url(storage))
    with contextlib.closing(opened) as driver:
        yield driver.documents()


def address(storage: str) -> str:
    """Give the address of a storage that another process can open."""
    return _databases.get(storage) or _url(storage)


def drop(storage: str) -> None:
    """Forget what was stored."""
    if storage in _memory:
        _memory.pop(storage).close()
    _databases.pop(storage, None)
    for file in _FOLDER.glob(f"{storage}.db*"):
        file.unlink()


def _file(storage: str) -> Path:
    _FOLDER.mkdir(exist_ok=True)
    return _FOLDER / f"{storage}.db"


def _url(storage: str) -> str:
    return f"sqlite:///{_file(storage)}"
