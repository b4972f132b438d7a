"""What of a run's configuration may be shown again.

Callers hand credentials to a graph in ``configurable``. They must reach the graph, and must not
come back in an answer: neither as part of a config nor in the metadata of a checkpoint, where
LangGraph copies the plain values of ``configurable``.
"""

from collections.abc import Mapping
from typing import Any

from threadkeep.rules.credentials import is_credential

SEALED = "sealed"  # under which a run's row says where its secrets are
PRIVATE_PREFIX = "__"  # LangGraph's own objects in a config


def is_shown(key: str) -> bool:
    """Say whether the value under a key may be shown; names of credentials and private ones not."""
    return not key.startswith(PRIVATE_PREFIX) and not is_credential(key)


def redact_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without the keys that may not be shown, at its top level."""
    return {key: value for key, value in values.items() if is_shown(key)}


def redact_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config whose ``configurable`` and ``metadata`` hold only what may be shown."""
    shown = dict(config)
    for name in ("configurable", "metadata"):
        if isinstance(shown.get(name), Mapping):
            shown[name] = redact_keys(shown[name])
    return shown


def redact_kwargs(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run was made with, its config and context holding only what may be shown."""
    shown = {key: value for key, value in kwargs.items() if key != SEALED}
    if isinstance(shown.get("config"), Mapping):
        shown["config"] = redact_config(shown["config"])
    if isinstance(shown.get("context"), Mapping):
        shown["context"] = redact_keys(shown["context"])
    return shown
