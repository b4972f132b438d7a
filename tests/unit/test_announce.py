"""What ``threadkeep dev`` says."""

import io
import json
import os
from pathlib import Path

import pytest

from threadkeep.cli.announce import Announcer
from threadkeep.cli.environment import Environment
from threadkeep.errors import ConfigError, GraphLoadError


def loading(file: Path, code: str) -> GraphLoadError:
    """Run a file as a graph and return the error of its loading."""
    try:
        exec(compile(code, str(file), "exec"), {"__name__": "graph"})
    except Exception as error:
        made = GraphLoadError("graph 'a' cannot be loaded")
        made.__cause__ = error
        return made
    raise AssertionError("it loaded")


def said(error: GraphLoadError, folder: Path) -> str:
    out = io.StringIO()
    Announcer(out, as_json=False, folder=folder).graph("a", 0.1, error)
    return out.getvalue()


def test_a_graph_that_fails_is_framed_with_file_line_code_and_exception(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text("x = 1\nimport no_such_module_at_all\n")
    text = said(loading(file, file.read_text()), tmp_path)
    assert "┌─ graph 'a' is not served ──" in text
    assert "│ agent.py, line 2, in <module>" in text
    assert "│   import no_such_module_at_all" in text
    assert "│ ModuleNotFoundError: No module named 'no_such_module_at_all'" in text
    assert "└─" in text


def test_a_syntax_error_has_its_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    text = said(loading(file, "a = 1\nb = (\n"), tmp_path)
    assert "│ agent.py, line 2" in text
    assert "│ SyntaxError: '(' was never closed" in text


def test_an_error_without_a_cause_is_told_as_it_is(tmp_path: Path) -> None:
    text = said(GraphLoadError("graph 'a' (./gone.py:graph) cannot be loaded"), tmp_path)
    assert "│ graph 'a' (./gone.py:graph) cannot be loaded" in text


def test_programs_are_told_in_json_lines(tmp_path: Path) -> None:
    out = io.StringIO()
    announcer = Announcer(out, as_json=True, folder=tmp_path)
    announcer.listening("http://127.0.0.1:1", database="memory://", graph_ids=["a"])
    announcer.graph("a", 0.12345, None)
    announcer.graph("b", 0.1, GraphLoadError("no"))
    announcer.warning("w")
    announcer.reloading([tmp_path / "agent.py"])
    announcer.mistake(ConfigError("m"))
    announcer.stopping()
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        "listening", "graph", "graph", "warning", "reloading", "mistake", "stopping",
    ]  # fmt: skip
    assert events[1] == {"event": "graph", "graph_id": "a", "seconds": 0.123, "error": None}
    assert events[2]["error"] == "no"
    assert events[4]["files"] == ["agent.py"]


def test_the_environment_wins_over_the_projects_and_what_left_the_file_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FROM_THE_SHELL", "shell")
    environment = Environment()
    environment.take({"FROM_THE_SHELL": "file", "FROM_THE_FILE": "1"})
    assert (os.environ["FROM_THE_SHELL"], os.environ["FROM_THE_FILE"]) == ("shell", "1")
    environment.take({"FROM_THE_FILE": "2"})
    assert os.environ["FROM_THE_FILE"] == "2"
    environment.take({})
    assert "FROM_THE_FILE" not in os.environ
    assert os.environ["FROM_THE_SHELL"] == "shell"


def test_what_no_terminal_can_show_is_said_in_ascii(tmp_path: Path) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    error = GraphLoadError("graph 'a' cannot be loaded: ünï \ud800")
    Announcer(out, as_json=False, folder=tmp_path).graph("a", 0.1, error)
    assert rb"\xfcn\xef \ud800" in raw.getvalue()


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "no room"), ValueError("closed")])
def test_words_that_nobody_can_read_stop_nothing(
    error: Exception, tmp_path: Path, *, as_json: bool
) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise error

    announcer = Announcer(Gone(), as_json=as_json, folder=tmp_path)
    announcer.listening("http://here", database="x.db", graph_ids=["a"])
    announcer.graph("a", 0.1, None)
    announcer.stopping()
