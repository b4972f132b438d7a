-- A batch is one statement, put together of the parts below: a thread, what it needs, what is written,
-- the answer. The thread's row is locked before any other, so that a prune or an erasure
-- (FOR UPDATE) and a put (FOR KEY SHARE) come one after the other and never wait for each other.

-- thread_by_number --
thread AS MATERIALIZED (
    SELECT tid FROM {schema}document_threads WHERE tid = :tid::bigint FOR KEY SHARE
)

-- thread_by_name --
thread AS MATERIALIZED (
    SELECT tid FROM {schema}document_threads
    WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
        AND thread_id = :thread_id::bytea
    FOR KEY SHARE
)

-- thread_found_or_made --
-- No number is used up where the thread is found.
found AS MATERIALIZED (
    SELECT tid FROM {schema}document_threads
    WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
        AND thread_id = :thread_id::bytea
    FOR KEY SHARE
),
made AS (
    INSERT INTO {schema}document_threads (namespace, agent_id, thread_id)
    SELECT :namespace::bytea, :agent_id::bytea, :thread_id::bytea
    WHERE NOT EXISTS (SELECT FROM found)
    ON CONFLICT DO NOTHING
    RETURNING tid
),
thread AS MATERIALIZED (SELECT tid FROM found UNION ALL SELECT tid FROM made)

-- lease --
-- Locked: who takes it over waits for this batch, or is seen.
lease AS MATERIALIZED (
    SELECT FROM {schema}document_leases
    WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
        AND thread_id = :thread_id::bytea AND token = :lease::bigint
    FOR SHARE
)

-- after --
-- Only where the thread was erased is looked for what the batch belongs to.
erasure AS MATERIALIZED (
    SELECT erased_at FROM {schema}document_erasures WHERE mark = :mark::bytea
),
later AS MATERIALIZED (
    SELECT FROM erasure e CROSS JOIN unnest(:after_made::bigint[]) AS a (made)
    WHERE a.made > e.erased_at
),
stored AS MATERIALIZED (
    SELECT
    FROM erasure e
    CROSS JOIN thread t
    CROSS JOIN unnest(
        :after_ns::bytea[], :after_ids::bytea[], :after_made::bigint[]
    ) AS a (ns, id, made)
    CROSS JOIN LATERAL (
        SELECT FROM {schema}checkpoint_documents d
        WHERE d.tid = t.tid AND d.ns = a.ns AND d.id = a.id AND a.made <= e.erased_at
        OFFSET 0
        FOR KEY SHARE
    ) l
)

-- is_stale --
NOT EXISTS (SELECT FROM lease)

-- is_erased --
EXISTS (SELECT FROM erasure) AND cardinality(:after_made::bigint[])
    > (SELECT count(*) FROM later) + (SELECT count(*) FROM stored)

-- required_checkpoints --
-- Locked, and not only looked at: what a snapshot shows may be gone once the thread's lock is had.
-- OFFSET 0 keeps each look-up in the index, whatever the planner thinks of a thread's size.
required_checkpoints AS MATERIALIZED (
    SELECT
    FROM thread t
    CROSS JOIN unnest(:required_ns::bytea[], :required_ids::bytea[]) AS r (ns, id)
    CROSS JOIN LATERAL (
        SELECT FROM {schema}checkpoint_documents d
        WHERE d.tid = t.tid AND d.ns = r.ns AND d.id = r.id
        OFFSET 0
        FOR KEY SHARE
    ) l
)

-- required_writes --
required_writes AS MATERIALIZED (
    SELECT
    FROM thread t
    CROSS JOIN unnest(
        :required_write_ns::bytea[], :required_write_ids::bytea[], :required_tasks::bytea[],
        :required_parts::bigint[]
    ) AS r (ns, id, task, part)
    CROSS JOIN LATERAL (
        SELECT FROM {schema}write_documents d
        WHERE d.tid = t.tid AND d.ns = r.ns AND d.id = r.id AND d.task = r.task AND d.part = r.part
        OFFSET 0
        FOR KEY SHARE
    ) l
)

