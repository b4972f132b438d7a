"""The shape of the code: small functions, small files, a docstring on every module."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import python_files, relative, source_files

MAX_FUNCTION_LINES = 60  # without its docstring
MAX_FILE_LINES = 500

# Settings of a connection (PRAGMA) and the borders of a transaction are none in this sense.
STATEMENT = re.compile(
    r"\s*(SELECT|INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|WITH)\s+[A-Za-z*(]"
)
CONDITION_BUILDERS = {"where.py", "document_conditions.py"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(file: Path) -> list[Function]:
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, Function)]


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def line_count(node: ast.stmt | ast.expr) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def code_lines(function: Function) -> int:
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    return line_count(function) - (line_count(first) if documented else 0)


def test_no_function_is_too_long_to_read_at_once() -> None:
    long = [
        f"{relative(file)}:{function.lineno} {function.name} has {code_lines(function)} lines"
        for file in python_files()
        for function in functions(file)
        if code_lines(function) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_no_file_is_too_long_to_know() -> None:
    counts = {
        relative(file): len(file.read_text(encoding="utf-8").splitlines())
        for file in python_files()
    }
    assert {name: count for name, count in counts.items() if count > MAX_FILE_LINES} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        relative(file)
        for file in source_files()
        if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_sql_stands_in_files_of_its_own() -> None:
    found = [
        f"{relative(file)}:{line} {text[:40]!r}"
        for file in source_files()
        if file.parent.name != "testing" and file.name not in CONDITION_BUILDERS
        for line, text in strings(ast.parse(file.read_text(encoding="utf-8")))
        if STATEMENT.match(text)
    ]
    assert found == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    marks = re.compile(r"pytest\.(skip|xfail)\b|mark\.(skip|xfail)\b")
    marked = [file for file in python_files() if marks.search(file.read_text(encoding="utf-8"))]
    assert [relative(file) for file in marked] == []
