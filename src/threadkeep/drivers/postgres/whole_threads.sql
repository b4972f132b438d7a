-- Units on a whole thread lock its row first, as decision 10 says; a lease is a row of its own, which
-- the batches that name it lock (FOR SHARE) before they are written. Rows are deleted by their place
-- (ctid), found one by one in an index: no estimate of a thread's size makes that a walk through it.

-- find_thread --
SELECT tid FROM {schema}document_threads
WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
    AND thread_id = :thread_id::bytea;

-- lock_thread --
SELECT tid FROM {schema}document_threads
WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
    AND thread_id = :thread_id::bytea
FOR UPDATE;

-- share_thread --
SELECT tid FROM {schema}document_threads
WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
    AND thread_id = :thread_id::bytea
FOR KEY SHARE;

-- erase --
-- A mark that another erasure has locked is forgotten by a later one.
WITH checkpoints AS (
    DELETE FROM {schema}checkpoint_documents WHERE tid = :tid::bigint RETURNING 1
),
writes AS (
    DELETE FROM {schema}write_documents WHERE tid = :tid::bigint RETURNING 1
),
documents AS (
    DELETE FROM {schema}addressed_documents WHERE tid = :tid::bigint RETURNING 1
),
thread AS (
    DELETE FROM {schema}document_threads WHERE tid = :tid::bigint
),
gone AS MATERIALIZED (
    SELECT (SELECT count(*) FROM checkpoints) + (SELECT count(*) FROM writes)
        + (SELECT count(*) FROM documents) AS documents
),
forgotten AS (
    DELETE FROM {schema}document_erasures
    WHERE mark IN (
        SELECT mark FROM {schema}document_erasures
        WHERE erased_at < :forget_before::bigint AND mark <> :mark::bytea
        ORDER BY erased_at
        LIMIT :forget::bigint
        FOR UPDATE SKIP LOCKED
    )
),
remembered AS (
    INSERT INTO {schema}document_erasures AS e (mark, erased_at)
    SELECT :mark::bytea, :now::bigint FROM gone WHERE documents > 0
    ON CONFLICT (mark) DO UPDATE SET erased_at = greatest(e.erased_at, excluded.erased_at)
)
SELECT documents FROM gone;

-- copy --
WITH forgotten AS (
    DELETE FROM {schema}document_erasures WHERE mark = :mark::bytea
),
documents AS (
    INSERT INTO {schema}addressed_documents (
        tid, touched, kind, ref, refs, body, metadata, entries
    )
    SELECT :target::bigint, :touched::integer, kind, ref, refs, body, metadata, entries
    FROM {schema}addressed_documents WHERE tid = :source::bigint
    ON CONFLICT DO NOTHING
    RETURNING 1
),
checkpoints AS (
    INSERT INTO {schema}checkpoint_documents (
        tid, ns, id, parent, source, step, meta, refs, body
    )
    SELECT :target::bigint, ns, id, parent, source, step, meta, refs, body
    FROM {schema}checkpoint_documents WHERE tid = :source::bigint
    ON CONFLICT DO NOTHING
    RETURNING 1
),
writes AS (
    INSERT INTO {schema}write_documents (tid, ns, id, task, part, refs, body)
    SELECT :target::bigint, ns, id, task, part, refs, body
    FROM {schema}write_documents WHERE tid = :source::bigint
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT (SELECT count(*) FROM checkpoints) + (SELECT count(*) FROM writes)
    + (SELECT count(*) FROM documents);

-- prune_checkpoints --
-- IS TRUE and NOT IN make hashes of the lists, where a join may compare each with each.
WITH follower AS MATERIALIZED (
    SELECT FROM {schema}checkpoint_documents d
    WHERE d.tid = :tid::bigint AND d.parent IS NOT NULL
        AND ((d.ns, d.parent) IN (
            SELECT g.ns, g.id FROM unnest(:gone_ns::bytea[], :gone_ids::bytea[]) AS g (ns, id)
        )) IS TRUE
        AND (d.ns, d.id) NOT IN (
            SELECT p.ns, p.id
            FROM unnest(:planned_ns::bytea[], :planned_ids::bytea[]) AS p (ns, id)
        )
    LIMIT 1
),
gone AS MATERIALIZED (
    SELECT g.ns, g.id
    FROM unnest(:gone_ns::bytea[], :gone_ids::bytea[]) AS g (ns, id)
    WHERE NOT EXISTS (SELECT FROM follower)
),
checkpoints AS (
    DELETE FROM {schema}checkpoint_documents
    WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM gone g
        CROSS JOIN LATERAL (
            SELECT d.ctid FROM {schema}checkpoint_documents d
            WHERE d.tid = :tid::bigint AND d.ns = g.ns AND d.id = g.id
            OFFSET 0
        ) l
    ))
    RETURNING 1
),
writes AS (
    DELETE FROM {schema}write_documents
    WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM gone g
        CROSS JOIN LATERAL (
            SELECT d.ctid FROM {schema}write_documents d
            WHERE d.tid = :tid::bigint AND d.ns = g.ns AND d.id = g.id
            OFFSET 0
        ) l
    ))
    RETURNING 1
)
SELECT NOT EXISTS (SELECT FROM follower), (SELECT count(*) FROM checkpoints),
    (SELECT count(*) FROM writes);

