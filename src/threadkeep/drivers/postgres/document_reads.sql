-- A page is cut at its budget here, so that no reply is larger. The row that would go beyond it, or
-- beyond the limit, comes without a body and says that there is more. Lengths are known without
-- reading bodies: the database does not compress them.

-- of_thread --
FROM {schema}{table} d
WHERE d.tid = (
    SELECT tid FROM {schema}document_threads
    WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
        AND thread_id = :thread_id::bytea
)

-- of_scope --
FROM {schema}document_threads t JOIN {schema}{table} d ON d.tid = t.tid
WHERE t.namespace = :namespace::bytea AND t.agent_id = :agent_id::bytea

-- count --
SELECT count(*) {source};

-- find_checkpoints --
WITH found AS (
    SELECT d.tid, {thread} AS thread_id, d.ns, d.id, d.parent, d.source, d.step, d.meta, d.refs,
        CASE WHEN :bodies::boolean THEN d.body ELSE ''::bytea END AS body,
        octet_length(d.ns) + CASE get_byte(d.id, 0) WHEN 255 THEN octet_length(d.id) - 1 ELSE 36 END
        + CASE
            WHEN d.parent IS NULL THEN 0
            WHEN get_byte(d.parent, 0) = 255 THEN octet_length(d.parent) - 1
            ELSE 36
        END
        + coalesce(octet_length(d.source), 0) + CASE WHEN d.step IS NULL THEN 0 ELSE 8 END
        + coalesce(octet_length(d.meta), 0) + coalesce(octet_length(d.refs), 0)
        + CASE WHEN :bodies::boolean THEN octet_length(d.body) ELSE 0 END AS size
    {source}
    ORDER BY {order}
    LIMIT :limit::bigint + 1
),
counted AS (
    SELECT *, row_number() OVER w AS at, sum(size) OVER w AS total
    FROM found WINDOW w AS (ROWS UNBOUNDED PRECEDING)
),
page AS (
    SELECT *, at <= :limit::bigint AND (at = 1 OR total <= :budget::bigint) AS fits
    FROM counted WHERE at <= 2 OR total - size <= :budget::bigint
)

-- page_of_checkpoints --
SELECT 0, at, fits, thread_id, ns, id, parent, source, step, meta, refs,
    CASE WHEN fits THEN body END
FROM page

-- page_of_checkpoints_with_writes --
SELECT 0, at, fits, thread_id, ns, id, parent, source, step, meta, refs,
    CASE WHEN fits THEN body END
FROM page
UNION ALL
SELECT 1, p.at, p.fits, p.thread_id, p.ns, p.id, w.task, NULL, w.part, NULL, w.refs, w.body
FROM page p
CROSS JOIN LATERAL (
    SELECT d.task, d.part, d.refs,
        CASE WHEN :bodies::boolean THEN d.body ELSE ''::bytea END AS body
    FROM {schema}write_documents d
    WHERE d.tid = p.tid AND d.ns = p.ns AND d.id = p.id
    OFFSET 0
) w
WHERE p.fits

-- find_writes --
WITH found AS (
    SELECT {thread} AS thread_id, d.ns, d.id, d.task, d.part, d.refs,
        CASE WHEN :bodies::boolean THEN d.body ELSE ''::bytea END AS body,
        octet_length(d.ns) + CASE get_byte(d.id, 0) WHEN 255 THEN octet_length(d.id) - 1 ELSE 36 END
        + CASE get_byte(d.task, 0) WHEN 255 THEN octet_length(d.task) - 1 ELSE 36 END
        + 8 + coalesce(octet_length(d.refs), 0)
        + CASE WHEN :bodies::boolean THEN octet_length(d.body) ELSE 0 END AS size
    {source}
    ORDER BY {order}
    LIMIT :limit::bigint + 1
),
counted AS (
    SELECT *, row_number() OVER w AS at, sum(size) OVER w AS total
    FROM found WINDOW w AS (ROWS UNBOUNDED PRECEDING)
),
page AS (
    SELECT *, at <= :limit::bigint AND (at = 1 OR total <= :budget::bigint) AS fits
    FROM counted WHERE at <= 2 OR total - size <= :budget::bigint
)

