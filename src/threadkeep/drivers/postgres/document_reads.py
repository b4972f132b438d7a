"""Units of work that read documents; each is one statement, and so one snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from threadkeep.drivers.postgres.document_conditions import Conditions
from threadkeep.drivers.postgres.document_rows import COLLECTION_OF, KIND_OF, pack_scope
from threadkeep.drivers.postgres.queries import Query, Row, Unit
from threadkeep.drivers.sql.addressed import addressed_document, addressed_documents
from threadkeep.drivers.sql.keyed import LIES_WITH, keyed_document
from threadkeep.drivers.sql.packing import unpack_text
from threadkeep.ports.documents import (
    CHECKPOINTS,
    CHECKPOINTS_V1,
    READ_BYTES,
    REF_BYTES,
    WRITES,
    WRITES_V1,
    Document,
    Fetched,
    Find,
    Is,
    Page,
    Scope,
    Usage,
)
from threadkeep.rules.document_order import key_order

Statements = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Table:
    """The name of a table, and of its statements."""

    name: str
    find: str
    page: str


_TABLES = {
    CHECKPOINTS: _Table("checkpoint_documents", "find_checkpoints", "page_of_checkpoints"),
    WRITES: _Table("write_documents", "find_writes", "page_of_writes"),
}
_TABLES |= {earlier: _TABLES[later] for earlier, later in LIES_WITH.items()}
_ADDRESSED = _Table("addressed_documents", "find_documents", "page_of_documents")

_WITH_WRITES = "page_of_checkpoints_with_writes"
_MEASURED = {  # what ``measure`` calls them
    -1: CHECKPOINTS,
    -2: WRITES,
    -3: CHECKPOINTS_V1,
    -4: WRITES_V1,
    **COLLECTION_OF,
}


def find(statements: Statements, scope: Scope, wanted: Find) -> Unit[Page]:
    """See ``DocumentStore.find``."""
    if wanted.limit == 0:
        return Page(())
    where = Conditions(scope, wanted)
    where.follow()
    table = _TABLES.get(wanted.collection, _ADDRESSED)
    page = _WITH_WRITES if wanted.children is not None else table.page
    text = f"{statements[table.find]} {statements[page]}"
    text = text.replace("{source}", _source(statements, table, where))
    text = text.replace("{thread}", where.thread).replace("{order}", where.order)
    given = {"bodies": wanted.bodies, "limit": wanted.limit, "budget": READ_BYTES}
    rows = yield Query(text, where.parameters | given)
    found = sorted((row for row in rows if not row[0]), key=_place)
    return Page(
        [_found(wanted.collection, row) for row in found if row[2]],
        _children(wanted.children or WRITES, (row for row in rows if row[0])),
        more=any(not row[2] for row in found),
    )


def prepare(statements: Statements) -> Unit[None]:
    """Have a connection's server read what it needs to know for reads of checkpoints."""
    nobody, nothing = Scope("", ""), [bytes(REF_BYTES)]
    where = [Is("checkpoint_ns", "")]
    newest = Find(CHECKPOINTS, "", where, newest_first=True, limit=1, children=WRITES)
    yield from find(statements, nobody, newest)
    for nodes in (True, False):
        yield from fetch(statements, nobody, "", nothing, nodes=nodes)


def count(statements: Statements, scope: Scope, wanted: Find) -> Unit[int]:
    """See ``DocumentStore.count``."""
    where = Conditions(scope, wanted)
    table = _TABLES.get(wanted.collection, _ADDRESSED)
    text = statements["count"].replace("{source}", _source(statements, table, where))
    ((counted,),) = yield Query(text, where.parameters)
    return int(counted)


def fetch(
    statements: Statements, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool
) -> Unit[Fetched]:
    """See ``DocumentStore.fetch``."""
    asked = list(dict.fromkeys(refs))
    if not asked:
        return Fetched({})
    given = {**pack_scope(scope, thread_id), "refs": asked, "budget": READ_BYTES}
    rows = yield Query(statements["fetch_nodes" if nodes else "fetch_documents"], given)
    fitting = (row[2:] for row in rows if row[1])
    found, _ = addressed_documents(thread_id, COLLECTION_OF, fitting)
    unread = [row for row in rows if not row[1]]
    if nodes:
        return Fetched(found, [row[2] for row in unread])
    return Fetched(found, asked[unread[0][0] - 1 :] if unread else ())


def measure(statements: Statements, scope: Scope, thread_id: str) -> Unit[Mapping[str, Usage]]:
    """See ``DocumentStore.measure``."""
    rows = yield Query(statements["measure"], pack_scope(scope, thread_id))
    return {
        _MEASURED[table]: Usage(documents, int(size_bytes))
        for table, documents, size_bytes in rows
        if documents
    }


def _source(statements: Statements, table: _Table, where: Conditions) -> str:
    source = "of_scope" if where.thread == "t.thread_id" else "of_thread"
    return statements[source].replace("{table}", table.name) + where.text


def _place(row: Row) -> int:
    place: int = row[1]
    return place


def _found(collection: str, row: Row) -> Document:
    thread_id = unpack_text(row[3])
    if collection in KIND_OF:
        return addressed_document(collection, thread_id, *row[4:])
    return keyed_document(collection, thread_id, row[4:])


def _children(collection: str, rows: Iterable[Row]) -> list[Document]:
    """Make the writes of found checkpoints, in key order."""
    children = [
        keyed_document(collection, unpack_text(thread), (ns, ident, task, part, refs, body))
        for _, _, _, thread, ns, ident, task, _, part, _, refs, body in rows
    ]
    return sorted(children, key=lambda each: (each.thread_id, key_order(collection, each.key)))
