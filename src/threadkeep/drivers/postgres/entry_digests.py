"""Entries of a JSON object as digests, so that the database finds equal ones exactly.

PostgreSQL's own JSON takes no NUL, and takes 9007199254740993 and 9007199254740993.0 for the same
number. Two digests are the same where ``rules.json_equality`` says that the values are.
"""

import json
from hashlib import blake2b
from typing import Any
from uuid import UUID

from threadkeep.errors import InvalidRequestError
from threadkeep.rules.document_order import text_bytes

DIGEST_BYTES = 16  # a UUID's: an array of them has no header for each


def digests_of(metadata: str) -> bytes:
    """Return the digests of an object's top-level entries, one after the other."""
    return b"".join(_digest([key, value]) for key, value in _parsed(metadata).items())


def digest_list(text: str) -> list[UUID]:
    """Return the digests of an object's top-level entries, each once."""
    found = {_digest([key, value]) for key, value in _parsed(text).items()}
    return [UUID(bytes=digest) for digest in sorted(found)]


def digest_of(entry: str, value: str) -> UUID:
    """Return the digest of an entry, its value given as JSON text."""
    return UUID(bytes=_digest([entry, _parsed(value)]))


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=_number)


def _number(text: str) -> int | float:
    """Return a number written with a point or exponent; a whole one as the integer it equals."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _digest(entry: list[Any]) -> bytes:
    try:
        # Keys are ordered, and text stays as it is: escapes would make surrogates pairs.
        text = json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except RecursionError as error:
        raise InvalidRequestError("metadata is nested too deeply") from error
    return blake2b(text_bytes(text), digest_size=DIGEST_BYTES).digest()