-- required_documents --
required_documents AS MATERIALIZED (
    SELECT
    FROM thread t
    CROSS JOIN unnest(:required_refs::bytea[], :required_kinds::smallint[]) AS r (ref, kind)
    CROSS JOIN LATERAL (
        SELECT FROM {schema}addressed_documents d
        WHERE d.tid = t.tid AND d.ref = r.ref AND d.kind = r.kind
        OFFSET 0
        FOR KEY SHARE
    ) l
)

-- count_of_required --
(SELECT count(*) FROM {part})

-- has_required --
{counts} = :required::bigint

-- target --
target AS MATERIALIZED (SELECT tid FROM thread WHERE {conditions})

-- add_documents --
added_documents AS (
    INSERT INTO {schema}addressed_documents AS d (tid, touched, kind, ref, refs, body)
    SELECT t.tid, :touched::integer, g.kind, g.ref, g.refs, g.body
    FROM target t
    CROSS JOIN unnest(:add_kinds::smallint[], :add_refs::bytea[], :add_named::bytea[],
        :add_bodies::bytea[]) AS g (kind, ref, refs, body)
    ON CONFLICT (tid, ref) DO UPDATE SET touched = excluded.touched
    WHERE d.touched < excluded.touched
)

-- add_documents_with_metadata --
added_documents AS (
    INSERT INTO {schema}addressed_documents AS d (
        tid, touched, kind, ref, refs, body, metadata, entries
    )
    SELECT t.tid, :touched::integer, g.kind, g.ref, g.refs, g.body, g.metadata, (
        SELECT array_agg(encode(substr(g.entries, s.at, 16), 'hex')::uuid)
        FROM generate_series(1, octet_length(g.entries), 16) AS s (at)
    )
    FROM target t
    CROSS JOIN unnest(:add_kinds::smallint[], :add_refs::bytea[], :add_named::bytea[],
        :add_bodies::bytea[], :add_metadata::bytea[], :add_entries::bytea[]
    ) AS g (kind, ref, refs, body, metadata, entries)
    ON CONFLICT (tid, ref) DO UPDATE SET touched = excluded.touched
    WHERE d.touched < excluded.touched
)

-- put_documents --
replaced_documents AS (
    INSERT INTO {schema}addressed_documents (
        tid, touched, kind, ref, refs, body, metadata, entries
    )
    SELECT t.tid, :touched::integer, g.kind, g.ref, g.refs, g.body, g.metadata, (
        SELECT array_agg(encode(substr(g.entries, s.at, 16), 'hex')::uuid)
        FROM generate_series(1, octet_length(g.entries), 16) AS s (at)
    )
    FROM target t
    CROSS JOIN unnest(:put_kinds::smallint[], :put_refs::bytea[], :put_named::bytea[],
        :put_bodies::bytea[], :put_metadata::bytea[], :put_entries::bytea[]
    ) AS g (kind, ref, refs, body, metadata, entries)
    ON CONFLICT (tid, ref) DO UPDATE SET
        touched = excluded.touched, kind = excluded.kind, refs = excluded.refs,
        body = excluded.body, metadata = excluded.metadata, entries = excluded.entries
)

-- add_checkpoints --
added_checkpoints AS (
    INSERT INTO {schema}checkpoint_documents (
        tid, ns, id, parent, source, step, meta, refs, body
    )
    SELECT t.tid, g.ns, g.id, g.parent, g.source, g.step, g.meta, g.refs, g.body
    FROM target t
    CROSS JOIN unnest(:add_ns::bytea[], :add_ids::bytea[], :add_parents::bytea[],
        :add_sources::bytea[], :add_steps::bigint[], :add_metas::bytea[],
        :add_checkpoint_refs::bytea[], :add_checkpoint_bodies::bytea[]
    ) AS g (ns, id, parent, source, step, meta, refs, body)
    ON CONFLICT DO NOTHING
    RETURNING ns, id
)

