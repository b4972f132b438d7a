-- Text is kept as bytes (drivers/sql/packing.py), so every column of text or bytes is a BLOB.
-- A tid is never given twice: AUTOINCREMENT, so that a stale one names no other thread.
CREATE TABLE document_threads (
    tid       INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace BLOB NOT NULL,
    agent_id  BLOB NOT NULL,
    thread_id BLOB NOT NULL,
    UNIQUE (namespace, agent_id, thread_id)
);

-- Addressed documents. A rowid table with an index is smaller here than WITHOUT ROWID: bodies are
-- often larger than what fits a key page. kind: 0 item, 1 blob, 2 part, 3 blob with metadata.
CREATE TABLE documents (
    tid     INTEGER NOT NULL,
    ref     BLOB NOT NULL,
    kind    INTEGER NOT NULL,
    touched INTEGER NOT NULL,
    refs    BLOB,
    body    BLOB NOT NULL
);

CREATE UNIQUE INDEX documents_by_ref ON documents (tid, ref);

-- Apart from the documents, so that a search in it reads nothing else.
CREATE TABLE document_metadata (
    tid      INTEGER NOT NULL,
    ref      BLOB NOT NULL,
    metadata BLOB NOT NULL,
    PRIMARY KEY (tid, ref)
) WITHOUT ROWID;

CREATE TABLE checkpoint_documents (
    tid    INTEGER NOT NULL,
    ns     BLOB NOT NULL,
    id     BLOB NOT NULL,
    parent BLOB,
    source BLOB,
    step   INTEGER,
    meta   BLOB,
    refs   BLOB,
    body   BLOB NOT NULL,
    PRIMARY KEY (tid, ns, id)
) WITHOUT ROWID;

CREATE TABLE write_documents (
    tid  INTEGER NOT NULL,
    ns   BLOB NOT NULL,
    id   BLOB NOT NULL,
    task BLOB NOT NULL,
    part INTEGER NOT NULL,
    refs BLOB,
    body BLOB NOT NULL,
    PRIMARY KEY (tid, ns, id, task, part)
) WITHOUT ROWID;
