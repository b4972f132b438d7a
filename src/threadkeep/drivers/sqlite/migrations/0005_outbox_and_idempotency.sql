-- Neither names its run or thread as a key of theirs: both may outlive them, or come before.
CREATE TABLE idempotency_records (
    scope       TEXT NOT NULL,
    "key"       TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    claim_id    TEXT NOT NULL,
    status      TEXT NOT NULL,
    response    TEXT,
    run_id      TEXT,
    thread_id   TEXT,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, "key")
);

CREATE INDEX idempotency_by_end ON idempotency_records (expires_at);

CREATE INDEX idempotency_of_run ON idempotency_records (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX idempotency_of_thread ON idempotency_records (thread_id) WHERE thread_id IS NOT NULL;

CREATE TABLE deliveries (
    delivery_id     TEXT PRIMARY KEY,
    run_id          TEXT NOT NULL,
    thread_id       TEXT NOT NULL,
    url             TEXT NOT NULL,
    payload         TEXT,
    is_truncated    INTEGER NOT NULL,
    run_status      TEXT NOT NULL,
    status          TEXT NOT NULL,
    attempt         INTEGER NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    last_error      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    expires_at      INTEGER
);

CREATE INDEX deliveries_due ON deliveries (next_attempt_at, delivery_id)
WHERE status IN ('pending', 'delivering');

CREATE INDEX deliveries_of_run ON deliveries (run_id, created_at, delivery_id);

CREATE INDEX deliveries_of_thread ON deliveries (thread_id, created_at, delivery_id);

CREATE INDEX deliveries_by_creation ON deliveries (created_at, delivery_id);

CREATE INDEX deliveries_by_end ON deliveries (expires_at) WHERE expires_at IS NOT NULL;