-- put_checkpoints --
replaced_checkpoints AS (
    INSERT INTO {schema}checkpoint_documents (
        tid, ns, id, parent, source, step, meta, refs, body
    )
    SELECT t.tid, g.ns, g.id, g.parent, g.source, g.step, g.meta, g.refs, g.body
    FROM target t
    CROSS JOIN unnest(:put_ns::bytea[], :put_ids::bytea[], :put_parents::bytea[],
        :put_sources::bytea[], :put_steps::bigint[], :put_metas::bytea[],
        :put_checkpoint_refs::bytea[], :put_checkpoint_bodies::bytea[]
    ) AS g (ns, id, parent, source, step, meta, refs, body)
    ON CONFLICT (tid, ns, id) DO UPDATE SET
        parent = excluded.parent, source = excluded.source, step = excluded.step,
        meta = excluded.meta, refs = excluded.refs, body = excluded.body
)

-- add_writes --
added_writes AS (
    INSERT INTO {schema}write_documents (tid, ns, id, task, part, refs, body)
    SELECT t.tid, g.ns, g.id, g.task, g.part, g.refs, g.body
    FROM target t
    CROSS JOIN unnest(:add_write_ns::bytea[], :add_write_ids::bytea[], :add_tasks::bytea[],
        :add_parts::bigint[], :add_write_refs::bytea[], :add_write_bodies::bytea[]
    ) AS g (ns, id, task, part, refs, body)
    ON CONFLICT DO NOTHING
    RETURNING ns, id, task, part
)

-- put_writes --
replaced_writes AS (
    INSERT INTO {schema}write_documents (tid, ns, id, task, part, refs, body)
    SELECT t.tid, g.ns, g.id, g.task, g.part, g.refs, g.body
    FROM target t
    CROSS JOIN unnest(:put_write_ns::bytea[], :put_write_ids::bytea[], :put_tasks::bytea[],
        :put_parts::bigint[], :put_write_refs::bytea[], :put_write_bodies::bytea[]
    ) AS g (ns, id, task, part, refs, body)
    ON CONFLICT (tid, ns, id, task, part) DO UPDATE SET
        refs = excluded.refs, body = excluded.body
)

-- answer --
SELECT (SELECT tid FROM thread), {stale}, {erased}, EXISTS (SELECT FROM target), {checkpoints},
    {writes}

-- answer_checkpoints --
(SELECT array_agg(ARRAY[ns, id]) FROM added_checkpoints)

-- answer_writes --
(SELECT array_agg(ARRAY[ns, id, task, int8send(part)]) FROM added_writes)

-- remove --
WITH thread AS MATERIALIZED (
    SELECT tid FROM {schema}document_threads
    WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
        AND thread_id = :thread_id::bytea
    FOR UPDATE
),
checkpoints AS (
    DELETE FROM {schema}checkpoint_documents d
    USING thread t CROSS JOIN unnest(:ns::bytea[], :ids::bytea[]) AS r (ns, id)
    WHERE d.tid = t.tid AND d.ns = r.ns AND d.id = r.id
    RETURNING 1
),
writes AS (
    DELETE FROM {schema}write_documents d
    USING thread t CROSS JOIN unnest(
        :write_ns::bytea[], :write_ids::bytea[], :tasks::bytea[], :parts::bigint[]
    ) AS r (ns, id, task, part)
    WHERE d.tid = t.tid AND d.ns = r.ns AND d.id = r.id AND d.task = r.task AND d.part = r.part
    RETURNING 1
),
documents AS (
    DELETE FROM {schema}addressed_documents d
    USING thread t CROSS JOIN unnest(:refs::bytea[], :kinds::smallint[]) AS r (ref, kind)
    WHERE d.tid = t.tid AND d.ref = r.ref AND d.kind = r.kind
    RETURNING 1
)
SELECT (SELECT count(*) FROM checkpoints) + (SELECT count(*) FROM writes)
    + (SELECT count(*) FROM documents);

-- make_thread --
INSERT INTO {schema}document_threads (namespace, agent_id, thread_id)
VALUES (:namespace::bytea, :agent_id::bytea, :thread_id::bytea)
ON CONFLICT DO NOTHING;
