"""Reading documents by address, with all that they name.

``gather`` follows addresses down to the last document: checkpoint or writes, then all nodes, then
their elements, three requests whatever the history, and one more for each further 2 MiB.
"""

from collections.abc import Collection, Iterable, Sequence

from threadkeep.checkpoints.known import Known
from threadkeep.checkpoints.shelf import Kept, refs_of
from threadkeep.checkpoints.steps import Fetch, Steps
from threadkeep.errors import MissingDocumentError
from threadkeep.ports.documents import CHECKPOINTS, Document, Fetched, Find, Is, Page

Documents = dict[bytes, Kept]


def gather(
    thread_id: str, refs: Iterable[bytes], found: Documents, known: Known
) -> Steps[set[bytes]]:
    """Read documents and all that they name, however deep, into ``found``.

    Args:
        thread_id: Their thread.
        refs: Their addresses.
        found: Documents already read; gets the others.
        known: Asked first.

    Returns:
        The addresses of those that came from the store: nobody has checked them yet.

    Raises:
        CorruptionError: A document is missing.
    """
    fresh: set[bytes] = set()
    walked: set[bytes] = set()
    walk: Collection[bytes] = list(refs)
    outside: dict[bytes, None] = {}
    while walk or outside:
        if not walk:
            # All nodes come with the first answer: nothing that is named after it names more.
            read_now = yield from fetch(thread_id, outside, nodes=not fresh)
            found |= read_now
            fresh |= read_now.keys()
            walk, outside = [ref for ref, one in read_now.items() if one.refs], {}
        missing = _descend(walk, found, walked)
        walk = known.documents(thread_id, missing)
        found |= walk
        if walk:
            missing = [ref for ref in missing if ref not in walk]
            walk = [ref for ref, one in walk.items() if refs_of(one)]
        outside |= dict.fromkeys(missing)
    return fresh


def _descend(refs: Iterable[bytes], found: Documents, walked: set[bytes]) -> list[bytes]:
    """Follow addresses through the documents found; name those that are not."""
    missing: dict[bytes, None] = {}
    stack = list(refs)
    for ref in stack:  # grows while it is walked
        if ref in walked:
            continue
        document = found.get(ref)
        if document is None:
            missing[ref] = None
        elif type(document) is not tuple and document.refs:  # type: ignore[union-attr]
            walked.add(ref)
            stack += document.refs  # type: ignore[union-attr]
    return list(missing)


def fetch(
    thread_id: str, refs: Collection[bytes], *, nodes: bool = True
) -> Steps[dict[bytes, Document]]:
    """Read documents, and the nodes under them where wanted.

    Raises:
        MissingDocumentError: One of ``refs`` is missing.
    """
    found: dict[bytes, Document] = {}
    remaining = refs
    while remaining:
        fetched: Fetched = yield Fetch(thread_id, [*remaining], nodes=nodes)
        found |= fetched.documents
        remaining = fetched.remaining
    if not all(map(found.__contains__, refs)):
        lost = next(ref for ref in refs if ref not in found)
        raise MissingDocumentError(thread_id, lost, found)
    return found


def still_stored(checkpoints: Sequence[Document]) -> Steps[list[Document]]:
    """Tell which checkpoints are stored as they were read.

    What a checkpoint names may be gone because the checkpoint is: that is no damage.
    """
    kept = []
    for document in checkpoints:
        namespace, checkpoint_id = document.key
        page: Page = yield Find(
            CHECKPOINTS,
            document.thread_id,
            [Is("checkpoint_ns", namespace), Is("checkpoint_id", checkpoint_id)],
            limit=1,
        )
        if [*page.documents] == [document]:
            kept.append(document)
    return kept
