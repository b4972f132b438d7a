"""Which names are those of credentials: what is never stored, and never shown.

A name is taken apart into words: ``OPENAI_API_KEY``, ``openaiApiKey`` and ``x-openai.api key`` are
the same ones. It is a credential's when one of its words, or two that follow each other, say so.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

REDACTED = "[redacted]"  # what is stored in the place of a credential

# Where two words meet: at what is neither letter nor digit, and where upper case begins.
_BORDER = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = frozenset(
    (
        *("auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials"),
        *("creds", "jwt", "pass", "passcode", "passphrase", "passwd", "password", "passwords"),
        *("pwd", "secret", "secrets", "token"),
    )
)
# Written as one word, and before a number: apikey2.
_JOINED = re.compile(
    r"(api|access|private|secret|signing|encryption|license)keys?"
    r"|(access|api|auth|bearer|id|oauth|refresh|session|user)tokens?"
    r"|(client|app|user|db|database|admin|root)(secret|password|passwd|pwd)"
)
_KEYS = frozenset(("api", "access", "private", "secret", "signing", "encryption", "license"))
_TOKENS = frozenset(("access", "api", "auth", "bearer", "id", "oauth", "refresh", "session"))
# After "token" these say how many, or which: a count is no credential.
_COUNTED = frozenset(
    (
        *("budget", "count", "counts", "counter", "id", "ids", "length", "limit", "max", "min"),
        *("rate", "size", "total", "type", "types", "usage", "used", "window"),
    )
)
# The entries of LangGraph's metadata whose keys are names of nodes and of channels.
_NAMES_OF_NODES = frozenset(("parents", "counters_since_delta_snapshot"))


def is_credential(name: str, further: Collection[str] = ()) -> bool:
    """Say whether a name is that of a credential.

    Args:
        name: A key of a configuration or of metadata.
        further: Names that are credentials whatever their words, without regard to case.
    """
    if name.casefold() in {each.casefold() for each in further}:
        return True
    words = [re.sub(r"\d+$", "", word).lower() for word in _BORDER.split(name)]
    words = [word for word in words if word]
    return any(
        _is_one(word, words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else "")
        for at, word in enumerate(words)
    )


def _is_one(word: str, before: str, after: str) -> bool:
    if word == "token":
        return after not in _COUNTED
    if word in ("key", "keys"):
        return before in _KEYS
    if word == "tokens":
        return before in _TOKENS
    return word in _WORDS or _JOINED.fullmatch(word) is not None


def without_credentials(
    metadata: Mapping[str, Any], further: Collection[str] = ()
) -> dict[str, Any]:
    """Return metadata with ``REDACTED`` under each name of a credential, at every depth.

    A value that holds none is given back as the same object.
    """
    return {
        key: value if key in _NAMES_OF_NODES else _redacted(key, value, further)
        for key, value in metadata.items()
    }


def _redacted(key: Any, value: Any, further: Collection[str]) -> Any:
    if isinstance(key, str) and is_credential(key, further):
        return REDACTED
    return _inside(value, further)


def _inside(value: Any, further: Collection[str]) -> Any:
    if isinstance(value, dict):
        made = {key: _redacted(key, held, further) for key, held in value.items()}
        return value if all(made[key] is value[key] for key in made) else made
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        items = [_inside(held, further) for held in value]
        same = all(one is other for one, other in zip(items, value, strict=True))
        return value if same else type(value)(items)
    return value
