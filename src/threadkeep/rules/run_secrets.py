"""The secrets among what a run was made with: what is kept apart while it waits.

They are what ``rules.redaction`` never shows: entries of the run's ``configurable``, of its
config's metadata and of its context whose names are those of credentials.
"""

from collections.abc import Mapping
from typing import Any

from threadkeep.errors import InvalidRequestError
from threadkeep.rules.redaction import SEALED, is_shown, redact_kwargs

Secrets = Mapping[str, Mapping[str, Any]]


def secrets_of(kwargs: Mapping[str, Any]) -> Secrets:
    """Return the secrets by the place they stand in; empty where there are none."""
    config = kwargs.get("config")
    places: dict[str, Any] = {"context": kwargs.get("context")}
    if isinstance(config, Mapping):
        places |= {name: config.get(name) for name in ("configurable", "metadata")}
    found = {
        place: {key: value for key, value in held.items() if not is_shown(key)}
        for place, held in places.items()
        if isinstance(held, Mapping)
    }
    return {place: held for place, held in found.items() if held}


def check_no_secrets(kwargs: Mapping[str, Any], keeper: str) -> None:
    """Refuse credentials where they would be kept in the clear, and for as long as their keeper.

    Raises:
        InvalidRequestError: There is one; names its key.
    """
    for place, held in secrets_of(kwargs).items():
        raise InvalidRequestError(
            f"{place}.{next(iter(held))} is named like a credential, and {keeper} would keep it; "
            "give it with each run, or let the graph read it from its environment"
        )


def without_secrets(kwargs: Mapping[str, Any], sealed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run was made with, its secrets replaced by what says where they are."""
    return {**redact_kwargs(kwargs), SEALED: sealed}


def with_secrets(kwargs: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Return what a run was made with, its secrets in their places again."""
    whole = {key: value for key, value in kwargs.items() if key != SEALED}
    for place, held in secrets.items():
        if place == "context":
            whole["context"] = {**(whole.get("context") or {}), **held}
        else:
            config = whole.get("config") or {}
            whole["config"] = {**config, place: {**(config.get(place) or {}), **held}}
    return whole
