"""What stands for a value that was not restored: kept data, or a secret that was never stored."""

from typing import Any

from pydantic import SecretBytes, SecretStr

from threadkeep.errors import SecretNotStoredError


class Unrestored:
    """A stored value whose class is not there, or may not be restored.

    It is written again as it was read. It equals another one of the same bytes only.

    Attributes:
        type_name: Module and qualified name of its class, as stored.
        reason: Why it was not restored.
        data: What was stored of it.
    """

    __slots__ = ("_code", "_raw", "data", "reason", "type_name")

    def __init__(self, code: int, raw: bytes, type_name: str, reason: str, data: Any) -> None:
        self._code = code
        self._raw = raw
        self.type_name = type_name
        self.reason = reason
        self.data = data

    @property
    def stored(self) -> tuple[int, bytes]:
        """The msgpack extension that it was read from, and is written as."""
        return self._code, self._raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unrestored) and self.stored == other.stored

    def __hash__(self) -> int:
        return hash(self.stored)

    def __repr__(self) -> str:
        return f"<unrestored {self.type_name}: {self.reason}; {self.data!r}>"


class RedactedStr(SecretStr):
    """A ``SecretStr`` whose secret was not stored; the run must be given it anew."""

    def __init__(self) -> None:
        super().__init__("")

    def get_secret_value(self) -> str:
        """Refuse.

        Raises:
            SecretNotStoredError: Always.
        """
        raise SecretNotStoredError

    def _display(self) -> str:
        return "[redacted]"

    def __len__(self) -> int:
        raise SecretNotStoredError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RedactedStr)

    def __hash__(self) -> int:
        return hash(RedactedStr)


class RedactedBytes(SecretBytes):
    """A ``SecretBytes`` whose secret was not stored; the run must be given it anew."""

    def __init__(self) -> None:
        super().__init__(b"")

    def get_secret_value(self) -> bytes:
        """Refuse.

        Raises:
            SecretNotStoredError: Always.
        """
        raise SecretNotStoredError

    def _display(self) -> bytes:
        return b"[redacted]"

    def __len__(self) -> int:
        raise SecretNotStoredError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RedactedBytes)

    def __hash__(self) -> int:
        return hash(RedactedBytes)


class Redacted:
    """Any other secret that was not stored.

    Attributes:
        type_name: Module and qualified name of its class.
    """

    __slots__ = ("type_name",)

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def get_secret_value(self) -> Any:
        """Refuse.

        Raises:
            SecretNotStoredError: Always.
        """
        raise SecretNotStoredError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Redacted) and other.type_name == self.type_name

    def __hash__(self) -> int:
        return hash((Redacted, self.type_name))

    def __repr__(self) -> str:
        return f"{self.type_name.rpartition(':')[2]}('[redacted]')"


_BY_NAME = {"pydantic.types:SecretStr": RedactedStr, "pydantic.types:SecretBytes": RedactedBytes}


def redacted(type_name: str) -> Any:
    """Make what stands for a secret of a class."""
    kind = _BY_NAME.get(type_name)
    return Redacted(type_name) if kind is None else kind()


def secret_name(secret: Any) -> str:
    """Name the class of a secret, or of what stands for one."""
    if isinstance(secret, Redacted):
        return secret.type_name
    for name, kind in _BY_NAME.items():
        if type(secret) is kind:
            return name
    return f"{type(secret).__module__}:{type(secret).__qualname__}"
