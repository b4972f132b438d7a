-- Times are microseconds since 1970 in UTC. JSON is text as rules/json_text.py writes it: a leading
-- space says that only an exact decoder reads it back. Identifiers and names have no NUL.

CREATE TABLE assistants (
    assistant_id TEXT PRIMARY KEY,
    graph_id     TEXT NOT NULL,
    version      INTEGER NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT,
    config       TEXT NOT NULL,
    context      TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
);

CREATE INDEX assistants_by_creation ON assistants (created_at, assistant_id);

CREATE INDEX assistants_of_graph ON assistants (graph_id, created_at, assistant_id);

CREATE TABLE assistant_versions (
    assistant_id TEXT NOT NULL REFERENCES assistants ON DELETE CASCADE,
    version      INTEGER NOT NULL,
    graph_id     TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT,
    config       TEXT NOT NULL,
    context      TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (assistant_id, version)
);

-- status is what the thread shows; left_status what its last state left, behind 'busy'.
CREATE TABLE threads (
    thread_id          TEXT PRIMARY KEY,
    status             TEXT NOT NULL,
    left_status        TEXT NOT NULL,
    metadata           TEXT NOT NULL,
    config             TEXT NOT NULL,
    "values"           TEXT,
    head_checkpoint_id TEXT,
    interrupts         TEXT NOT NULL,
    error              TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    state_updated_at   INTEGER NOT NULL,
    ttl_minutes        REAL,
    expires_at         INTEGER
);

CREATE INDEX threads_by_creation ON threads (created_at, thread_id);

CREATE INDEX threads_by_update ON threads (updated_at, thread_id);

CREATE INDEX threads_by_state_update ON threads (state_updated_at, thread_id);

CREATE INDEX threads_by_status ON threads (status, created_at, thread_id);

-- position is the order of admission, whatever the clocks said.
CREATE TABLE runs (
    position           INTEGER PRIMARY KEY,
    run_id             TEXT NOT NULL UNIQUE,
    thread_id          TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    assistant_id       TEXT NOT NULL,
    status             TEXT NOT NULL,
    metadata           TEXT NOT NULL,
    multitask_strategy TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    start_at           INTEGER NOT NULL,
    reason             TEXT,
    error              TEXT NOT NULL,
    fence              INTEGER NOT NULL,
    cancel             TEXT
);

CREATE INDEX runs_of_thread ON runs (thread_id, created_at, run_id);

CREATE INDEX runs_by_creation ON runs (created_at, run_id);

CREATE INDEX runs_active ON runs (thread_id, position) WHERE status IN ('pending', 'running');

CREATE INDEX runs_pending ON runs (position) WHERE status = 'pending';

-- Two runs of one thread never run at once, whoever claims.
CREATE UNIQUE INDEX runs_running ON runs (thread_id) WHERE status = 'running';

-- Apart from the runs: large, and never changed with their status.
CREATE TABLE run_requests (
    position INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    kwargs   TEXT NOT NULL
);

-- Apart from the runs: renewed every few seconds, and in no index.
CREATE TABLE run_leases (
    position         INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    owner            TEXT NOT NULL,
    lease_expires_at INTEGER NOT NULL
);

-- path is the labels as UTF-8, each ended by a zero byte: a subtree is a range of it, and its order
-- is the order of the labels.
CREATE TABLE items (
    item_id    INTEGER PRIMARY KEY,
    path       BLOB NOT NULL,
    "key"      TEXT NOT NULL,
    value      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (path, "key")
);

CREATE INDEX items_by_update ON items (updated_at DESC, path, "key");

-- Apart from the items: restarted by a read, which must not rewrite a value.
CREATE TABLE item_lifetimes (
    item_id     INTEGER PRIMARY KEY REFERENCES items ON DELETE CASCADE,
    ttl_minutes REAL NOT NULL,
    expires_at  INTEGER NOT NULL
);

CREATE INDEX item_lifetimes_by_end ON item_lifetimes (expires_at);
