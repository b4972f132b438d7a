-- Text is kept as bytes (drivers/sql/packing.py): NUL and lone surrogates come back, and the order
-- is by code point whatever the database's collation. A tid is never given twice.
CREATE TABLE {schema}document_threads (
    tid       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace bytea NOT NULL,
    agent_id  bytea NOT NULL,
    thread_id bytea NOT NULL,
    UNIQUE (namespace, agent_id, thread_id)
);

-- kind: 0 item, 1 blob, 2 part. touched: minutes since 1970. entries: digests of the top-level
-- entries of metadata, by which conditions find them. Columns of fixed width come first.
CREATE TABLE {schema}addressed_documents (
    tid      bigint NOT NULL,
    touched  integer NOT NULL,
    kind     smallint NOT NULL,
    ref      bytea NOT NULL,
    refs     bytea,
    body     bytea NOT NULL,
    metadata bytea,
    entries  uuid[],
    PRIMARY KEY (tid, ref)
);

CREATE INDEX addressed_documents_with_entries ON {schema}addressed_documents (tid, ref)
WHERE entries IS NOT NULL;

CREATE TABLE {schema}checkpoint_documents (
    tid    bigint NOT NULL,
    step   bigint,
    ns     bytea NOT NULL,
    id     bytea NOT NULL,
    parent bytea,
    source bytea,
    meta   bytea,
    refs   bytea,
    body   bytea NOT NULL,
    PRIMARY KEY (tid, ns, id)
);

CREATE TABLE {schema}write_documents (
    tid  bigint NOT NULL,
    part bigint NOT NULL,
    ns   bytea NOT NULL,
    id   bytea NOT NULL,
    task bytea NOT NULL,
    refs bytea,
    body bytea NOT NULL,
    PRIMARY KEY (tid, ns, id, task, part)
);

-- Bodies are compressed already; uncompressed by the database, their length is known unread.
ALTER TABLE {schema}addressed_documents ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE {schema}checkpoint_documents ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE {schema}write_documents ALTER COLUMN body SET STORAGE EXTERNAL;
