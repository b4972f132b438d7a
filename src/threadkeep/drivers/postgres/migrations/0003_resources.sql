-- Times are microseconds since 1970 in UTC. JSON is text as rules/json_text.py writes it; beside it,
-- in columns that end in _search, the same as documents that compare as our rules do
-- (search_forms.py). Text compares by code point: COLLATE "C". Columns of fixed width come first.

CREATE TABLE {schema}assistants (
    version         bigint NOT NULL,
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL,
    assistant_id    text COLLATE "C" PRIMARY KEY,
    graph_id        text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    name_folded     text COLLATE "C" NOT NULL,
    description     text,
    config          text NOT NULL,
    context         text NOT NULL,
    metadata        text NOT NULL,
    metadata_search jsonb NOT NULL
);

CREATE INDEX assistants_by_creation ON {schema}assistants (created_at, assistant_id);

CREATE INDEX assistants_by_update ON {schema}assistants (updated_at, assistant_id);

CREATE INDEX assistants_of_graph ON {schema}assistants (graph_id, created_at, assistant_id);

CREATE INDEX assistants_with_metadata ON {schema}assistants
USING gin (metadata_search jsonb_path_ops) WITH (fastupdate = off);

CREATE TABLE {schema}assistant_versions (
    version         bigint NOT NULL,
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL,
    assistant_id    text COLLATE "C" NOT NULL REFERENCES {schema}assistants ON DELETE CASCADE,
    graph_id        text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    description     text,
    config          text NOT NULL,
    context         text NOT NULL,
    metadata        text NOT NULL,
    metadata_search jsonb NOT NULL,
    PRIMARY KEY (assistant_id, version)
);

-- status is what the thread shows; left_status what its last state left, behind 'busy'.
CREATE TABLE {schema}threads (
    created_at         bigint NOT NULL,
    updated_at         bigint NOT NULL,
    state_updated_at   bigint NOT NULL,
    expires_at         bigint,
    ttl_minutes        double precision,
    thread_id          text COLLATE "C" PRIMARY KEY,
    status             text COLLATE "C" NOT NULL,
    left_status        text COLLATE "C" NOT NULL,
    head_checkpoint_id text COLLATE "C",
    metadata           text NOT NULL,
    config             text NOT NULL,
    "values"           text,
    interrupts         text NOT NULL,
    error              text NOT NULL
);

CREATE INDEX threads_by_creation ON {schema}threads (created_at, thread_id);

CREATE INDEX threads_by_update ON {schema}threads (updated_at, thread_id);

CREATE INDEX threads_by_state_update ON {schema}threads (state_updated_at, thread_id);

CREATE INDEX threads_of_status_by_creation ON {schema}threads (status, created_at, thread_id);

CREATE INDEX threads_by_status ON {schema}threads (status, thread_id);

CREATE INDEX threads_by_end ON {schema}threads (expires_at, thread_id)
WHERE expires_at IS NOT NULL;

-- Apart from the threads: written only when it changes, which most runs do not make it.
CREATE TABLE {schema}thread_search (
    thread_id       text COLLATE "C" PRIMARY KEY REFERENCES {schema}threads ON DELETE CASCADE,
    metadata_search jsonb NOT NULL,
    values_search   jsonb
);

CREATE INDEX threads_with_metadata ON {schema}thread_search
USING gin (metadata_search jsonb_path_ops) WITH (fastupdate = off);

CREATE INDEX threads_with_values ON {schema}thread_search
USING gin (values_search jsonb_path_ops) WITH (fastupdate = off);

-- position is the order of admission within a thread, whatever the clocks said.
CREATE TABLE {schema}runs (
    position           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at         bigint NOT NULL,
    updated_at         bigint NOT NULL,
    start_at           bigint NOT NULL,
    fence              bigint NOT NULL,
    run_id             text COLLATE "C" NOT NULL UNIQUE,
    thread_id          text COLLATE "C" NOT NULL REFERENCES {schema}threads ON DELETE CASCADE,
    assistant_id       text COLLATE "C" NOT NULL,
    status             text COLLATE "C" NOT NULL,
    multitask_strategy text COLLATE "C" NOT NULL,
    reason             text COLLATE "C",
    cancel             text COLLATE "C",
    error              text NOT NULL
);

CREATE INDEX runs_of_thread ON {schema}runs (thread_id, created_at, run_id);

CREATE INDEX runs_of_assistant ON {schema}runs (assistant_id, created_at, run_id);

CREATE INDEX runs_of_status ON {schema}runs (status, created_at, run_id);

CREATE INDEX runs_by_creation ON {schema}runs (created_at, run_id);

CREATE INDEX runs_active ON {schema}runs (thread_id, position)
WHERE status IN ('pending', 'running');

CREATE INDEX runs_pending ON {schema}runs (position) WHERE status = 'pending';

-- Two runs of one thread never run at once, whoever claims.
CREATE UNIQUE INDEX runs_running ON {schema}runs (thread_id) WHERE status = 'running';

