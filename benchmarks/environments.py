"""An environment with one package of the index, made once and kept in ``.cache``."""

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "environments"
SECONDS = 300  # for an installation


class NotInstalledError(Exception):
    """A package cannot be installed here; the message says why."""


def python_with(name: str, *requirements: str) -> Path:
    """Return the Python of an environment that holds these, made where it is missing.

    Args:
        name: The name of its folder; what it holds is in ``installed`` there.
        requirements: As ``pip`` takes them.

    Raises:
        NotInstalledError: The index does not answer, or has none.
    """
    folder = CACHE / name
    python, installed = folder / "bin" / "python", folder / "installed"
    wanted = "\n".join(requirements)
    if installed.is_file() and installed.read_text("utf-8") == wanted:
        return python
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    make: list[str | Path] = [uv, "venv", "--clear", "--python", sys.executable, folder]
    install: list[str | Path] = [uv, "pip", "install", "--compile-bytecode"]
    install += ["--python", python, *requirements]
    for command in (make, install):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise NotInstalledError(f"{wanted}: no answer in {SECONDS} s") from error
        if done.returncode:
            raise NotInstalledError(f"{wanted}: {done.stderr.strip()}")
    installed.write_text(wanted, encoding="utf-8")
    return python
