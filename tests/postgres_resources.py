"""The resource store on a real PostgreSQL, emptied between tests."""

import re
from pathlib import Path

import psycopg
from psycopg import sql

from tests.architecture.tree import SOURCE

MIGRATIONS = SOURCE / "drivers" / "postgres" / "migrations"
STATEMENTS_FILE = SOURCE / "drivers" / "postgres" / "resources.sql"
SHARED_FOLDER = SOURCE / "drivers" / "sql"
STATEMENT = re.compile(r"^-- ([a-z0-9_]+) --$", re.MULTILINE)
TABLE = re.compile(r"CREATE TABLE \{schema\}(\w+)")


def tables(migrations: Path = MIGRATIONS) -> list[str]:
    """Return every table that the migrations make, what refers to another first."""
    texts = [file.read_text() for file in sorted(migrations.glob("*.sql"))]
    return [name for text in texts for name in TABLE.findall(text)][::-1]


def empty(url: str) -> None:
    """Remove every row of a database that is set up."""
    with psycopg.connect(url, autocommit=True) as connection:
        for name in tables():
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
