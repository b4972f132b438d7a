"""Units of work that read documents; each runs on one snapshot."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from threadkeep.drivers.sql.addressed import addressed_document, addressed_documents
from threadkeep.drivers.sql.keyed import LIES_WITH, keyed_document
from threadkeep.drivers.sql.packing import pack_refs, unpack_text
from threadkeep.drivers.sqlite.document_conditions import Conditions
from threadkeep.drivers.sqlite.document_rows import COLLECTION_OF, KIND_OF, pack_scope
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.ports.documents import (
    CHECKPOINTS,
    COLLECTIONS,
    READ_BYTES,
    REF_BYTES,
    WRITES,
    Document,
    Fetched,
    Find,
    HasEntry,
    Is,
    Page,
    Scope,
    Usage,
)
from threadkeep.rules.document_order import key_order, size_of


@dataclass(frozen=True, slots=True)
class _Table:
    """The statements of one table."""

    find: str
    find_newest: str
    count: str
    body: str


_TABLES = {
    CHECKPOINTS: _Table(
        "find_checkpoints", "find_newest_checkpoints", "count_checkpoints", "body_of_checkpoint"
    ),
    WRITES: _Table("find_writes", "find_newest_writes", "count_writes", "body_of_write"),
}
_TABLES.update({earlier: _TABLES[later] for earlier, later in LIES_WITH.items()})
_EARLIER = {later: earlier for earlier, later in LIES_WITH.items()}
_DOCUMENTS = _Table(
    "find_documents", "find_newest_documents", "count_documents", "body_of_document"
)
_ENTRIES = _Table("find_entries", "find_newest_entries", "count_entries", "body_of_document")


def _table_of(wanted: Find) -> _Table:
    # Entries are sought in the metadata, which is smaller than the documents it belongs to.
    if any(isinstance(condition, HasEntry) for condition in wanted.where):
        return _ENTRIES
    return _TABLES.get(wanted.collection, _DOCUMENTS)


@dataclass(frozen=True, slots=True)
class _Found:
    """A found document.

    Attributes:
        tid: The thread's number, by which what belongs to it is read.
        packed_key: Its key, as the columns have it.
        document: The document.
        children: Its writes, where they came with it.
    """

    tid: int
    packed_key: Sequence[Any]
    document: Document
    children: Sequence[Document] = ()


def find(session: Session, scope: Scope, wanted: Find) -> Page:
    """See ``DocumentStore.find``."""
    if wanted.limit == 0:
        return Page(())
    with_writes = wanted.children is not None and wanted.newest_first and _is_seek(wanted)
    search = _search_with_writes if with_writes else _search
    page: list[_Found] = []
    more = False
    total = 0
    for found in search(session, scope, wanted):
        total += size_of(found.document)
        if len(page) == wanted.limit or (page and total > READ_BYTES):
            more = True
            break
        page.append(found)
    children: list[Document] = []
    if with_writes:
        children = [child for found in _by_key(page) for child in found.children]
    elif wanted.children is not None:
        children = list(_children(session, page, wanted.children, bodies=wanted.bodies))
    return Page([found.document for found in page], children, more)


def prepare(session: Session) -> None:
    """Compile what reads of checkpoints begin with: a millisecond that the first would wait for."""
    nobody, nothing = Scope("", ""), [bytes(REF_BYTES)]
    newest = [Is("checkpoint_ns", "")]
    find(
        session, nobody, Find(CHECKPOINTS, "", newest, newest_first=True, limit=1, children=WRITES)
    )
    for nodes in (True, False):
        fetch(session, nobody, "", nothing, nodes=nodes)


def count(session: Session, scope: Scope, wanted: Find) -> int:
    """See ``DocumentStore.count``."""
    where = Conditions(scope, wanted)
    table = _table_of(wanted)
    (counted,) = session.one(table.count, where.parameters, where.text)
    return int(counted)


def fetch(
    session: Session, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool
) -> Fetched:
    """See ``DocumentStore.fetch``."""
    asked = list(dict.fromkeys(refs))
    if not asked:
        return Fetched({})
    names = dict(zip(_THREAD, pack_scope(scope, thread_id), strict=True))
    rows = session.rows(
        "fetch_nodes" if nodes else "fetch_documents", {**names, "refs": pack_refs(asked)}
    )
    found, unread = addressed_documents(thread_id, COLLECTION_OF, rows, READ_BYTES)
    rows.close()
    if unread is None:
        return Fetched(found)
    if not nodes:
        return Fetched(found, asked[asked.index(unread) :])
    remaining = [ref for ref in asked if ref not in found]
    remaining += _unread_nodes(session, names, found, known={*found, *remaining})
    return Fetched(found, remaining)


def measure(session: Session, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
    """See ``DocumentStore.measure``."""
    found = session.one("find_thread", pack_scope(scope, thread_id))
    if found is None:
        return {}
    row = found[:1]
    usage = {}
    for statement, own in (("measure_checkpoints", CHECKPOINTS), ("measure_writes", WRITES)):
        names = (own, _EARLIER[own])
        for is_earlier, documents, size_bytes in session.all(statement, row):
            usage[names[is_earlier]] = documents, size_bytes
    for kind, documents, size_bytes in session.all("measure_documents", row):
        collection = COLLECTION_OF[kind]
        before = usage.get(collection, (0, 0))
        usage[collection] = before[0] + documents, before[1] + size_bytes
    return {name: Usage(*figures) for name, figures in usage.items()}


CHECKPOINT_COLUMNS = 10  # of a found checkpoint's row: the thread's, then its own

_THREAD = ("namespace", "agent_id", "thread_id")


def _search(session: Session, scope: Scope, wanted: Find) -> Iterator[_Found]:
    """Iterate over what is found, in order."""
    where = Conditions(scope, wanted)
    where.follow()
    table = _table_of(wanted)
    if not wanted.newest_first:
        rows = session.rows(table.find, where.parameters, where.text)
    elif _is_seek(wanted):
        rows = session.rows(table.find_newest, where.parameters, where.text)
    else:
        # The rows must be sorted, so the bodies are read after that, one by one.
        where.parameters["bodies"] = False
        rows = session.rows(table.find_newest, where.parameters, where.text)
        if wanted.bodies:
            return _with_bodies(session, wanted.collection, rows, table.body)
    return (_found(wanted.collection, row) for row in rows)


def _search_with_writes(session: Session, scope: Scope, wanted: Find) -> Iterator[_Found]:
    """Iterate over checkpoints of one namespace, the newest first, each with its writes."""
    where = Conditions(scope, wanted)
    where.follow()
    rows = session.rows("find_newest_with_writes", where.parameters, where.text)
    assert wanted.children is not None
    for columns, group in groupby(rows, itemgetter(slice(CHECKPOINT_COLUMNS))):
        found = _found(wanted.collection, columns)
        thread_id = found.document.thread_id
        writes = [
            keyed_document(
                wanted.children, thread_id, (*found.packed_key, *row[CHECKPOINT_COLUMNS:])
            )
            for row in group
            if row[CHECKPOINT_COLUMNS] is not None
        ]
        yield replace(found, children=writes)


def _is_seek(wanted: Find) -> bool:
    """Say whether all but the last key field are given: then the index has the order."""
    given = {each.name for each in wanted.where if isinstance(each, Is) and each.value is not None}
    leading = list(COLLECTIONS[wanted.collection].key)[:-1]
    return wanted.thread_id is not None and given.issuperset(leading)


def _with_bodies(
    session: Session, collection: str, rows: Iterable[Sequence[Any]], statement: str
) -> Iterator[_Found]:
    width = len(COLLECTIONS[collection].key)
    for tid, thread_id, *columns, _ in rows:
        (body,) = session.one(statement, (tid, *columns[:width]))
        yield _found(collection, (tid, thread_id, *columns, body))


def _found(collection: str, row: Sequence[Any]) -> _Found:
    tid, packed_thread, *columns = row
    thread_id = unpack_text(packed_thread)
    if collection in KIND_OF:
        document = addressed_document(collection, thread_id, *columns)
    else:
        document = keyed_document(collection, thread_id, columns)
    return _Found(tid, columns[: len(document.key)], document)


def _children(
    session: Session, page: Sequence[_Found], collection: str, *, bodies: bool
) -> Iterator[Document]:
    """Iterate over the writes of found checkpoints, in key order."""
    for parent in _by_key(page):
        ns, ident = parent.packed_key
        parameters = {"tid": parent.tid, "ns": ns, "id": ident, "bodies": bodies}
        for row in session.rows("writes_of_checkpoint", parameters):
            yield keyed_document(collection, parent.document.thread_id, (ns, ident, *row))


def _by_key(page: Sequence[_Found]) -> list[_Found]:
    """Order found checkpoints as their writes are to be ordered."""
    return sorted(
        page, key=lambda each: (each.document.thread_id, key_order(CHECKPOINTS, each.document.key))
    )


def _unread_nodes(
    session: Session,
    names: Mapping[str, bytes],
    read: Mapping[bytes, Document],
    known: set[bytes],
) -> list[bytes]:
    """Return the nodes that read documents name and that are not known yet."""
    named = (ref for document in read.values() for ref in document.refs)
    unknown = dict.fromkeys(ref for ref in named if ref not in known)
    if not unknown:
        return []
    rows = session.all("list_nodes", {**names, "refs": pack_refs(list(unknown))})
    return [ref for (ref,) in rows]
