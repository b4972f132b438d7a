"""Which checkpoint and which channel a missing document is missed by."""

from collections.abc import Iterable, Sequence

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import names_of
from threadkeep.checkpoints.gathering import Documents
from threadkeep.checkpoints.reading import Reader, naming
from threadkeep.checkpoints.recall import row_of
from threadkeep.checkpoints.shelf import refs_of
from threadkeep.errors import CorruptionError, MissingDocumentError
from threadkeep.ports.documents import Document


def blame(
    error: MissingDocumentError, checkpoints: Sequence[Document], found: Documents, codec: Codec
) -> CorruptionError:
    """Say of which checkpoint, and of which of its channels, a document is missing.

    Args:
        error: Names the document.
        checkpoints: Of one thread; the first that needs it is named.
        found: What was read of what they name.
        codec: Makes no value here.

    Returns:
        The error that says so.
    """
    found = {**found, **error.read}
    for document in checkpoints:
        if _reaches(document.refs, error.ref, found):
            return _blamed(error, document, found, codec)
    return error  # a pending write of theirs


def _blamed(
    error: MissingDocumentError, document: Document, found: Documents, codec: Codec
) -> CorruptionError:
    reader = Reader(codec, found, set())
    try:
        with naming(document):
            entries = row_of(document, reader).entries
            names = [
                repr(name)
                for name, entry in entries.items()
                if _reaches(names_of(entry), error.ref, found)
            ]
            where = f"channel {', '.join(names)}: " if names else ""
            raise CorruptionError(f"{where}{error}")
    except CorruptionError as named:
        return named


def _reaches(refs: Iterable[bytes], wanted: bytes, found: Documents) -> bool:
    """Tell whether addresses lead to a document, through those that were read."""
    seen: set[bytes] = set()
    pending = list(refs)
    while pending:
        ref = pending.pop()
        if ref == wanted:
            return True
        if ref not in seen and ref in found:
            seen.add(ref)
            pending += refs_of(found[ref])
    return False
