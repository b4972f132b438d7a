-- find_thread --
SELECT tid, erased_at FROM document_threads
WHERE namespace = ? AND agent_id = ? AND thread_id = ?;

-- add_thread --
INSERT INTO document_threads (namespace, agent_id, thread_id, erased_at)
VALUES (?, ?, ?, (SELECT erased_at FROM document_erasures WHERE mark = ?));

-- has_thread --
SELECT erased_at FROM document_threads WHERE tid = ?;

-- has_checkpoint --
SELECT 1 FROM checkpoint_documents WHERE tid = ? AND ns = ? AND id = ?;

-- has_write --
SELECT 1 FROM write_documents
WHERE tid = ? AND ns = ? AND id = ? AND task = ? AND part = ?;

-- has_document --
SELECT 1 FROM documents WHERE tid = ? AND ref = ? AND kind IN (?, ?);

-- add_documents --
INSERT INTO documents (tid, ref, kind, touched, refs, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tid, ref) DO UPDATE SET touched = excluded.touched;

-- add_absent_document --
INSERT INTO documents (tid, ref, kind, touched, refs, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tid, ref) DO NOTHING;

-- touch_document --
UPDATE documents SET touched = ? WHERE tid = ? AND ref = ?;

-- put_documents --
INSERT INTO documents (tid, ref, kind, touched, refs, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tid, ref) DO UPDATE SET
    kind = excluded.kind, touched = excluded.touched, refs = excluded.refs, body = excluded.body;

-- add_metadata --
INSERT INTO document_metadata (tid, ref, metadata) VALUES (?, ?, ?);

-- remove_metadata --
DELETE FROM document_metadata WHERE tid = ? AND ref = ?;

-- add_checkpoint --
INSERT INTO checkpoint_documents (tid, ns, id, parent, source, step, meta, refs, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- put_checkpoints --
INSERT OR REPLACE INTO checkpoint_documents (tid, ns, id, parent, source, step, meta, refs, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- add_write --
INSERT INTO write_documents (tid, ns, id, task, part, refs, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- put_writes --
INSERT OR REPLACE INTO write_documents (tid, ns, id, task, part, refs, body)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- remove_checkpoints --
DELETE FROM checkpoint_documents WHERE tid = ? AND ns = ? AND id = ?;

-- remove_writes --
DELETE FROM write_documents WHERE tid = ? AND ns = ? AND id = ? AND task = ? AND part = ?;

-- remove_documents --
DELETE FROM documents WHERE tid = ? AND ref = ? AND kind IN (?, ?);

-- erase_checkpoints --
DELETE FROM checkpoint_documents WHERE tid = ?;

-- erase_writes --
DELETE FROM write_documents WHERE tid = ?;

-- erase_documents --
DELETE FROM documents WHERE tid = ?;

-- erase_metadata --
DELETE FROM document_metadata WHERE tid = ?;

-- erase_thread --
DELETE FROM document_threads WHERE tid = ?;

-- find_checkpoints --
SELECT d.tid, t.thread_id, d.ns, d.id, d.parent, d.source, d.step, d.meta, d.refs,
    CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t CROSS JOIN checkpoint_documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY t.thread_id, d.ns, d.id
LIMIT :limit;

-- find_newest_checkpoints --
SELECT d.tid, t.thread_id, d.ns, d.id, d.parent, d.source, d.step, d.meta, d.refs,
    CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t CROSS JOIN checkpoint_documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY d.id DESC, d.ns, t.thread_id
LIMIT :limit;

-- find_newest_with_writes --
SELECT f.tid, f.thread_id, f.ns, f.id, f.parent, f.source, f.step, f.meta, f.refs, f.body,
    w.task, w.part, w.refs, CASE WHEN :bodies THEN w.body ELSE x'' END
FROM (
    SELECT d.tid, t.thread_id, d.ns, d.id, d.parent, d.source, d.step, d.meta, d.refs,
        CASE WHEN :bodies THEN d.body ELSE x'' END AS body
    FROM document_threads t CROSS JOIN checkpoint_documents d ON d.tid = t.tid
    WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
    ORDER BY d.id DESC, d.ns, t.thread_id
    LIMIT :limit
) f
LEFT JOIN write_documents w ON w.tid = f.tid AND w.ns = f.ns AND w.id = f.id
ORDER BY f.id DESC, f.ns, f.thread_id, w.task, w.part;

-- count_checkpoints --
SELECT count(*)
FROM document_threads t CROSS JOIN checkpoint_documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where};

-- body_of_checkpoint --
SELECT body FROM checkpoint_documents WHERE tid = ? AND ns = ? AND id = ?;

-- writes_of_checkpoint --
SELECT task, part, refs, CASE WHEN :bodies THEN body ELSE x'' END
FROM write_documents
WHERE tid = :tid AND ns = :ns AND id = :id
ORDER BY task, part;

-- find_writes --
SELECT d.tid, t.thread_id, d.ns, d.id, d.task, d.part, d.refs,
    CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t CROSS JOIN write_documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY t.thread_id, d.ns, d.id, d.task, d.part
LIMIT :limit;

-- find_newest_writes --
SELECT d.tid, t.thread_id, d.ns, d.id, d.task, d.part, d.refs,
    CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t CROSS JOIN write_documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY d.part DESC, d.ns, d.id, d.task, t.thread_id
LIMIT :limit;

-- count_writes --
SELECT count(*)
FROM document_threads t CROSS JOIN write_documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where};

-- body_of_write --
SELECT body FROM write_documents
WHERE tid = ? AND ns = ? AND id = ? AND task = ? AND part = ?;

-- find_documents --
SELECT d.tid, t.thread_id, d.ref,
    CASE d.kind WHEN 3 THEN
        (SELECT metadata FROM document_metadata m WHERE m.tid = d.tid AND m.ref = d.ref)
    END,
    d.refs, CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t CROSS JOIN documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY t.thread_id, d.ref
LIMIT :limit;

-- find_newest_documents --
SELECT d.tid, t.thread_id, d.ref,
    CASE d.kind WHEN 3 THEN
        (SELECT metadata FROM document_metadata m WHERE m.tid = d.tid AND m.ref = d.ref)
    END,
    d.refs, CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t CROSS JOIN documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY d.ref DESC, t.thread_id
LIMIT :limit;

-- count_documents --
SELECT count(*)
FROM document_threads t CROSS JOIN documents d ON d.tid = t.tid
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where};

