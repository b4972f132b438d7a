"""Checks of single values in bodies and queries, and tables of fields made of them.

A check takes a JSON value and returns it, perhaps converted; what does not fit raises
``InvalidFieldError``, which names the field, the value and what was expected. Unknown fields pass
unread, as on LangGraph's server; a field given as ``null`` counts as absent.
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from threadkeep.errors import InvalidRequestError
from threadkeep.rules.paging import MAX_OFFSET

Check = Callable[[Any, str], Any]

MAX_SHOWN = 80  # characters of a wrong value that its error repeats
MAX_TEXT = 1024  # characters of a name or an identifier
MAX_LIST = 1000  # entries of a list of names or identifiers
MAX_PAGE = 1000  # rows a client may ask for at once


class InvalidFieldError(InvalidRequestError):
    """One field of a request is wrong.

    Attributes:
        field: Its path in the body, or its name in the query or the path of the URL.
    """

    code = "invalid_field"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def wrong(value: Any, path: str, expected: str) -> InvalidFieldError:
    """Make the error for a value that is not what was expected."""
    return InvalidFieldError(path, f"expected {expected}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as JSON, cut to what fits in a sentence."""
    if isinstance(value, str):
        value = value[: MAX_SHOWN + 1]
    elif isinstance(value, dict | list):
        kind = "an object" if isinstance(value, dict) else "a list"
        return f"{kind} with {len(value)} entries"
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def text(*, at_most: int = MAX_TEXT, at_least: int = 0) -> Check:
    """Make the check of a string whose length is bounded, in characters."""

    def check(value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise wrong(value, path, "a string")
        if not at_least <= len(value) <= at_most:
            raise InvalidFieldError(
                path, f"expected {at_least} to {at_most} characters, got {len(value)}"
            )
        return value

    return check


def number(*, at_least: float, at_most: float, above: float | None = None) -> Check:
    """Make the check of a finite number in bounds."""

    def check(value: Any, path: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(value, path, "a number")
        if not at_least <= value <= at_most or (above is not None and value <= above):
            lowest = f"above {above}" if above is not None else f"at least {at_least}"
            raise wrong(value, path, f"a number of {lowest} and at most {at_most}")
        return value

    return check


def integer(*, at_least: int, at_most: int) -> Check:
    """Make the check of an integer in bounds."""

    def check(value: Any, path: str) -> int:
        fits = isinstance(value, int) and not isinstance(value, bool)
        if not fits or not at_least <= value <= at_most:
            raise wrong(value, path, f"an integer from {at_least} to {at_most}")
        number: int = value
        return number

    return check


LIMIT = integer(at_least=0, at_most=MAX_PAGE)
OFFSET = integer(at_least=0, at_most=MAX_OFFSET)


def boolean(value: Any, path: str) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise wrong(value, path, "true or false")
    return value


def json_object(value: Any, path: str) -> dict[str, Any]:
    """Check a JSON object."""
    if not isinstance(value, dict):
        raise wrong(value, path, "an object")
    return value


def anything(value: Any, path: str) -> Any:
    """Let any JSON value pass."""
    return value


def moment(value: Any, path: str) -> datetime:
    """Check a time with its date and return it in UTC; without an offset it is UTC."""
    try:
        found = datetime.fromisoformat(text(at_most=64)(value, path))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise wrong(value, path, "a time of ISO 8601, like 2030-01-31T09:00:00Z") from error


def identifier(value: Any, path: str) -> str:
    """Check a UUID and return it in its usual spelling."""
    found = as_uuid(value)
    if found is None:
        raise wrong(value, path, "a UUID")
    return found


def as_uuid(value: Any) -> str | None:
    """Return a UUID in its usual spelling, or ``None`` for anything else."""
    if not isinstance(value, str) or len(value) not in {32, 36}:
        return None
    try:
        return str(uuid.UUID(value))
    except ValueError:
        return None


def one_of(*choices: str) -> Check:
    """Make the check of one word out of a few."""
    expected = "one of " + ", ".join(f'"{choice}"' for choice in choices)

    def check(value: Any, path: str) -> str:
        if not isinstance(value, str) or value not in choices:
            raise wrong(value, path, expected)
        return value

    return check


def list_of(entry: Check, *, at_most: int = MAX_LIST, at_least: int = 0) -> Check:
    """Make the check of a list whose entries pass a check."""

    def check(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise wrong(value, path, "a list")
        if not at_least <= len(value) <= at_most:
            raise InvalidFieldError(
                path, f"expected {at_least} to {at_most} entries, got {len(value)}"
            )
        return [entry(each, f"{path}[{index}]") for index, each in enumerate(value)]

    return check


def one_or_list_of(entry: Check) -> Check:
    """Make the check of a value or a list of such values; returns a list."""
    many = list_of(entry)

    def check(value: Any, path: str) -> list[Any]:
        found: list[Any] = many(value, path) if isinstance(value, list) else [entry(value, path)]
        return found

    return check


def refused(remedy: str) -> Check:
    """Make the check of a field that is known, and that this server does not act on."""

    def check(value: Any, path: str) -> Any:
        raise InvalidFieldError(path, f"this server does not act on it; {remedy}")

    return check


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a body or a query.

    Attributes:
        name: Its key.
        check: What its value must pass.
        required: Whether the request is refused without it.
        default: What stands for an absent one.
    """

    name: str
    check: Check
    required: bool = False
    default: Any = None


def read_fields(body: Any, fields: Sequence[Field], path: str = "") -> dict[str, Any]:
    """Check an object against a table.

    Args:
        body: The object.
        fields: The table.
        path: Where the object stands in the body, for errors; empty for the body itself.

    Returns:
        A value for each field of the table, and no others.

    Raises:
        InvalidFieldError: The object is none, or one of its fields is missing or wrong.
    """
    given: Mapping[str, Any] = json_object(body, path or "body")
    return {field.name: _read(given.get(field.name), field, path) for field in fields}


def _read(value: Any, field: Field, path: str) -> Any:
    where = f"{path}.{field.name}" if path else field.name
    if value is not None:
        return field.check(value, where)
    if field.required:
        raise InvalidFieldError(where, "required, but absent")
    return field.default
