"""A script of SQL statements, one by one: so that a whole migration is one transaction."""

import sqlite3
from collections.abc import Iterator


def split(script: str) -> Iterator[str]:
    """Iterate over the statements of a script; each ends with a semicolon at a line's end."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""
    if statement.strip():
        raise ValueError(f"no statement ends with {statement.strip()[-40:]!r}")
