"""Statements and migrations as files, and how a script falls into statements."""

from pathlib import Path

import pytest

from threadkeep.drivers.sql import migrate, statements
from threadkeep.drivers.sqlite.scripts import split
from threadkeep.errors import SchemaTooNewError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / f"driver_of_{tmp_path.name}"  # modules are remembered by name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_statements_stand_under_their_names(package: Path) -> None:
    (package / "s.sql").write_text("-- one --\nSELECT 1;\n\n-- two_2 --\n-- why\nSELECT\n2;\n")
    expected = {"one": "SELECT 1;", "two_2": "-- why\nSELECT\n2;"}
    assert statements.load(package.name, "s.sql") == expected


def test_a_statement_is_named_once(package: Path) -> None:
    (package / "s.sql").write_text("-- one --\nSELECT 1;\n-- one --\nSELECT 2;\n")
    with pytest.raises(ValueError, match="twice"):
        statements.load(package.name, "s.sql")


def test_migrations_are_in_order_and_other_files_are_none(package: Path) -> None:
    for name in ("0002_second.sql", "0001_first.sql", "notes.sql", "0003_third.txt"):
        (package / name).write_text(f"-- {name}")
    found = migrate.load(package.name)
    assert [(each.number, each.name) for each in found] == [(1, "first"), (2, "second")]


def test_a_gap_between_migrations_is_refused(package: Path) -> None:
    for name in ("0001_first.sql", "0003_third.sql"):
        (package / name).write_text("")
    with pytest.raises(ValueError, match="numbered"):
        migrate.load(package.name)


def test_what_has_not_run_is_pending() -> None:
    known = [migrate.Migration(number, "name", "") for number in (1, 2, 3)]
    assert migrate.pending(known, []) == known
    assert migrate.pending(known, [1]) == known[1:]
    assert migrate.pending(known, [1, 3]) == [known[1]]
    assert migrate.pending(known, [1, 2, 3]) == []


def test_a_ledger_of_a_newer_release_is_refused() -> None:
    known = [migrate.Migration(1, "name", "")]
    with pytest.raises(SchemaTooNewError, match=r"schema 2.*up to 1"):
        migrate.pending(known, [1, 2])


def test_a_script_falls_into_its_statements() -> None:
    script = (
        "-- a comment; with a semicolon\n"
        "CREATE TABLE a (x TEXT DEFAULT 'a;\nb');\n"
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM a;\n  DELETE FROM a;\nEND;\n"
    )
    found = list(split(script))
    assert len(found) == 2
    assert found[1].endswith("END;")


def test_a_statement_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no statement ends"):
        list(split("CREATE TABLE a (x);\nCREATE TABLE b (x)"))
