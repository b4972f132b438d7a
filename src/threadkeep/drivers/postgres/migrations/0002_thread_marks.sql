-- What is known of threads beside what they store. Both may name a thread that stores nothing.

-- mark is a hash of the thread's names; erased_at counts as UUIDv6 do.
CREATE TABLE {schema}document_erasures (
    erased_at bigint NOT NULL,
    mark      bytea NOT NULL PRIMARY KEY
);

CREATE INDEX document_erasures_by_time ON {schema}document_erasures (erased_at);

-- A token is never given twice. ends_at is milliseconds since 1970. taker names the call that took
-- the lease, so that it may be repeated.
CREATE TABLE {schema}document_leases (
    token     bigint GENERATED ALWAYS AS IDENTITY,
    ends_at   bigint NOT NULL,
    namespace bytea NOT NULL,
    agent_id  bytea NOT NULL,
    thread_id bytea NOT NULL,
    taker     bytea,
    PRIMARY KEY (namespace, agent_id, thread_id)
);
