"""The command line: words, one-line errors, exit codes, and ``threadkeep new``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import threadkeep
from tests.architecture.tree import ROOT
from threadkeep.cli.main import exit_code, main
from threadkeep.cli.new import FILES, template
from threadkeep.cli.reference import EXAMPLE as EXAMPLE_FILE
from threadkeep.cli.reference import pages
from threadkeep.config.langgraph_json import GraphEntry, read_project
from threadkeep.errors import (
    ConfigError,
    CorruptionError,
    GraphLoadError,
    InvalidFilterError,
    StorageError,
)

EXAMPLE = ROOT / "examples" / "chat"
HELP_CPU_SECONDS = 0.3


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"threadkeep {threadkeep.__version__}\n"
    assert main(["--version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"version": threadkeep.__version__}


def test_without_a_command_the_help_is_printed_and_the_words_were_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    assert "dev" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError(), 2),
        (GraphLoadError(), 2),
        (InvalidFilterError(), 2),
        (CorruptionError(), 3),
        (StorageError(), 1),
        (RuntimeError(), 1),
    ],
)
def test_the_exit_code_is_that_of_the_kind_of_error(error: Exception, code: int) -> None:
    assert exit_code(error) == code


@pytest.mark.parametrize(
    "words",
    [
        ["serve"],
        ["dev", "--prot", "1"],
        ["dev", "--port", "70000"],
        ["dev", "--port", "http"],
        ["dev", "--n-jobs-per-worker", "0"],
        ["dev", "--server-log-level", "loud"],
        ["new"],
    ],
)
def test_wrong_words_are_told_in_one_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.err.startswith("threadkeep: ")
    assert told.err.count("\n") == 1
    assert "--help" in told.err
    assert told.out == ""


def test_an_error_can_be_told_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--json", "--config", str(tmp_path / "langgraph.json")]) == 2
    told = json.loads(capsys.readouterr().err)
    assert told["error"] == "config"
    assert "threadkeep new NAME" in told["message"]


def test_a_traceback_is_shown_only_with_debug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["dev", "--config", str(tmp_path / "langgraph.json")]
    main(words)
    assert "Traceback" not in capsys.readouterr().err
    main([*words, "--debug"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--debug-port=1", "--wait-for-client", "--tunnel"])
def test_options_of_langgraph_dev_that_would_mislead_are_refused_with_the_reason(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dev", option]) == 2
    told = capsys.readouterr().err
    assert option.partition("=")[0] in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--ssl-keyfile", "k.pem"], "needs --ssl-certfile"),
        (["--ssl-certfile", "gone.pem"], "No such file"),
        (["--ssl-certfile", str(EXAMPLE / "README.md")], "not a PEM certificate"),
        (["--host", "192.0.2.1"], "no address of this machine"),
        (["--host", "nowhere.invalid"], "no such host"),
    ],
)
def test_where_it_cannot_serve_is_told_before_anything_is_opened(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(EXAMPLE / "langgraph.json")
    assert main(["dev", "--config", config, "--port", "0", *words]) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.out == ""


def test_help_answers_at_once() -> None:
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "threadkeep.cli.main", "--help"], capture_output=True, text=True
    )
    after = os.times()
    spent = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    assert done.returncode == 0, done.stderr
    assert spent < HELP_CPU_SECONDS


def test_new_makes_a_project_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "agents" / "mine"
    assert main(["new", str(folder)]) == 0
    assert f"cd {folder} && threadkeep dev" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES.values())
    graphs = read_project(folder / "langgraph.json").graphs
    assert [(graph.graph_id, graph.path) for graph in graphs] == [("chat", "./graph.py")]
    assert isinstance(graphs[0], GraphEntry)
    assert (folder / "README.md").read_text().startswith("# mine\n")


@pytest.mark.parametrize(
    ("name", "entered"), [("my agent", "'my agent'"), ("-x", "./-x"), ("a&b", "'a&b'")]
)
def test_new_says_a_command_that_a_shell_understands(
    name: str,
    entered: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--", name]) == 0
    assert f"Start it: cd {entered} && threadkeep dev\n" in capsys.readouterr().out


def test_new_takes_an_empty_folder_and_leaves_any_other_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == list(FILES.values())
    (tmp_path / "graph.py").write_text("mine")
    assert main(["new", str(tmp_path)]) == 2
    assert (tmp_path / "graph.py").read_text() == "mine"
    assert main(["new", str(tmp_path / "graph.py")]) == 2
    assert "not an empty folder" in capsys.readouterr().err


def test_the_example_is_what_new_makes() -> None:
    for source, name in FILES.items():
        text = template(source).replace("{{name}}", EXAMPLE.name)
        assert (EXAMPLE / name).read_text(encoding="utf-8") == text, name


def test_the_file_shown_on_the_page_is_one_that_is_served(tmp_path: Path) -> None:
    file = tmp_path / "langgraph.json"
    file.write_text("\n".join(EXAMPLE_FILE))
    (tmp_path / ".env").write_text("KEY=value\n")
    project = read_project(file)
    assert [graph.graph_id for graph in project.graphs] == ["chat", "notes"]
    assert project.warnings == ()
    assert (project.environment, project.mount_prefix) == ({"KEY": "value"}, "/agents")


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_pages_made_from_the_code_are_up_to_date(name: str) -> None:
    told = "run `python -m threadkeep.cli.reference`"
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == pages()[name], told


def test_reembed_changes_an_embedder_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", f"sqlite:///{tmp_path / 'items.db'}")
    (tmp_path / "embed.py").write_text(
        "def two(texts):\n    return [[len(text), 1.0] for text in texts]\n"
        "def three(texts):\n    return [[len(text), 1.0, 2.0] for text in texts]\n"
    )
    file = tmp_path / "langgraph.json"
    config = {"graphs": {"a": "./a.py:a"}, "store": {}}
    file.write_text(json.dumps(config))
    assert main(["reembed"]) == 2
    assert "store.index is not set" in capsys.readouterr().err
    with threadkeep.ItemStore.from_url(f"sqlite:///{tmp_path / 'items.db'}") as store:
        store.put(("n",), "k", {"text": "tea"})
    for name, dims, is_new in (("two", 2, False), ("three", 3, True), ("three", 3, False)):
        index = {"embed": f"./embed.py:{name}", "dims": dims}
        file.write_text(json.dumps({**config, "store": {"index": index}}))
        assert main(["reembed"]) == 0
        told = capsys.readouterr().out
        assert f"1 items are indexed by ./embed.py:{name}" in told
        assert ("Restart the servers" in told) is is_new
    assert main(["reembed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"items": 1, "was_in_force": True}
    file.write_text(
        json.dumps({**config, "store": {"index": {"embed": "./embed.py:two", "dims": 2}}})
    )
    with pytest.raises(ConfigError, match=r"three with 3 dims.*threadkeep reembed"):
        threadkeep.ItemStore(
            url=f"sqlite:///{tmp_path / 'items.db'}", index={"embed": "./embed.py:two", "dims": 2}
        ).setup()
