"""``threadkeep new``: a working project, from the templates beside this file."""

import json
import shlex
from argparse import Namespace
from importlib.resources import files
from pathlib import Path

from threadkeep.errors import ConfigError

TEMPLATE = "chat"
# A template's name in the package, and in the project: no tool takes the former for its own.
FILES = {
    "graph.py.template": "graph.py",
    "langgraph.json.template": "langgraph.json",
    "README.md.template": "README.md",
    "gitignore.template": ".gitignore",
}


def run(chosen: Namespace) -> int:
    """Make the project and say how to start it.

    Raises:
        ConfigError: The folder is there and holds something, or cannot be made.
    """
    folder = Path(chosen.path)
    made = make_project(folder)
    if chosen.json:
        print(json.dumps({"path": str(folder.absolute()), "files": made}))
        return 0
    print(f"Made {folder}/ with {', '.join(made)}.")
    print(f"Start it: cd {_quoted(folder)} && threadkeep dev")
    return 0


def _quoted(folder: Path) -> str:
    """Return a folder as a shell takes it, also one whose name begins like an option."""
    return shlex.quote(f"./{folder}" if str(folder).startswith("-") else str(folder))


def make_project(folder: Path) -> list[str]:
    """Write the template's files into a folder that is new or empty; return their names.

    Raises:
        ConfigError: The folder has something in it, or cannot be made.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not an empty folder; choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, name in FILES.items():
            text = template(source).replace("{{name}}", folder.absolute().name)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made: {error.strerror}") from error
    return list(FILES.values())


def template(name: str) -> str:
    """Return the text of one file of the template."""
    source = files("threadkeep.cli") / "templates" / TEMPLATE / name
    return source.read_text(encoding="utf-8")