-- find_entries --
SELECT d.tid, t.thread_id, d.ref, m.metadata, d.refs, CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t
CROSS JOIN document_metadata m ON m.tid = t.tid
CROSS JOIN documents d ON d.tid = m.tid AND d.ref = m.ref
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY t.thread_id, m.ref
LIMIT :limit;

-- find_newest_entries --
SELECT d.tid, t.thread_id, d.ref, m.metadata, d.refs, CASE WHEN :bodies THEN d.body ELSE x'' END
FROM document_threads t
CROSS JOIN document_metadata m ON m.tid = t.tid
CROSS JOIN documents d ON d.tid = m.tid AND d.ref = m.ref
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where}
ORDER BY m.ref DESC, t.thread_id
LIMIT :limit;

-- count_entries --
SELECT count(*)
FROM document_threads t
CROSS JOIN document_metadata m ON m.tid = t.tid
CROSS JOIN documents d ON d.tid = m.tid AND d.ref = m.ref
WHERE t.namespace = :namespace AND t.agent_id = :agent_id {where};

-- body_of_document --
SELECT body FROM documents WHERE tid = ? AND ref = ?;

-- fetch_documents --
-- In the order asked for. Sixteen addresses are cut off at a time: a step of the queue for each
-- would take as long as the look-up.
WITH RECURSIVE
slots (at) AS (
    SELECT 1
    UNION ALL
    SELECT at + 192 FROM slots WHERE at + 192 < length(:refs)
),
offsets (skip) AS (
    VALUES (0), (12), (24), (36), (48), (60), (72), (84),
        (96), (108), (120), (132), (144), (156), (168), (180)
)
SELECT d.ref, d.kind,
    CASE d.kind WHEN 3 THEN
        (SELECT metadata FROM document_metadata m WHERE m.tid = d.tid AND m.ref = d.ref)
    END,
    d.refs, d.body
