"""``langgraph.json``: what is read from it, and how a mistake in it is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from threadkeep.config.keys import KEYS
from threadkeep.config.langgraph_json import GraphEntry, Project, read_project
from threadkeep.errors import ConfigError

GRAPHS = {"agent": "./agent.py:graph"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def read(folder: Path, **keys: Any) -> Project:
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": GRAPHS} | keys))
    return read_project(file)


def mistake(folder: Path, **keys: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, **keys)
    return str(caught.value)


def test_graphs_are_read_in_order_with_path_export_and_description(folder: Path) -> None:
    graphs = {
        "a": "./agent.py:graph",
        "b": {"path": "package.module:make", "description": "Makes."},
        "c": "C:\\agents\\c.py:graph",
    }
    assert read(folder, graphs=graphs).graphs == (
        GraphEntry("a", "./agent.py", "graph"),
        GraphEntry("b", "package.module", "make", "Makes."),
        GraphEntry("c", "C:\\agents\\c.py", "graph"),
    )


def test_a_missing_file_says_how_to_get_one(folder: Path) -> None:
    with pytest.raises(ConfigError, match="threadkeep new NAME"):
        read_project(folder / "langgraph.json")


def test_a_syntax_error_has_a_line_and_a_column(folder: Path) -> None:
    file = folder / "langgraph.json"
    file.write_text('{"graphs": {\n  "a": }')
    with pytest.raises(ConfigError, match="line 2, column 8"):
        read_project(file)


@pytest.mark.parametrize(
    ("graphs", "key"),
    [
        (None, "graphs"),
        ({}, "graphs"),
        ([], "graphs"),
        ({"a": 5}, "graphs.a"),
        ({"a": "agent.py"}, "graphs.a"),
        ({"a": "agent.py:"}, "graphs.a"),
        ({"a": "agent.py:not a name"}, "graphs.a"),
        ({"a": {}}, "graphs.a"),
        ({"a": {"path": "a.py:g", "descripton": "x"}}, "graphs.a.descripton"),
        ({"a": {"path": "a.py:g", "description": 5}}, "graphs.a.description"),
        ({"": "a.py:g"}, "graphs"),
        ({"a": "./agent.ts:graph"}, "graphs.a"),
    ],
)
def test_a_wrong_graph_names_file_key_found_and_expected(
    folder: Path, graphs: Any, key: str
) -> None:
    text = mistake(folder, graphs=graphs)
    assert text.startswith(f"langgraph.json: {key}: found ")
    assert "; expected " in text


def test_folders_of_dependencies_join_the_import_path(folder: Path) -> None:
    (folder / "lib").mkdir()
    project = read(folder, dependencies=[".", "./lib", "langchain_openai"])
    assert project.import_paths == (folder, folder.resolve(), (folder / "lib").resolve())


def test_a_local_dependency_must_exist(folder: Path) -> None:
    assert "./gone" in mistake(folder, dependencies=["./gone"])
    assert "a list of texts" in mistake(folder, dependencies=".")


def test_env_is_a_file_or_an_object(folder: Path) -> None:
    (folder / ".env").write_text("A=1\n# comment\nB='two words'\nEMPTY\n")
    expected = {"A": "1", "B": "two words", "EMPTY": ""}
    assert read(folder, env=".env").environment == expected
    assert read(folder, env={"A": "1", "N": 2}).environment == {"A": "1", "N": "2"}


@pytest.mark.parametrize("env", ["gone.env", "", 5, ["A"], {"A": {}}, {"A": True}])
def test_a_wrong_env_is_told(folder: Path, env: Any) -> None:
    assert mistake(folder, env=env).startswith("langgraph.json: env")


def test_the_lifetime_of_items_is_read(folder: Path) -> None:
    ttl = {"default_ttl": 60, "refresh_on_read": False, "omit_expired": True}
    assert read(folder, store={"ttl": ttl}).item_ttl == {
        "default_ttl": 60,
        "refresh_on_read": False,
    }
    assert read(folder, store={"ttl": {"sweep_interval_minutes": 2}}).sweep_seconds == 120
    for name in ("default_ttl", "sweep_interval_minutes"):
        assert "minutes above 0" in mistake(folder, store={"ttl": {name: 0}})
    assert "true or false" in mistake(folder, store={"ttl": {"refresh_on_read": "no"}})


def test_cors_and_the_mount_prefix_are_read(folder: Path) -> None:
    http = {"cors": {"allow_origins": ["*"], "max_age": 5}, "mount_prefix": "/agents/"}
    project = read(folder, http=http)
    assert project.cors == {"allow_origins": ["*"], "max_age": 5}
    assert project.mount_prefix == "/agents"
    assert "a list of texts" in mistake(folder, http={"cors": {"allow_origins": "*"}})
    for given in ("(", 5, "a{9999999999999999999}"):
        assert "a regular expression" in mistake(
            folder, http={"cors": {"allow_origin_regex": given}}
        )
    assert "a path" in mistake(folder, http={"mount_prefix": "agents"})


@pytest.mark.parametrize(
    ("key", "config"),
    [
        ("encryption", {"encryption": {"path": "./e.py:e"}}),
        ("http.app", {"http": {"app": "./app.py:app"}}),
    ],
)
def test_what_would_mislead_in_silence_is_refused_with_the_reason(
    folder: Path, key: str, config: dict[str, Any]
) -> None:
    text = mistake(folder, **config)
    assert text == f"langgraph.json: {key}: {KEYS[key].says}. {KEYS[key].remedy}"


def test_what_is_switched_off_anyway_is_no_mistake(folder: Path) -> None:
    http = {"disable_store": False, "disable_mcp": True, "app": None}
    assert read(folder, http=http).warnings == ()


def test_keys_of_langgraph_that_have_no_effect_yet_are_named_once(folder: Path) -> None:
    project = read(folder, checkpointer={"prune": {}}, ui={}, python_version="3.12")
    assert [text.split(" has ")[0] for text in project.warnings] == [
        "langgraph.json: checkpointer.prune",
        "langgraph.json: ui",
    ]


def test_an_index_of_the_store_is_read(folder: Path) -> None:
    assert read(folder, store={"index": {"embed": "threadkeep:default"}}).item_index == {
        "embed": "threadkeep:default"
    }
    index = {"embed": "./e.py:f", "dims": 3, "fields": ["a.b"], "hnsw": True, "mode": "hybrid"}
    assert read(folder, store={"index": {**index, "odd": 1}}).item_index == index
    assert read(folder).item_index is None


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"embed": None}, "store.index.embed: found null"),
        ({"embed": "model"}, "store.index.embed"),
        ({"dims": None}, "store.index.dims: found null"),
        ({"dims": True}, "store.index.dims: found true"),
        ({"fields": "a"}, "store.index.fields"),
        ({"fields": []}, "store.index.fields"),
        ({"hnsw": 1}, "store.index.hnsw"),
        ({"mode": "best"}, "store.index.mode"),
    ],
)
def test_a_wrong_index_of_the_store_is_named(
    folder: Path, change: dict[str, Any], key: str
) -> None:
    index = {"embed": "openai:model", "dims": 3, **change}
    assert key in mistake(folder, store={"index": index})


def test_another_store_is_named_alone(folder: Path) -> None:
    assert read(folder, store={"adapter": "./mine.py:store"}).store_adapter == "./mine.py:store"
    index = {"embed": "threadkeep:default"}
    text = mistake(folder, store={"adapter": "./mine.py:store", "index": index})
    assert "no index beside store.adapter" in text
    for wrong in ("mine", 5, "./mine.py:", ":store"):
        assert "store.adapter: found" in mistake(folder, store={"adapter": wrong})


def test_an_unknown_key_is_named_with_what_was_meant(folder: Path) -> None:
    project = read(folder, grphs={}, http={"corse": {}})
    assert project.warnings == (
        "langgraph.json: grphs is no key that LangGraph knows (did you mean 'graphs'?)",
        "langgraph.json: http.corse is no key that LangGraph knows (did you mean 'cors'?)",
    )


def test_a_section_that_is_no_object_is_told(folder: Path) -> None:
    assert "store: found 5; expected an object" in mistake(folder, store=5)


def test_a_long_wrong_value_is_cut(folder: Path) -> None:
    assert len(mistake(folder, graphs={"a": "x" * 10_000})) < 250


def test_every_key_says_what_it_does_and_each_refused_one_what_to_do() -> None:
    assert [name for name, key in KEYS.items() if not key.says] == []
    refused = [key for key in KEYS.values() if key.standing == "refused"]
    assert all(key.remedy for key in refused)
