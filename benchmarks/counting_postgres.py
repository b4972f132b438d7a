"""Counting what a saver hands to PostgreSQL: at psycopg's cursor, the same way for every saver.

Transactions are counted by the server: each one that writes takes a number of its own. Rows are not
counted: one statement writes many, and psycopg is not told how many.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import psycopg
from psycopg.types.json import Json, Jsonb

from benchmarks.counting import Counter, Counts, bound, kind

WRITE_NUMBER = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
STORED = """SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
    WHERE relkind IN ('r', 'p') AND oid >= 16384"""  # below are the server's own


def _plain(value: Any) -> Any:
    """Take a bound value as what is sent: JSON as its text, a list as its elements."""
    return json.dumps(value.obj, default=str) if isinstance(value, Json | Jsonb) else value


def _flat(values: Any) -> Iterator[Any]:
    for value in values.values() if isinstance(values, Mapping) else values or ():
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield _plain(value)


def _text(query: Any, cursor: Any) -> str:
    if isinstance(query, psycopg.sql.Composable):
        return query.as_string(cursor)
    return query.decode() if isinstance(query, bytes) else str(query)


def _counted(name: str, counters: Mapping[str, Counter]) -> Callable[..., Any]:
    original = getattr(psycopg.Cursor, name)
    many = name == "executemany"

    @wraps(original)
    def counting(cursor: Any, query: Any, values: Any = None, **options: Any) -> Any:
        counter = counters.get(cursor.connection.info.dbname)
        if counter is None:
            return original(cursor, query, values, **options)
        rows: Sequence[Any] = list(values or ()) if many else [values]
        done = original(cursor, query, rows if many else values, **options)
        what = kind(_text(query, cursor))
        if what == "write":
            counter.add(bound(list(_flat(row)) for row in rows) + Counts(statements=1))
        elif what == "read":
            counter.add(Counts(queries=1))
        return done

    return counting


@contextmanager
def counted_databases(counters: Mapping[str, Counter]) -> Iterator[None]:
    """Count what goes to these databases, named as on their server, in the meantime."""
    with (
        patch.object(psycopg.Cursor, "execute", _counted("execute", counters)),
        patch.object(psycopg.Cursor, "executemany", _counted("executemany", counters)),
    ):
        yield
