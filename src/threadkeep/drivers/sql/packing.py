"""How keys and references are kept in few bytes: the same in every SQL driver.

Text is kept as bytes, so that NUL and lone surrogates come back and the order is by code point.
"""

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct

from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import REF_BYTES
from threadkeep.rules.document_order import is_compact, text_bytes

_FEW = 64  # addresses that a node names at most, but for few
_OTHER = b"\xff"  # leads an id that is no UUID: after every UUID, as the port orders them


def pack_text(text: str) -> bytes:
    """Return text as bytes."""
    return text_bytes(text)


def unpack_text(packed: bytes) -> str:
    """Return the text that ``pack_text`` was given.

    Raises:
        CorruptionError: It is none that ``pack_text`` makes.
    """
    try:
        return packed.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise CorruptionError(f"a stored text is damaged: {error}") from error


def pack_id(ident: str) -> bytes:
    """Return an id as bytes: a lowercase UUID as its 16."""
    if is_compact(ident):
        return bytes.fromhex(ident.replace("-", ""))
    return _OTHER + text_bytes(ident)


def unpack_id(packed: bytes) -> str:
    """Return the id that ``pack_id`` was given."""
    if packed.startswith(_OTHER):
        return unpack_text(packed[1:])
    digits = packed.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def pack_refs(refs: Sequence[bytes]) -> bytes | None:
    """Return addresses as one value; none are ``None``."""
    return b"".join(refs) or None


def unpack_refs(packed: bytes | None) -> tuple[bytes, ...]:
    """Return the addresses that ``pack_refs`` was given.

    Raises:
        CorruptionError: They are none that ``pack_refs`` makes.
    """
    if packed is None:
        return ()
    if len(packed) % REF_BYTES:
        raise CorruptionError(f"stored addresses are damaged: {len(packed)} bytes")
    count = len(packed) // REF_BYTES
    if count > _FEW:
        return tuple([packed[at : at + REF_BYTES] for at in range(0, len(packed), REF_BYTES)])
    return _refs(count).unpack(packed)


@lru_cache(maxsize=_FEW + 1)
def _refs(count: int) -> Struct:
    """Make what cuts so many addresses apart, in a third of the time."""
    return Struct(f"{REF_BYTES}s" * count)
