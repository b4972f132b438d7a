"""JSON in forms that PostgreSQL compares as our rules do.

``jsonb`` compares numbers as decimals, and cannot hold NUL or lone surrogates. So a search form
writes a whole float with all its digits (``1e16`` is 10**16, and nothing else is), and writes the
characters that ``jsonb`` refuses behind an escape. Then ``@>`` is ``rules.containment`` and ``=``
is ``rules.json_equality``. Fractions stay as they are: each float has a text of its own, and no
integer has it.
"""

import re
from collections.abc import Mapping
from typing import Any

from threadkeep.rules.json_text import decode_json, json_text

ESCAPE = "\x1b"

# In JSON text: a leading space, escapes of what must be escaped, and numbers with an exponent, as
# every float from 10**16 has; it may stand in other texts too.
_ODD = re.compile(r"^ |\\u00(?:00|1[bB])|[0-9][eE]")
_REFUSED = re.compile(f"[\0{ESCAPE}\ud800-\udfff]")


def search_form(value: Any) -> Any:
    """Return a JSON value in its search form."""
    if isinstance(value, str):
        return search_text(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {search_text(key): search_form(held) for key, held in value.items()}
    if isinstance(value, list):
        return [search_form(held) for held in value]
    return value


def search_text(text: str) -> str:
    """Return a text with what ``jsonb`` refuses written behind an escape; no two become one."""
    return _REFUSED.sub(lambda found: f"{ESCAPE}{ord(found[0]):04x}", text)


def search_json(value: Any) -> str:
    """Return a JSON value as the text of its search form."""
    return json_text(search_form(value))


def searchable(text: str) -> str:
    """Return JSON text in its search form: itself, unless something in it is odd."""
    return odd_form(text) or text


def odd_form(text: str) -> str | None:
    """Return JSON text in its search form, where that is another."""
    return search_json(decode_json(text)) if _ODD.search(text) else None
