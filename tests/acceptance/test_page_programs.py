"""The programs on the pages run as they stand."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from tests.acceptance.dev import dev_server
from tests.architecture.tree import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = ROOT / "examples" / "chat"
DEV = "http://127.0.0.1:2024"  # where the pages say that the example is served
# The package is no part of the tests; what is used of it is its base class's.
FASTAPI = ("from fastapi import FastAPI", "from starlette.applications import Starlette as FastAPI")


def run(page: Path, names: dict[str, Any], *, server: str | None = None) -> None:
    """Run a page's programs in one namespace: those for a server, or those without one."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if (DEV in block) == (server is not None):
            code = block.replace(DEV, server or DEV).replace(*FASTAPI)
            exec(compile(code, page, "exec"), names)


def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("assistant", "hello")]}


def test_those_of_the_readme_run_in_a_program_with_a_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    builder = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    names: dict[str, Any] = {"builder": builder}
    run(ROOT / "README.md", names)
    assert names["graph"].checkpointer is names["saver"]
    (route,) = [route for route in names["app"].routes if route.path == "/agents"]
    assert route.app is names["agents"]


def test_those_for_a_server_talk_to_the_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "chat"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".threadkeep"))
    with dev_server(folder) as server:
        run(ROOT / "README.md", {}, server=server.url)
        assert "You said: hello (message 1 of this thread)." in capsys.readouterr().out
        run(EXAMPLE / "README.md", {}, server=server.url)
    remembered, known, asked, sent = capsys.readouterr().out.splitlines()
    assert remembered == "I will remember that I like tea."
    assert known == "I know that I like tea."
    assert "Send this to Ada?" in asked
    assert sent == "Sent to Ada: see you at noon"


def test_those_of_the_python_page_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / "python.md", {"__name__": "a_program"})
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["message 3", "{'fact': 'likes tea'}"]
    assert said[2].startswith("config no driver serves storage addresses")
