"""What is known of a stored checkpoint: read from the store, or noted when it was read or put."""

from collections.abc import Iterator

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.dicts import TableMemory
from threadkeep.checkpoints.entries import Entry, Keyed, Table, Tree
from threadkeep.checkpoints.gathering import fetch, still_stored
from threadkeep.checkpoints.known import Place, Record
from threadkeep.checkpoints.reading import Reader, naming
from threadkeep.checkpoints.rows import Row, read_row
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.sums import unseal_row
from threadkeep.checkpoints.trees import leaves_of
from threadkeep.checkpoints.values import ListMemory, Memory, Path
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import CHECKPOINTS, Document, Find, Is, Page


def recall(place: Place, codec: Codec) -> Steps[Record | None]:
    """Read how a checkpoint is stored, without its values.

    Returns:
        What is known of it then, or ``None`` when it is not stored, or not any more.

    Raises:
        CorruptionError: A document it names is missing, or is not what it should be.
    """
    thread_id, namespace, checkpoint_id = place
    page: Page = yield Find(
        CHECKPOINTS,
        thread_id,
        [Is("checkpoint_ns", namespace), Is("checkpoint_id", checkpoint_id)],
        limit=1,
    )
    if not page.documents:
        return None
    document = page.documents[0]
    try:
        found = yield from fetch(thread_id, document.refs)
        shape = found[document.refs[0]]
        found |= yield from fetch(thread_id, shape.refs)  # its parts, where it has so many names
        leaves = {ref for one in found.values() for ref in leaves_of(one)} - found.keys()
        found |= yield from fetch(thread_id, leaves)  # those of small elements: they name nothing
    except CorruptionError:
        if (yield from still_stored([document])):
            raise
        return None
    reader = Reader(codec, {**found}, found.keys())
    with naming(document):
        return record_of(place, row_of(document, reader), document, _lists_of(document, reader))


def row_of(document: Document, reader: Reader) -> Row:
    """Read a checkpoint's row from its document.

    Raises:
        CorruptionError: It is damaged, or its shape is.
        SchemaTooNewError: It is of a format that a later release may know.
    """
    plain = unseal_row(document)
    if not document.refs:
        raise CorruptionError("a checkpoint without its shape's address")
    return read_row(plain, document.refs, reader.plain(document.refs[0]))


def record_of(place: Place, row: Row, document: Document, lists: dict[Path, Memory]) -> Record:
    """Note what is known of a checkpoint that was read."""
    others = [document.refs[0], *([row.meta] if isinstance(row.meta, bytes) else [])]
    return Record(place, row.versions, row.entries, lists, others)


def _trees(path: Path, entry: Entry) -> Iterator[tuple[Path, Tree | Table]]:
    """Find the lists and tables in an entry."""
    if isinstance(entry, (Tree, Table)):
        yield path, entry
    if isinstance(entry, Keyed):
        for key, inner in entry.entries:
            yield from _trees((*path, key), inner)


def _lists_of(document: Document, reader: Reader) -> dict[Path, Memory]:
    return {
        path: ListMemory(reader.listing(entry))
        if isinstance(entry, Tree)
        else TableMemory(reader.items(entry.root))
        for channel, value in row_of(document, reader).entries.items()
        for path, entry in _trees((channel,), value)
    }
