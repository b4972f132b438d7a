"""The files of this repository, as the tests of this folder look at them."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "threadkeep"


def tracked_files() -> list[Path]:
    """Return the files that git keeps, or would keep once they are added."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    files = [ROOT / name for name in names.split("\0") if name]
    return [file for file in files if file.is_file()]


def source_files() -> list[Path]:
    """Return the Python files of the package."""
    return sorted(SOURCE.rglob("*.py"))


def python_files() -> list[Path]:
    """Return every Python file that git keeps, tests and examples included."""
    return [file for file in tracked_files() if file.suffix == ".py"]


def relative(path: Path) -> str:
    """Return a path as the reader of a failed test would look for it."""
    return path.relative_to(ROOT).as_posix()
