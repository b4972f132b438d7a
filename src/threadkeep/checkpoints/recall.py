"""What is known of a stored checkpoint: read from the store, or noted when it was read or put."""

from functools import partial

from threadkeep.checkpoints.bodies import unseal
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import Entry, Keyed, Tree
from threadkeep.checkpoints.known import Place, Record
from threadkeep.checkpoints.reading import Documents, Reader, fetch, settled
from threadkeep.checkpoints.rows import Row, read_row
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.values import ListMemory, Path
from threadkeep.ports.documents import CHECKPOINTS, Document, Find, Is, Page


def recall(place: Place, codec: Codec) -> Steps[Record | None]:
    """Read how a checkpoint is stored, without its values.

    Returns:
        What is known of it then, or ``None`` when it is not stored.
    """
    thread_id, namespace, checkpoint_id = place
    where = [Is("checkpoint_ns", namespace), Is("checkpoint_id", checkpoint_id)]
    find = Find(CHECKPOINTS, thread_id, where, limit=1)
    return (yield from settled(find, partial(_load, place, codec)))


def _load(place: Place, codec: Codec, page: Page) -> Steps[Record | None]:
    if not page.documents:
        return None
    document = page.documents[0]
    found: Documents = {}
    yield from fetch(place[0], document.refs, found)
    reader = Reader(codec, found)
    return record_of(place, row_of(document, reader), document, _lists_of(document, reader))


def row_of(document: Document, reader: Reader) -> Row:
    """Read a checkpoint's row from its document."""
    return read_row(unseal(document.body), document.refs, reader.plain(document.refs[0]))


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