-- Apart from the runs: large, and never changed with their status.
CREATE TABLE {schema}run_requests (
    position        bigint PRIMARY KEY REFERENCES {schema}runs ON DELETE CASCADE,
    kwargs          text NOT NULL,
    metadata        text NOT NULL,
    metadata_search jsonb NOT NULL
);

CREATE INDEX runs_with_metadata ON {schema}run_requests
USING gin (metadata_search jsonb_path_ops) WITH (fastupdate = off);

-- Apart from the runs: renewed every few seconds, in no index, and with room beside each row.
CREATE TABLE {schema}run_leases (
    position         bigint PRIMARY KEY REFERENCES {schema}runs ON DELETE CASCADE,
    lease_expires_at bigint NOT NULL,
    owner            text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

-- path is the labels as UTF-8, each ended by a zero byte: a subtree is a range of it, and its order
-- is the order of the labels. entries are digests of the value's top-level entries. value_search
-- stands only where the value itself would not compare as our rules do.
CREATE TABLE {schema}items (
    item_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    path         bytea NOT NULL,
    labels       text[] COLLATE "C" NOT NULL,
    "key"        text COLLATE "C" NOT NULL,
    entries      uuid[] NOT NULL,
    value        text NOT NULL,
    value_search jsonb,
    UNIQUE (path, "key")
);

CREATE INDEX items_by_update ON {schema}items (updated_at DESC, path, "key");

CREATE INDEX items_with_entries ON {schema}items USING gin (entries) WITH (fastupdate = off);

-- Apart from the items: restarted by a read, which must not rewrite a value.
CREATE TABLE {schema}item_lifetimes (
    item_id     bigint PRIMARY KEY REFERENCES {schema}items ON DELETE CASCADE,
    expires_at  bigint NOT NULL,
    ttl_minutes double precision NOT NULL
);

CREATE INDEX item_lifetimes_by_end ON {schema}item_lifetimes (expires_at);

-- token grows by one with every write.
CREATE TABLE {schema}crons (
    token            bigint NOT NULL,
    created_at       bigint NOT NULL,
    updated_at       bigint NOT NULL,
    end_time         bigint,
    next_run_date    bigint,
    enabled          boolean NOT NULL,
    cron_id          text COLLATE "C" PRIMARY KEY,
    assistant_id     text COLLATE "C" NOT NULL,
    thread_id        text COLLATE "C" REFERENCES {schema}threads ON DELETE CASCADE,
    schedule         text COLLATE "C" NOT NULL,
    timezone         text COLLATE "C",
    on_run_completed text COLLATE "C",
    user_id          text COLLATE "C",
    payload          text NOT NULL,
    principal        text,
    metadata         text NOT NULL,
    metadata_search  jsonb NOT NULL
);

CREATE INDEX crons_by_creation ON {schema}crons (created_at, cron_id);

-- As searches order them, which name the place of nulls also where there are none.
CREATE INDEX crons_newest ON {schema}crons (created_at DESC NULLS LAST, cron_id DESC);

CREATE INDEX crons_of_assistant ON {schema}crons (assistant_id, created_at, cron_id);

CREATE INDEX crons_of_thread ON {schema}crons (thread_id);

CREATE INDEX crons_due ON {schema}crons (next_run_date, cron_id) WHERE enabled;

CREATE INDEX crons_with_metadata ON {schema}crons
USING gin (metadata_search jsonb_path_ops) WITH (fastupdate = off);

-- Neither names its run or thread as a key of theirs: both may outlive them, or come before.
CREATE TABLE {schema}idempotency_records (
    expires_at  bigint NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    "key"       text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    claim_id    text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C",
    thread_id   text COLLATE "C",
    response    text,
    PRIMARY KEY (scope, "key")
);

CREATE INDEX idempotency_by_end ON {schema}idempotency_records (expires_at, scope, "key");

CREATE INDEX idempotency_of_run ON {schema}idempotency_records (run_id);

CREATE INDEX idempotency_of_thread ON {schema}idempotency_records (thread_id);

CREATE TABLE {schema}deliveries (
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL,
    next_attempt_at bigint NOT NULL,
    expires_at      bigint,
    attempt         bigint NOT NULL,
    is_truncated    boolean NOT NULL,
    delivery_id     text COLLATE "C" PRIMARY KEY,
    run_id          text COLLATE "C" NOT NULL,
    thread_id       text COLLATE "C" NOT NULL,
    run_status      text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL,
    url             text NOT NULL,
    payload         text,
    last_error      text NOT NULL
);

CREATE INDEX deliveries_due ON {schema}deliveries (next_attempt_at, delivery_id)
WHERE status IN ('pending', 'delivering');

CREATE INDEX deliveries_of_run ON {schema}deliveries (run_id, created_at, delivery_id);

CREATE INDEX deliveries_of_thread ON {schema}deliveries (thread_id, created_at, delivery_id);

CREATE INDEX deliveries_by_creation ON {schema}deliveries (created_at, delivery_id);

CREATE INDEX deliveries_by_end ON {schema}deliveries (expires_at, delivery_id)
WHERE expires_at IS NOT NULL;
