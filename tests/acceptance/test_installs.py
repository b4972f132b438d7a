"""The wheel, installed as users do it: the base saves and loads a thread, and brings little."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests.servers.process import HOST, free_port, running

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


def python_with(requirement: str, folder: Path) -> Path:
    """Return the Python of a new environment that holds one requirement and what it needs."""
    run(UV, "venv", "--python", sys.executable, folder / "venv")
    python = folder / "venv" / "bin" / "python"
    install = (UV, "pip", "install", "--compile-bytecode", "--python", python)
    run(*install, "-c", "requirements/dev.txt", requirement)
    return python


@pytest.fixture(scope="module")
def base_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return python_with(f"threadkeep @ {wheel.as_uri()}", tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def server_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return python_with(f"threadkeep[server] @ {wheel.as_uri()}", tmp_path_factory.mktemp("server"))


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


@pytest.mark.parametrize(
    "command", [("-c", "from threadkeep import create_app"), ("-m", "threadkeep.cli.main", "dev")]
)
def test_what_the_base_install_cannot_do_names_the_extra(
    command: tuple[str, ...], base_python: Path, tmp_path: Path
) -> None:
    done = subprocess.run([base_python, *command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in {1, 2}
    assert 'install "threadkeep[server]"' in done.stderr.splitlines()[-1]


def test_make_refuses_an_older_python_and_leaves_no_environment_of_it(tmp_path: Path) -> None:
    older = tmp_path / "python3"
    script = "import sys\nsys.version_info = (3, 10, 0)\nexec(sys.argv[2])\n"
    older.write_text(f"#!{sys.executable}\n{script}")
    older.chmod(0o755)
    command = ("make", "-f", ROOT / "Makefile", ".venv/bin/uv", f"PYTHON={older}")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{older} is older than Python 3.11" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_server_install_serves_a_new_project(server_python: Path, tmp_path: Path) -> None:
    threadkeep = server_python.with_name("threadkeep")
    run(threadkeep, "new", "demo", cwd=tmp_path)
    port = free_port()
    words = ["dev", "--port", str(port), "--no-browser"]
    said: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}]}
    with running([threadkeep, *words], port=port, folder=tmp_path / "demo"):
        client = get_sync_client(url=f"http://{HOST}:{port}")
        (assistant, *_) = client.assistants.search()
        thread = client.threads.create()["thread_id"]
        client.runs.wait(thread, assistant["assistant_id"], input=said)
        values: Any = client.threads.get_state(thread)["values"]
    assert [message["type"] for message in values["messages"]][:2] == ["human", "ai"]
