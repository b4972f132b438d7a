"""What is known of a stored checkpoint: read from the store, or noted when it was read or put."""

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import Entry, Keyed, Tree
from threadkeep.checkpoints.known import Place, Record
from threadkeep.checkpoints.reading import Documents, Reader, fetch, naming, still_stored
from threadkeep.checkpoints.rows import Row, read_row
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.sums import unseal_row
from threadkeep.checkpoints.values import ListMemory, Path
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
    found: Documents = {}
    try:
        yield from fetch(thread_id, document.refs, found)
        shape = found[document.refs[0]]
        yield from fetch(thread_id, shape.refs, found)  # its parts, where it has so many names
    except CorruptionError:
        if (yield from still_stored([document])):
            raise
        return None
    reader = Reader(codec, found, found.keys())
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


def record_of(place: Place, row: Row, document: Document, lists: dict[Path, ListMemory]) -> Record:
    """Note what is known of a checkpoint that was read."""
    others = [document.refs[0], *([row.meta] if isinstance(row.meta, bytes) else [])]
    return Record(place, row.versions, row.entries, lists, others)


def trees(channel: str, entry: Entry) -> dict[Path, Tree]:
    """Find the lists in a channel's entry."""
    match entry:
        case Tree():
            return {(channel,): entry}
        case Keyed(entries):
            return {(channel, key): inner for key, inner in entries if isinstance(inner, Tree)}
    return {}


def _lists_of(document: Document, reader: Reader) -> dict[Path, ListMemory]:
    row = row_of(document, reader)
    return {
        path: ListMemory(reader.listing(tree))
        for channel, entry in row.entries.items()
        for path, tree in trees(channel, entry).items()
    }
