"""Plain bytes of a document, its address, and the body that is stored for it.

A *plain* is a flag byte (its kind and the serializer's type) and a payload. Its address is a keyed
hash of the plain and of the addresses the document names: taken before compression, so that the
compression may change without moving an address. A *body* is a format byte and what the format
makes of the plain. Format numbers are never reused.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Sequence

import zstandard

from threadkeep.checkpoints.boilerplate import MESSAGES, TABLES
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.ports.documents import REF_BYTES

PLAIN = 0  # the plain as it is
ZSTD = 1  # a magicless zstd frame of the plain, with the content of ``DICTIONARY``; no more made
MANIFEST = 2  # nothing: the bodies of the parts that ``refs`` name, joined, are the body
FIELD = 3  # the flag byte; the payload is the text of the declared field ``metadata``
TABLED = 4  # a magicless zstd frame of the plain, with ``DICTIONARY``
CHECKED = 8  # of a checkpoint or write: sums, then a body of format 0, 1 or 4; see ``sums``
ENCRYPTED = 9  # a key's name, then another body and more, encrypted; see ``encryption``
FORMATS = 64  # numbers below it are formats, of this release or of a later one; others are none

# Kinds: the high half of a flag.
VALUE, NODE, SHAPE, META, PART, CHECKPOINT, WRITES, SEND = range(8)

PUBLIC_KEY = b"threadkeep.documents.v2"  # of addresses, where a saver has no key of its own
COMPRESS_MIN_BYTES = 64  # below this a frame is longer than what it saves
COMPRESS_GAIN_BYTES = 8  # bytes saved that are worth the time to read them back
LEVEL = 3  # level 6 saves 1.6 % more for twice the time
# What a frame may become: one of 256 KiB could else ask for 8 GB. Above it none is made.
PLAIN_MAX_BYTES = 64 * 1024 * 1024
PLAIN_MAX_RATIO = 1024

DICTIONARY = zstandard.ZstdCompressionDict(
    TABLES + MESSAGES, dict_type=zstandard.DICT_TYPE_FULLDICT
)
_CONTENT = zstandard.ZstdCompressionDict(MESSAGES, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
_FRAMES = {ZSTD: _CONTENT, TABLED: DICTIONARY}
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(
    LEVEL,
    format=zstandard.FORMAT_ZSTD1_MAGICLESS,
    write_content_size=1,
    write_checksum=0,
    write_dict_id=0,
)
# In the first byte of a frame: whether its size is given, in 8 or 16 bits. Then there is room.
_SIZE_BITS, _SMALL_SIZE = 0xA0, 0x20
# A zstd context serves one thread at a time: each use takes one from here, or makes it.
_compressors: deque[zstandard.ZstdCompressor] = deque(maxlen=8)
_decompressors: dict[int, deque[zstandard.ZstdDecompressor]] = {
    form: deque(maxlen=8) for form in _FRAMES
}


def flag(kind: int, serde_type: int = 0) -> bytes:
    """Build the flag byte of a plain."""
    return bytes((kind << 4 | serde_type,))


def address(key: bytes, plain: bytes, refs: Sequence[bytes] = ()) -> bytes:
    """Name a document by its content: ``REF_BYTES`` bytes of keyed BLAKE2b."""
    digest = hashlib.blake2b(plain, digest_size=REF_BYTES, key=key)
    if refs:
        digest.update(b"".join(refs))
    return digest.digest()


def addresses(key: bytes, plains: Iterable[bytes]) -> list[bytes]:
    """Name documents that name no others; see ``address``."""
    begun = hashlib.blake2b(digest_size=REF_BYTES, key=key)
    named = []
    for plain in plains:
        digest = begun.copy()
        digest.update(plain)
        named.append(digest.digest())
    return named


def seal(plain: bytes) -> bytes:
    """Make the body of a plain, compressed where that pays."""
    return b"".join(sealed(plain))


def sealed(plain: bytes) -> tuple[bytes, bytes]:
    """Make the body of a plain in two pieces, the second of which may be the plain itself."""
    if len(plain) >= COMPRESS_MIN_BYTES:
        packed = _compress(plain)
        if len(packed) + COMPRESS_GAIN_BYTES <= len(plain) <= most_bytes(packed):
            return bytes((TABLED,)), packed
    return bytes((PLAIN,)), plain


def unseal(body: bytes) -> bytes:
    """Give back the plain of a body.

    Raises:
        CorruptionError: The body is none that ``seal`` makes.
        SchemaTooNewError: It is of a format that a later release may know.
    """
    form = body[0] if body else FORMATS
    if form == PLAIN:
        return body[1:]
    if form not in _FRAMES:
        raise unknown_format(body)
    return _unpacked(form, [body[1:]])[0]


def unseal_all(stored: Sequence[bytes]) -> list[bytes]:
    """Give back the plains of many bodies, all of format ``TABLED``; see ``unseal``."""
    return _unpacked(TABLED, [body[1:] for body in stored])


def unknown_format(body: bytes) -> CorruptionError | SchemaTooNewError:
    """Say what is wrong with a body whose format is none that may stand here."""
    if not body:
        return CorruptionError("a body without a byte")
    if body[0] == ENCRYPTED:
        return CorruptionError("an encrypted body: give the saver its encryption_keys")
    if body[0] in (MANIFEST, FIELD, CHECKED) or body[0] >= FORMATS:
        return CorruptionError(f"a body of format {body[0]}, which is none of its kind")
    return SchemaTooNewError(
        f"a body of format {body[0]}, which this release does not know: upgrade threadkeep, or, if "
        "nothing newer has written to the store, run `threadkeep verify`"
    )


def most_bytes(packed: bytes) -> int:
    """Tell how long the plain of a frame may be."""
    return max(PLAIN_MAX_BYTES, PLAIN_MAX_RATIO * len(packed))


def size_of_frame(packed: bytes) -> int:
    """Read how long the plain of a frame is, before anything is made for it.

    Raises:
        CorruptionError: It does not say, or is above ``most_bytes``.
        zstandard.ZstdError: It is no frame.
    """
    size = zstandard.get_frame_parameters(packed, zstandard.FORMAT_ZSTD1_MAGICLESS).content_size
    if size > most_bytes(packed):  # a frame that does not say its size answers 2**64 - 1
        raise CorruptionError(f"a compressed body of {len(packed)} bytes that claims {size}")
    return size


def frame_reader(form: int) -> "zstandard.ZstdDecompressionObj | None":
    """Make what decompresses one frame of a format piece by piece; ``None`` for no such format."""
    if form not in _FRAMES:
        return None
    decompressor = zstandard.ZstdDecompressor(
        dict_data=_FRAMES[form], format=zstandard.FORMAT_ZSTD1_MAGICLESS
    )
    return decompressor.decompressobj()


def _compress(plain: bytes) -> bytes:
    try:
        compressor = _compressors.pop()
    except IndexError:
        compressor = zstandard.ZstdCompressor(dict_data=DICTIONARY, compression_params=_PARAMETERS)
    try:
        return compressor.compress(plain)
    finally:
        _compressors.append(compressor)


def _unpacked(form: int, frames: Iterable[bytes]) -> list[bytes]:
    """Decompress frames of one format."""
    idle = _decompressors[form]
    try:
        decompressor = idle.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor(
            dict_data=_FRAMES[form], format=zstandard.FORMAT_ZSTD1_MAGICLESS
        )
    plains = []
    try:
        for packed in frames:
            if not packed or packed[0] & _SIZE_BITS != _SMALL_SIZE:
                size_of_frame(packed)
            plains.append(decompressor.decompress(packed, allow_extra_data=False))
    except (zstandard.ZstdError, MemoryError) as error:
        raise CorruptionError("a compressed body cannot be read") from error
    finally:
        idle.append(decompressor)
    return plains