-- page_of_writes --
SELECT 0, at, fits, thread_id, ns, id, task, part, refs, CASE WHEN fits THEN body END
FROM page

-- find_documents --
WITH found AS (
    SELECT {thread} AS thread_id, d.ref, d.metadata, d.refs,
        CASE WHEN :bodies::boolean THEN d.body ELSE ''::bytea END AS body,
        octet_length(d.ref) + coalesce(octet_length(d.metadata), 0)
        + coalesce(octet_length(d.refs), 0)
        + CASE WHEN :bodies::boolean THEN octet_length(d.body) ELSE 0 END AS size
    {source}
    ORDER BY {order}
    LIMIT :limit::bigint + 1
),
counted AS (
    SELECT *, row_number() OVER w AS at, sum(size) OVER w AS total
    FROM found WINDOW w AS (ROWS UNBOUNDED PRECEDING)
),
page AS (
    SELECT *, at <= :limit::bigint AND (at = 1 OR total <= :budget::bigint) AS fits
    FROM counted WHERE at <= 2 OR total - size <= :budget::bigint
)

-- page_of_documents --
SELECT 0, at, fits, thread_id, ref, metadata, refs, CASE WHEN fits THEN body END
FROM page

-- fetch_documents --
-- OFFSET 0 keeps each look-up in the index, whatever the planner thinks of a thread's size. A LIMIT
-- that it cannot read makes it expect a tenth: estimates in the millions would start its compiler.
WITH found AS (
    SELECT a.position, d.*
    FROM (
        SELECT u.ref, u.position
        FROM unnest(:refs::bytea[]) WITH ORDINALITY AS u (ref, position)
        LIMIT (SELECT cardinality(:refs::bytea[]))
    ) a
    CROSS JOIN LATERAL (
        SELECT e.ref, e.kind, e.metadata, e.refs, e.body,
            octet_length(e.ref) + coalesce(octet_length(e.metadata), 0)
            + coalesce(octet_length(e.refs), 0) + octet_length(e.body) AS size
        FROM {schema}addressed_documents e
        WHERE e.ref = a.ref AND e.tid = (
            SELECT tid FROM {schema}document_threads
            WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
                AND thread_id = :thread_id::bytea
        )
        OFFSET 0
    ) d
    ORDER BY a.position
),
counted AS (
    SELECT *, row_number() OVER w AS at, sum(size) OVER w AS total
    FROM found WINDOW w AS (ROWS UNBOUNDED PRECEDING)
)
SELECT position, at = 1 OR total <= :budget::bigint AS fits, ref, kind, metadata, refs,
    CASE WHEN at = 1 OR total <= :budget::bigint THEN body END
FROM counted
WHERE at <= 2 OR total - size <= :budget::bigint;

