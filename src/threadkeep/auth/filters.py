"""What a rule answers, as metadata: what rows must contain, and what new ones get."""

from collections.abc import Mapping
from typing import Any

from threadkeep.errors import ConfigError


def enforced(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the metadata of a row must contain, for a ``WHERE`` clause.

    A bare value or ``$eq`` asks for that value, ``$contains`` for a list with that entry or those.

    Raises:
        ConfigError: There is another operator.
    """
    return {key: _contained(key, wanted) for key, wanted in filters.items()}


def stamped(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata changed so that it contains what is enforced."""
    found = dict(metadata)
    for key, value in wanted.items():
        present = found.get(key)
        if isinstance(value, list) and isinstance(present, list):
            found[key] = [*present, *(each for each in value if each not in present)]
        else:
            found[key] = value
    return found


def _contained(key: str, wanted: Any) -> Any:
    if not isinstance(wanted, Mapping):
        return wanted
    if len(wanted) == 1 and "$eq" in wanted:
        return wanted["$eq"]
    if len(wanted) == 1 and "$contains" in wanted:
        entries = wanted["$contains"]
        return list(entries) if isinstance(entries, list | tuple) else [entries]
    raise ConfigError(
        f"auth: a rule answered the filter {key}: {dict(wanted)!r}; expected a value, "
        '{"$eq": value} or {"$contains": value or list}'
    )
