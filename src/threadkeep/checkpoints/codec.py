"""Values to plain bytes and back, by LangGraph's serializer.

The serializer is passed in; nothing here knows which it is. An address is always taken over what
the serializer made, so a serializer that answers differently each time only shares nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from threadkeep.checkpoints import bodies
from threadkeep.errors import CorruptionError, ThreadkeepError, ValueNotStorableError
from threadkeep.ports.documents import PART_BYTES

TYPES = ("null", "bytes", "bytearray", "msgpack", "json", "pickle")  # by number, in the flag byte
OTHER = 15  # the payload begins with the type's name, after a byte with the name's length


@contextmanager
def storing(what: str) -> Iterator[None]:
    """Name what is being packed when it cannot be, whatever a serializer or an object raises.

    Raises:
        ValueNotStorableError: In place of any error but ours.
    """
    try:
        yield
    except (ThreadkeepError, MemoryError):
        raise
    except Exception as error:
        raise ValueNotStorableError(f"{what} cannot be stored: {error}") from error


class Serde(Protocol):
    """What is used of LangGraph's ``SerializerProtocol``."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]: ...  # noqa: D102

    def loads_typed(self, data: tuple[str, bytes]) -> Any: ...  # noqa: D102


ERROR = "__error__"  # LangGraph's channel of what a task ended with


@dataclass(frozen=True, slots=True)
class Codec:
    """A serializer and the key of addresses.

    Attributes:
        serde: The serializer.
        key: Of addresses.
        older_keys: Of addresses that were made before the key was changed.
        part_bytes: The greatest body that is not cut into parts.
    """

    serde: Serde
    key: bytes = bodies.PUBLIC_KEY
    older_keys: tuple[bytes, ...] = ()
    part_bytes: int = PART_BYTES

    def dump(self, value: Any, kind: int = bodies.VALUE) -> bytes:
        """Make the plain of a value."""
        name, payload = self.serde.dumps_typed(value)
        if name in TYPES:
            return bodies.flag(kind, TYPES.index(name)) + payload
        text = name.encode()
        return bodies.flag(kind, OTHER) + bytes((len(text),)) + text + payload

    def written(self, channel: str, value: Any) -> Any:
        """Give what a task wrote as it is stored: an exception as its text, as LangGraph has it.

        A serializer without ``errors_as_text`` gets the exception itself.
        """
        if channel == ERROR and isinstance(value, BaseException):
            return repr(value) if getattr(self.serde, "errors_as_text", False) else value
        return value

    def load(self, plain: bytes) -> Any:
        """Make the value of a plain, an object of its own each time.

        Raises:
            CorruptionError: Its type is none that a serializer has.
        """
        number = plain[0] & 15
        if number < len(TYPES):
            return self.serde.loads_typed((TYPES[number], plain[1:]))
        if number != OTHER:
            raise CorruptionError(f"a value of unknown serializer type {number}")
        end = 2 + plain[1]
        return self.serde.loads_typed((plain[2:end].decode(), plain[end:]))

    def address(self, plain: bytes, refs: tuple[bytes, ...] = ()) -> bytes:
        """Name a document by its content."""
        return bodies.address(self.key, plain, refs)

    def is_address(self, ref: bytes, plain: bytes, refs: tuple[bytes, ...] = ()) -> bool:
        """Tell whether an address is that of a document, under any of the keys."""
        if bodies.address(self.key, plain, refs) == ref:
            return True
        return any(bodies.address(key, plain, refs) == ref for key in self.older_keys)

    def are_addresses(self, refs: Sequence[bytes], plains: Sequence[bytes]) -> bool:
        """Tell whether addresses are those of documents that name no others."""
        named = bodies.addresses(self.key, plains)
        return named == refs or (self.older_keys != () and all(map(self.is_address, refs, plains)))
