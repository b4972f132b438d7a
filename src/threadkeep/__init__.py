"""Durable memory for LangGraph agents.

Six names are all a user needs; each is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadkeep.errors import ThreadkeepError
    from threadkeep.savers.default import create_checkpointer, set_default_checkpointer
    from threadkeep.savers.saver import DocumentCheckpointSaver
    from threadkeep.savers.store import ItemStore
    from threadkeep.wiring import create_app

__version__ = "0.1.0"

__all__ = [
    "DocumentCheckpointSaver",
    "ItemStore",
    "ThreadkeepError",
    "__version__",
    "create_app",
    "create_checkpointer",
    "set_default_checkpointer",
]

_HOMES = {
    "DocumentCheckpointSaver": "threadkeep.savers.saver",
    "ItemStore": "threadkeep.savers.store",
    "ThreadkeepError": "threadkeep.errors",
    "create_app": "threadkeep.wiring",
    "create_checkpointer": "threadkeep.savers.default",
    "set_default_checkpointer": "threadkeep.savers.default",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("threadkeep"):
            raise
        raise ModuleNotFoundError(
            f'threadkeep.{name} needs the package {error.name!r}; install "threadkeep[server]"',
            name=error.name,
        ) from error


def __dir__() -> list[str]:
    return __all__
