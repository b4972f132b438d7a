"""Forgetting a project's modules, so that loading its graphs again runs the code on disk."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

INSTALLED = "site-packages"
OURS = "threadkeep"


def forget_modules(folders: Sequence[Path], changed: Iterable[Path]) -> None:
    """Drop every imported module whose file lies in a folder of the project.

    What is installed stays, also below the project's folder; so does what runs already: it keeps
    the objects it holds.

    Args:
        folders: The project's folders.
        changed: Files that changed; their bytecode goes too, because it is dated by the second
            and an edit within that second would not be seen.
    """
    for path in changed:
        if path.suffix == ".py":
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    roots = [folder.resolve() for folder in folders]
    for name, module in list(sys.modules.items()):
        if _is_of_project(name, module, roots):
            del sys.modules[name]
    importlib.invalidate_caches()


def _is_of_project(name: str, module: ModuleType | None, roots: Sequence[Path]) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or name == "__main__" or name.partition(".")[0] == OURS:
        return False
    path = Path(file).resolve()
    if INSTALLED in path.parts or path.is_relative_to(Path(sys.prefix).resolve()):
        return False
    return any(path.is_relative_to(root) for root in roots)
