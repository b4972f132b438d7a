"""Identifiers and names: text that every backend keeps as it is and compares alike."""

from threadkeep.errors import InvalidRequestError


def is_plain(text: str) -> bool:
    """Say whether a text has neither NUL nor a lone surrogate, which not every backend can hold."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_part(name: str, part: str) -> bool:
    """Say whether a name holds a text somewhere, in either case."""
    return part.casefold() in name.casefold()


def check_identifier(kind: str, text: str) -> None:
    """Refuse a text that cannot name anything.

    Args:
        kind: What it names, for the message, e.g. ``"thread_id"``.

    Raises:
        InvalidRequestError: It is empty, or not plain.
    """
    if not text:
        raise InvalidRequestError(f"{kind} is empty")
    if not is_plain(text):
        raise InvalidRequestError(f"{kind} {text!r} holds NUL or a lone surrogate")
