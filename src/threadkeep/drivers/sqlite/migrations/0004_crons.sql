-- token grows by one with every write.
CREATE TABLE crons (
    cron_id          TEXT PRIMARY KEY,
    assistant_id     TEXT NOT NULL,
    thread_id        TEXT REFERENCES threads ON DELETE CASCADE,
    schedule         TEXT NOT NULL,
    timezone         TEXT,
    end_time         INTEGER,
    next_run_date    INTEGER,
    enabled          INTEGER NOT NULL,
    on_run_completed TEXT,
    payload          TEXT NOT NULL,
    metadata         TEXT NOT NULL,
    user_id          TEXT,
    principal        TEXT,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    token            INTEGER NOT NULL
);

CREATE INDEX crons_by_creation ON crons (created_at, cron_id);

CREATE INDEX crons_of_thread ON crons (thread_id);

CREATE INDEX crons_due ON crons (next_run_date, cron_id) WHERE enabled;

CREATE INDEX threads_expired ON threads (expires_at, thread_id) WHERE expires_at IS NOT NULL;
