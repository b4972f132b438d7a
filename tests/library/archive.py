"""LangGraph's source archive and an environment for its tests, from the package index, kept."""

import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from benchmarks.environments import CACHE, ROOT, python_with

NEWEST = "1.2.24"  # as requirements/dev.txt has it
OLDEST = "1.0.1"  # the oldest that is supported, with what it was released with
WITH_OLDEST = ("langgraph-prebuilt==1.0.1", "langgraph-checkpoint==3.0.1")
TOOLS = (
    *("pytest", "pytest-mock", "pytest-repeat", "pytest-timeout", "pytest-xdist", "syrupy"),
    *("anyio", "httpx", "hypothesis", "pycryptodome", "redis", "uvloop"),
    *("langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres"),
    *("orjson", "zstandard", "psycopg[binary,pool]"),
)
SECONDS = 300


def environment(version: str, wheel: Path) -> Path:
    """Return a Python with a release of LangGraph, what its tests need, and our wheel."""
    more = WITH_OLDEST if version == OLDEST else ()
    python = python_with(f"langgraph-{version}", f"langgraph=={version}", *more, *TOOLS)
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    install: list[str | Path] = [
        uv,
        "pip",
        "install",
        "--no-deps",
        "--reinstall",
        "--python",
        python,
        wheel,
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=SECONDS)
    return python


def wheel(folder: Path) -> Path:
    """Build this repository's wheel into a folder."""
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    options = ("--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder)
    subprocess.run([uv, "build", *options], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def unpacked(version: str) -> Path:
    """Return a folder with the ``tests`` of a release, from its source archive."""
    folder = CACHE.parent / "library" / f"langgraph-{version}"
    if not (folder / "tests").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        download = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"]
        download += ["--no-build-isolation", "--dest", str(folder), f"langgraph=={version}"]
        subprocess.run(download, check=True, capture_output=True, timeout=SECONDS)
        with tarfile.open(folder / f"langgraph-{version}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        # Of its own, so that pytest takes no setting of ours for theirs.
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (folder / f"langgraph-{version}" / "tests").rename(folder / "tests")
    return folder
