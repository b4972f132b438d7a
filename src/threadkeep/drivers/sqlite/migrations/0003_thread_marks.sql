-- What is known of threads beside what they store. Both may name a thread that stores nothing.

-- mark is a hash of the thread's names; erased_at counts as UUIDv6 do.
CREATE TABLE document_erasures (
    mark      BLOB NOT NULL PRIMARY KEY,
    erased_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX document_erasures_by_time ON document_erasures (erased_at);

-- When what was stored under the same names before was erased: the mark's time, at hand.
ALTER TABLE document_threads ADD COLUMN erased_at INTEGER;

-- A token is never given twice: AUTOINCREMENT. ends_at is milliseconds since 1970.
CREATE TABLE document_leases (
    token     INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace BLOB NOT NULL,
    agent_id  BLOB NOT NULL,
    thread_id BLOB NOT NULL,
    ends_at   INTEGER NOT NULL,
    UNIQUE (namespace, agent_id, thread_id)
);