FROM document_threads t
CROSS JOIN slots s
CROSS JOIN offsets o
CROSS JOIN documents d ON d.tid = t.tid AND d.ref = substr(:refs, s.at + o.skip, 12)
WHERE t.namespace = :namespace AND t.agent_id = :agent_id AND t.thread_id = :thread_id;

-- fetch_nodes --
-- A node's addresses are followed 16 at a time, so that the queue holds few rows.
WITH RECURSIVE
slots (at) AS (
    SELECT 1
    UNION ALL
    SELECT at + 12 FROM slots WHERE at + 12 < length(:refs)
),
offsets (skip) AS (
    VALUES (1), (13), (25), (37), (49), (61), (73), (85),
        (97), (109), (121), (133), (145), (157), (169), (181)
),
walk (node, start) AS (
    SELECT d.rowid, 0
    FROM document_threads t
    CROSS JOIN slots s
    CROSS JOIN documents d ON d.tid = t.tid AND d.ref = substr(:refs, s.at, 12)
    WHERE t.namespace = :namespace AND t.agent_id = :agent_id AND t.thread_id = :thread_id
    UNION
    SELECT w.node, w.start + 192
    FROM walk w CROSS JOIN documents p ON p.rowid = w.node
    WHERE length(p.refs) > w.start + 192
    UNION
    SELECT d.rowid, 0
    FROM walk w
    CROSS JOIN documents p ON p.rowid = w.node
    CROSS JOIN offsets o
    CROSS JOIN documents d INDEXED BY document_nodes
        ON d.tid = p.tid AND d.ref = substr(p.refs, w.start + o.skip, 12)
    WHERE length(p.refs) > w.start + o.skip AND d.refs IS NOT NULL
)
SELECT d.ref, d.kind,
    CASE d.kind WHEN 3 THEN
        (SELECT metadata FROM document_metadata m WHERE m.tid = d.tid AND m.ref = d.ref)
    END,
    d.refs, d.body
FROM walk w CROSS JOIN documents d ON d.rowid = w.node
WHERE w.start = 0;

-- list_nodes --
WITH RECURSIVE slots (at) AS (
    SELECT 1
    UNION ALL
    SELECT at + 12 FROM slots WHERE at + 12 < length(:refs)
)
SELECT d.ref
FROM document_threads t
CROSS JOIN slots s
CROSS JOIN documents d INDEXED BY document_nodes
    ON d.tid = t.tid AND d.ref = substr(:refs, s.at, 12)
WHERE t.namespace = :namespace AND t.agent_id = :agent_id AND t.thread_id = :thread_id
    AND d.refs IS NOT NULL;

-- measure_checkpoints --
SELECT ns >= x'ff' AS is_earlier, count(*), sum(
    length(ns) - (ns >= x'ff') + CASE WHEN substr(id, 1, 1) = x'ff' THEN length(id) - 1 ELSE 36 END
    + CASE
        WHEN parent IS NULL THEN 0
        WHEN substr(parent, 1, 1) = x'ff' THEN length(parent) - 1
        ELSE 36
    END
    + coalesce(length(source), 0) + 8 * (step IS NOT NULL) + coalesce(length(meta), 0)
    + coalesce(length(refs), 0) + length(body)
)
FROM checkpoint_documents WHERE tid = ?
GROUP BY is_earlier;

-- measure_writes --
SELECT ns >= x'ff' AS is_earlier, count(*), sum(
    length(ns) - (ns >= x'ff') + CASE WHEN substr(id, 1, 1) = x'ff' THEN length(id) - 1 ELSE 36 END
    + CASE WHEN substr(task, 1, 1) = x'ff' THEN length(task) - 1 ELSE 36 END
    + 8 + coalesce(length(refs), 0) + length(body)
)
FROM write_documents WHERE tid = ?
GROUP BY is_earlier;

-- measure_documents --
SELECT d.kind, count(*), sum(
    12 + coalesce(length(m.metadata), 0) + coalesce(length(d.refs), 0) + length(d.body)
)
FROM documents d LEFT JOIN document_metadata m ON m.tid = d.tid AND m.ref = d.ref
WHERE d.tid = ?
GROUP BY d.kind;
