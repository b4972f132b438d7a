"""Plain bytes of a document, its address, and the body that is stored for it.

A *plain* is a flag byte (its kind and the serializer's type) and a payload. Its address is a keyed
hash of the plain and of the addresses the document names: taken before compression, so that the
compression may change without moving an address. A *body* is a format byte and what the format
makes of the plain. Format numbers are never reused.
"""

import hashlib
from collections import deque
from collections.abc import Sequence

import zstandard

from threadkeep.checkpoints.boilerplate import MESSAGES
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import REF_BYTES

PLAIN = 0  # the plain as it is
ZSTD = 1  # a magicless zstd frame of the plain, with the dictionary ``boilerplate.MESSAGES``
MANIFEST = 2  # nothing: the bodies of the parts that ``refs`` name, joined, are the body
FIELD = 3  # the flag byte; the payload is the text of the declared field ``metadata``

VALUE, NODE, SHAPE, META, PART, CHECKPOINT, WRITES = range(7)  # kinds: the high half of a flag

PUBLIC_KEY = b"threadkeep.documents.v2"  # of addresses, where a saver has no key of its own
COMPRESS_MIN_BYTES = 64  # below this a frame is longer than what it saves
COMPRESS_GAIN_BYTES = 8  # bytes saved that are worth the time to read them back
LEVEL = 3  # level 6 saves 1.6 % more for twice the time

_DICTIONARY = zstandard.ZstdCompressionDict(MESSAGES, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(
    LEVEL,
    format=zstandard.FORMAT_ZSTD1_MAGICLESS,
    write_content_size=1,
    write_checksum=0,
    write_dict_id=0,
)
# A zstd context serves one thread at a time: each use takes one from here, or makes it.
_compressors: deque[zstandard.ZstdCompressor] = deque(maxlen=8)
_decompressors: deque[zstandard.ZstdDecompressor] = deque(maxlen=8)


def flag(kind: int, serde_type: int = 0) -> bytes:
    """Build the flag byte of a plain."""
    return bytes((kind << 4 | serde_type,))


def address(key: bytes, plain: bytes, refs: Sequence[bytes] = ()) -> bytes:
    """Name a document by its content: ``REF_BYTES`` bytes of keyed BLAKE2b."""
    digest = hashlib.blake2b(plain, digest_size=REF_BYTES, key=key)
    for ref in refs:
        digest.update(ref)
    return digest.digest()


def seal(plain: bytes) -> bytes:
    """Make the body of a plain, compressed where that pays."""
    if len(plain) >= COMPRESS_MIN_BYTES:
        packed = _compress(plain)
        if len(packed) + COMPRESS_GAIN_BYTES <= len(plain):
            return bytes((ZSTD,)) + packed
    return bytes((PLAIN,)) + plain


def unseal(body: bytes) -> bytes:
    """Give back the plain of a body.

    Raises:
        CorruptionError: The body is none that ``seal`` makes.
    """
    if body[:1] == b"\x00":
        return body[1:]
    if body[:1] != b"\x01":
        raise CorruptionError(f"a body of unknown format {body[:1].hex()!r}")
    try:
        return _decompress(body[1:])
    except (zstandard.ZstdError, MemoryError) as error:  # its size may be damaged too
        raise CorruptionError("a compressed body cannot be read") from error


def _compress(plain: bytes) -> bytes:
    try:
        compressor = _compressors.pop()
    except IndexError:
        compressor = zstandard.ZstdCompressor(dict_data=_DICTIONARY, compression_params=_PARAMETERS)
    try:
        return compressor.compress(plain)
    finally:
        _compressors.append(compressor)


def _decompress(packed: bytes) -> bytes:
    try:
        decompressor = _decompressors.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor(
            dict_data=_DICTIONARY, format=zstandard.FORMAT_ZSTD1_MAGICLESS
        )
    try:
        return decompressor.decompress(packed)
    finally:
        _decompressors.append(decompressor)
