"""Indexes that are built beside running writers, by many processes at once, and after a cut."""

import asyncio
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers.pgbouncer import is_installed, pooled
from threadkeep.drivers.postgres.address import DIRECT_URL, parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.migrating import Migrating
from threadkeep.errors import ConfigError

WAIT_SECONDS = 20.0
FILES = {
    "0001_things.sql": "CREATE TABLE {schema}things (a integer, b integer);",
    "0002_things_by_a.online.sql": "-- Beside writers.\n"
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS things_by_a ON {schema}things (a);",
    "0003_things_by_b.online.sql": "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS things_by_b"
    " ON {schema}things (b);",
    "0004_more.sql": "ALTER TABLE {schema}things ADD COLUMN c integer;",
}
INDEXES = """select relname, indisvalid from pg_index join pg_class c on c.oid = indexrelid
    where relname like 'things_by%' order by 1"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Migrations of a later release: tables, then indexes, then tables again."""
    name = f"migrations_{tmp_path.name}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").touch()
    for file, text in FILES.items():
        (folder / file).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def later(url: str, package: str, environment: dict[str, str] | None = None) -> PostgresDatabase:
    """Open a database as a later release would."""
    address = parse(url, environment or {})
    database = PostgresDatabase(address)
    database._migrating = Migrating(address, database._migrating._statements, package=package)
    return database


def told(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement.encode()).fetchall()


def is_whole(url: str) -> None:
    assert told(url, INDEXES) == [("things_by_a", True), ("things_by_b", True)]
    assert told(url, "select number from threadkeep_migrations order by 1") == [
        (number + 1,) for number in range(len(FILES))
    ]
    assert told(url, "select a, b, c from things") == []


def test_many_set_up_at_once_and_each_index_is_built_once(postgres_url: str, package: str) -> None:
    databases = [later(postgres_url, package) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        blocking = [threads.submit(each.setup) for each in databases[:4]]
        awaiting = [threads.submit(asyncio.run, each.asetup()) for each in databases[4:]]
        for done in (*blocking, *awaiting):
            done.result(WAIT_SECONDS)
    is_whole(postgres_url)


def test_others_write_while_an_index_is_built(postgres_url: str, package: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        later(postgres_url, package).setup()
        connection.execute("drop index things_by_a, things_by_b")
        connection.execute("delete from threadkeep_migrations where number in (2, 3)")
    with (
        psycopg.connect(postgres_url) as long_lasting,
        psycopg.connect(postgres_url, autocommit=True) as writer,
        ThreadPoolExecutor(1) as threads,
    ):
        long_lasting.execute("insert into things values (1, 1)")
        done = threads.submit(later(postgres_url, package).setup)
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        while writer.execute(waits).fetchone() == (0,):
            assert not done.done()
        writer.execute("set statement_timeout = '5s'")
        writer.execute("insert into things values (2, 2)")
        assert not done.done()
        long_lasting.commit()
        done.result(WAIT_SECONDS)
    assert told(postgres_url, INDEXES) == [("things_by_a", True), ("things_by_b", True)]
    assert told(postgres_url, "select count(*) from things") == [(2,)]


def test_a_build_that_was_cut_off_is_found_and_done_anew(postgres_url: str, package: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        later(postgres_url, package).setup()
        connection.execute("delete from threadkeep_migrations where number > 2")
        connection.execute("drop index things_by_b")
        connection.execute("alter table things drop column c")
        connection.execute("insert into things values (1, 7), (2, 7)")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("create unique index concurrently things_by_b on things (b)")
        assert told(postgres_url, INDEXES)[1] == ("things_by_b", False)
        connection.execute("delete from things")
    asyncio.run(later(postgres_url, package).asetup())
    is_whole(postgres_url)


@pytest.mark.soak
@pytest.mark.skipif(not is_installed(), reason="no PgBouncer on this machine")
def test_behind_a_pooler_an_index_is_built_through_the_direct_address(
    postgres_url: str, package: str
) -> None:
    with pooled(postgres_url) as url:
        with pytest.raises(ConfigError, match=DIRECT_URL):
            later(url, package).setup()
        later(url, package, {DIRECT_URL: postgres_url}).setup()
    is_whole(postgres_url)
