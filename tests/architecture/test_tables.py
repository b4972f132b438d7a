"""Tables that must stay complete: the status of each error, the statements of each SQL dialect."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import SOURCE
from threadkeep.errors import ThreadkeepError
from threadkeep.server.errors import STATUS

STATEMENT = re.compile(r"^-- ([a-z0-9_]+) --$", re.MULTILINE)


def subclasses(root: type[ThreadkeepError]) -> Iterator[type[ThreadkeepError]]:
    for child in root.__subclasses__():
        yield child
        yield from subclasses(child)


def statement_files() -> dict[str, list[Path]]:
    files = sorted((SOURCE / "drivers").glob("*/*.sql"), key=lambda file: file.name)
    return {name: list(group) for name, group in itertools.groupby(files, lambda f: f.name)}


def test_every_error_has_a_status() -> None:
    named = set(STATUS) - {ThreadkeepError}
    own = [kind for kind in subclasses(ThreadkeepError) if kind.__module__ == "threadkeep.errors"]
    assert [kind.__name__ for kind in own if not named.intersection(kind.__mro__)] == []


def test_every_sql_dialect_has_the_same_statements() -> None:
    for name, files in statement_files().items():
        statements = [sorted(STATEMENT.findall(file.read_text())) for file in files]
        assert all(found == statements[0] for found in statements), name


def test_no_statement_is_named_twice() -> None:
    for files in statement_files().values():
        for file in files:
            names = STATEMENT.findall(file.read_text())
            assert len(names) == len(set(names)), file
