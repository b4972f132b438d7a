"""How a mistake in a configuration is told: where it stands, what was found, what is expected."""

import difflib
import json
from collections.abc import Iterable
from typing import Any

from threadkeep.errors import ConfigError

SHOWN_CHARACTERS = 60  # of a wrong value; enough to recognise it, and one line


def mistake(file: str, key: str, found: Any, expected: str, remedy: str = "") -> ConfigError:
    """Return the error for one wrong value.

    Args:
        file: The file, as the user would name it.
        key: The path of the key, e.g. ``graphs.chat``.
        found: The value that stands there.
        expected: What could stand there.
        remedy: What to do, when ``expected`` does not say it.
    """
    text = f"{file}: {key}: found {shown(found)}; expected {expected}"
    return ConfigError(f"{text}. {remedy}" if remedy else text)


def refused(file: str, key: str, reason: str, remedy: str) -> ConfigError:
    """Return the error for a key whose silent neglect would mislead."""
    return ConfigError(f"{file}: {key}: {reason}. {remedy}")


def shown(value: Any) -> str:
    """Return a value as JSON, cut to ``SHOWN_CHARACTERS``."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean …?)`` for a word close to a known one, else nothing."""
    found = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
