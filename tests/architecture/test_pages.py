"""Pages that describe the tree: each part of it is named, and each decision is whole."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, SOURCE, relative, tracked_files

PAGES = [file for file in tracked_files() if file.suffix == ".md"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
SECTIONS = ("Context", "Decision", "Consequences", "Tests")
CLI = ROOT / "docs" / "cli.md"  # generated from the parser; a test holds it to that
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED_TEST = re.compile(r"`(tests/[^`]+)`")


def folders(parent: Path) -> list[str]:
    return sorted(path.name for path in parent.iterdir() if any(path.glob("*.py")))


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_every_part_of_the_package_stands_on_the_map(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = [*(f"{name}/" for name in folders(SOURCE)), "errors.py", "wiring.py"]
    assert [part for part in parts if part not in text] == []


def test_every_folder_of_tests_is_described() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [name for name in folders(ROOT / "tests") if f"`tests/{name}/`" not in text] == []


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(decision.name[:4]) for decision in DECISIONS]
    assert numbers == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: decision.stem)
def test_a_decision_says_why_what_follows_and_which_tests_hold_it(decision: Path) -> None:
    text = decision.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(decision.name[:4])}. ")
    assert [name for name in SECTIONS if f"\n## {name}" not in text] == []
    named = NAMED_TEST.findall(text.partition("\n## Tests")[2])
    assert named
    assert [name for name in named if not list(ROOT.glob(name))] == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_python_on_a_page_can_be_read_and_imports_what_there_is(page: Path) -> None:
    missing = [
        f"{node.module}.{alias.name}"
        for block in PYTHON.findall(page.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("threadkeep")
        for alias in node.names
        if not hasattr(importlib.import_module(node.module or ""), alias.name)
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_a_page_names_only_make_targets_and_commands_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"^## threadkeep ([a-z]+)$", CLI.read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", text)) - targets == set()
    assert set(re.findall(r"`threadkeep ([a-z]+)", text)) - commands == set()
