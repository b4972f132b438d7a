"""The wheel, installed as users do it: the base saves and loads a thread, and brings little."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sysconfig.get_path("scripts")) / "uv"

# A package index on a slow line is part of these tests.
pytestmark = pytest.mark.timeout(600)

# What the extras bring, and what only looks as if a base install could need it.
NOT_IN_THE_BASE = {
    "aiosqlite",
    "httptools",
    "langgraph",
    "langgraph-prebuilt",
    "langgraph-sdk",
    "nats-py",
    "numpy",
    "psycopg",
    "redis",
    "starlette",
    "uvicorn",
    "uvloop",
    "watchfiles",
}

SAVE_AND_LOAD = """
import sys
from langgraph.checkpoint.base import empty_checkpoint
from threadkeep import DocumentCheckpointSaver

CONFIG = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}
VALUES = {"messages": ["hello", "how can I help?"]}

def save(saver):
    versions = {"messages": saver.get_next_version(None, None)}
    checkpoint = {**empty_checkpoint(), "channel_values": VALUES, "channel_versions": versions}
    saver.put(CONFIG, checkpoint, {"source": "input", "step": -1, "parents": {}}, versions)

def load(saver):
    assert saver.get_tuple(CONFIG).checkpoint["channel_values"] == VALUES

url = sys.argv[1]
with DocumentCheckpointSaver.from_url(url) as saver:
    save(saver)
    load(saver)
if not url.startswith("memory:"):
    with DocumentCheckpointSaver.from_url(url) as saver:
        load(saver)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def base_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel without extras."""
    environment = tmp_path_factory.mktemp("base") / "venv"
    run(UV, "venv", "--python", sys.executable, environment)
    python = environment / "bin" / "python"
    run(UV, "pip", "install", "--python", python, "-c", "requirements/dev.txt", wheel)
    return python


def test_the_base_install_is_small(base_python: Path) -> None:
    listed = json.loads(run(UV, "pip", "list", "--python", base_python, "--format", "json"))
    names = {package["name"] for package in listed}
    assert {"threadkeep", "langgraph-checkpoint", "orjson", "zstandard"} <= names
    assert names & NOT_IN_THE_BASE == set()


@pytest.mark.parametrize("url", ["sqlite:///agents.db", "memory://"])
def test_the_base_install_saves_and_loads_a_thread(
    url: str, base_python: Path, tmp_path: Path
) -> None:
    run(base_python, "-c", SAVE_AND_LOAD, url, cwd=tmp_path)


def test_the_base_install_answers_help(base_python: Path, tmp_path: Path) -> None:
    assert "usage: threadkeep" in run(base_python.with_name("threadkeep"), "--help", cwd=tmp_path)