-- remove_stray_writes --
WITH writes AS (
    DELETE FROM {schema}write_documents
    WHERE ctid = ANY (ARRAY(
        SELECT l.ctid
        FROM unnest(:stray_ns::bytea[], :stray_ids::bytea[]) AS s (ns, id)
        CROSS JOIN LATERAL (
            SELECT d.ctid FROM {schema}write_documents d
            WHERE d.tid = :tid::bigint AND d.ns = s.ns AND d.id = s.id
                AND NOT EXISTS (
                    SELECT FROM {schema}checkpoint_documents c
                    WHERE c.tid = :tid::bigint AND c.ns = s.ns AND c.id = s.id
                )
            OFFSET 0
        ) l
    ))
    RETURNING 1
)
SELECT count(*) FROM writes;

-- cut_off_checkpoints --
UPDATE {schema}checkpoint_documents SET parent = NULL
WHERE ctid = ANY (ARRAY(
    SELECT l.ctid
    FROM unnest(:orphan_ns::bytea[], :orphan_ids::bytea[]) AS o (ns, id)
    CROSS JOIN LATERAL (
        SELECT d.ctid, d.ns, d.parent FROM {schema}checkpoint_documents d
        WHERE d.tid = :tid::bigint AND d.ns = o.ns AND d.id = o.id AND d.parent IS NOT NULL
        OFFSET 0
    ) l
    LEFT JOIN LATERAL (
        SELECT true AS stays FROM {schema}checkpoint_documents p
        WHERE p.tid = :tid::bigint AND p.ns = l.ns AND p.id = l.parent
        OFFSET 0
    ) k ON true
    WHERE k.stays IS NULL
));

-- sweep --
-- Addresses that are met and addresses that are there are grouped, not joined: see above.
WITH RECURSIVE walk (ref) AS (
    SELECT substr(n.refs, s.at, 12)
    FROM (
        SELECT refs FROM {schema}checkpoint_documents
        WHERE tid = :tid::bigint AND refs IS NOT NULL
        UNION ALL
        SELECT refs FROM {schema}write_documents
        WHERE tid = :tid::bigint AND refs IS NOT NULL
    ) n
    CROSS JOIN LATERAL generate_series(1, octet_length(n.refs), 12) AS s (at)
    UNION
    SELECT substr(n.refs, s.at, 12)
    FROM walk w
    CROSS JOIN LATERAL (
        SELECT d.refs FROM {schema}addressed_documents d
        WHERE d.tid = :tid::bigint AND d.ref = w.ref AND d.refs IS NOT NULL
        OFFSET 0
    ) n
    CROSS JOIN LATERAL generate_series(1, octet_length(n.refs), 12) AS s (at)
),
dead AS (
    SELECT min(place) AS place
    FROM (
        SELECT ref, ctid AS place FROM {schema}addressed_documents WHERE tid = :tid::bigint
        UNION ALL
        SELECT ref, NULL FROM walk
    ) a
    GROUP BY ref
    HAVING count(*) = 1 AND count(place) = 1
),
swept AS (
    DELETE FROM {schema}addressed_documents
    WHERE ctid = ANY (ARRAY(SELECT place FROM dead))
    RETURNING 1
)
SELECT count(*) FROM swept;

-- claim_lease --
-- The row is locked, and made where there is none, before a token is taken: a later holder's is
-- greater whoever waited for whom.
INSERT INTO {schema}document_leases AS l (ends_at, namespace, agent_id, thread_id)
VALUES (0, :namespace::bytea, :agent_id::bytea, :thread_id::bytea)
ON CONFLICT (namespace, agent_id, thread_id) DO UPDATE SET ends_at = l.ends_at;

-- take_lease --
UPDATE {schema}document_leases
SET token = DEFAULT, ends_at = :ends_at::bigint, taker = :taker::bytea
WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
    AND thread_id = :thread_id::bytea
    AND (ends_at <= :now::bigint OR taker = :taker::bytea)
RETURNING token;

-- extend_lease --
UPDATE {schema}document_leases SET ends_at = :ends_at::bigint
WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
    AND thread_id = :thread_id::bytea AND token = :token::bigint
RETURNING 1;

-- release_lease --
DELETE FROM {schema}document_leases
WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
    AND thread_id = :thread_id::bytea AND token = :token::bigint;