-- fetch_nodes --
-- See fetch_documents. Rows beyond the budget come without body: they are to be read next.
WITH RECURSIVE thread AS MATERIALIZED (
    SELECT tid FROM {schema}document_threads
    WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
        AND thread_id = :thread_id::bytea
),
asked AS MATERIALIZED (
    SELECT a.position, d.*
    FROM (
        SELECT u.ref, u.position
        FROM unnest(:refs::bytea[]) WITH ORDINALITY AS u (ref, position)
        LIMIT (SELECT cardinality(:refs::bytea[]))
    ) a
    CROSS JOIN LATERAL (
        SELECT e.ref, e.kind, e.metadata, e.refs, e.body
        FROM {schema}addressed_documents e
        WHERE e.tid = (SELECT tid FROM thread) AND e.ref = a.ref
        OFFSET 0
    ) d
),
walk (ref, refs) AS (
    SELECT c.ref, c.refs
    FROM (
        SELECT b.ref, b.refs
        FROM (
            SELECT a.ref, a.refs FROM asked a WHERE a.refs IS NOT NULL
            LIMIT (SELECT cardinality(:refs::bytea[]))
        ) b
        LIMIT (SELECT cardinality(:refs::bytea[]))
    ) c
    UNION
    SELECT n.ref, n.refs
    FROM walk w
    CROSS JOIN LATERAL (
        SELECT v.at
        FROM (
            SELECT t.at
            FROM (
                SELECT s.at FROM generate_series(1, octet_length(w.refs), 12) AS s (at)
                LIMIT octet_length(w.refs)
            ) t
            LIMIT octet_length(w.refs)
        ) v
        LIMIT octet_length(w.refs)
    ) p
    CROSS JOIN LATERAL (
        SELECT d.ref, d.refs FROM {schema}addressed_documents d
        WHERE d.tid = (SELECT tid FROM thread) AND d.ref = substr(w.refs, p.at, 12)
            AND d.refs IS NOT NULL
        OFFSET 0
    ) n
),
found AS (
    SELECT position, ref, kind, metadata, refs, body FROM asked
    UNION ALL
    SELECT NULL, d.*
    FROM walk w
    CROSS JOIN LATERAL (
        SELECT e.ref, e.kind, e.metadata, e.refs, e.body
        FROM {schema}addressed_documents e
        WHERE e.tid = (SELECT tid FROM thread) AND e.ref = w.ref
        OFFSET 0
    ) d
    WHERE NOT EXISTS (SELECT FROM asked a WHERE a.ref = w.ref)
),
sized AS (
    SELECT *, octet_length(ref) + coalesce(octet_length(metadata), 0)
        + coalesce(octet_length(refs), 0) + octet_length(body) AS size
    FROM found
    ORDER BY position, ref
),
counted AS (
    SELECT *, row_number() OVER w AS at, sum(size) OVER w AS total
    FROM sized WINDOW w AS (ROWS UNBOUNDED PRECEDING)
)
SELECT position, at = 1 OR total <= :budget::bigint AS fits, ref, kind, metadata, refs,
    CASE WHEN at = 1 OR total <= :budget::bigint THEN body END
FROM counted;

-- measure --
WITH thread AS MATERIALIZED (
    SELECT tid FROM {schema}document_threads
    WHERE namespace = :namespace::bytea AND agent_id = :agent_id::bytea
        AND thread_id = :thread_id::bytea
)
SELECT CASE WHEN ns >= '\xff'::bytea THEN -3 ELSE -1 END AS kind, count(*), sum(
    octet_length(ns) - CASE WHEN ns >= '\xff'::bytea THEN 1 ELSE 0 END
    + CASE get_byte(id, 0) WHEN 255 THEN octet_length(id) - 1 ELSE 36 END
    + CASE
        WHEN parent IS NULL THEN 0
        WHEN get_byte(parent, 0) = 255 THEN octet_length(parent) - 1
        ELSE 36
    END
    + coalesce(octet_length(source), 0) + CASE WHEN step IS NULL THEN 0 ELSE 8 END
    + coalesce(octet_length(meta), 0) + coalesce(octet_length(refs), 0) + octet_length(body)
)
FROM {schema}checkpoint_documents WHERE tid = (SELECT tid FROM thread)
GROUP BY 1
UNION ALL
SELECT CASE WHEN ns >= '\xff'::bytea THEN -4 ELSE -2 END AS kind, count(*), sum(
    octet_length(ns) - CASE WHEN ns >= '\xff'::bytea THEN 1 ELSE 0 END
    + CASE get_byte(id, 0) WHEN 255 THEN octet_length(id) - 1 ELSE 36 END
    + CASE get_byte(task, 0) WHEN 255 THEN octet_length(task) - 1 ELSE 36 END
    + 8 + coalesce(octet_length(refs), 0) + octet_length(body)
)
FROM {schema}write_documents WHERE tid = (SELECT tid FROM thread)
GROUP BY 1
UNION ALL
SELECT kind, count(*), sum(
    octet_length(ref) + coalesce(octet_length(metadata), 0) + coalesce(octet_length(refs), 0)
    + octet_length(body)
)
FROM {schema}addressed_documents WHERE tid = (SELECT tid FROM thread)
GROUP BY kind;
