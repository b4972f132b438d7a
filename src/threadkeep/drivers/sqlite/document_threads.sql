-- copy_metadata --
INSERT INTO document_metadata (tid, ref, metadata)
SELECT :target, m.ref, m.metadata
FROM document_metadata m
WHERE m.tid = :source
    AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.tid = :target AND d.ref = m.ref);

-- copy_documents --
INSERT INTO documents (tid, ref, kind, touched, refs, body)
SELECT :target, ref, kind, :touched, refs, body FROM documents WHERE tid = :source
ON CONFLICT (tid, ref) DO NOTHING;

-- copy_checkpoints --
INSERT INTO checkpoint_documents (tid, ns, id, parent, source, step, meta, refs, body)
SELECT :target, ns, id, parent, source, step, meta, refs, body
FROM checkpoint_documents WHERE tid = :source
ON CONFLICT DO NOTHING;

-- copy_writes --
INSERT INTO write_documents (tid, ns, id, task, part, refs, body)
SELECT :target, ns, id, task, part, refs, body FROM write_documents WHERE tid = :source
ON CONFLICT DO NOTHING;

-- list_followers --
SELECT ns, id, parent FROM checkpoint_documents WHERE tid = ? AND parent IS NOT NULL;

-- remove_writes_of_checkpoint --
DELETE FROM write_documents WHERE tid = ? AND ns = ? AND id = ?;

-- remove_stray_writes --
DELETE FROM write_documents
WHERE tid = ? AND ns = ? AND id = ?
    AND NOT EXISTS (
        SELECT 1 FROM checkpoint_documents c
        WHERE c.tid = write_documents.tid
            AND c.ns = write_documents.ns
            AND c.id = write_documents.id
    );

-- cut_off_checkpoint --
UPDATE checkpoint_documents SET parent = NULL
WHERE tid = ? AND ns = ? AND id = ?
    AND NOT EXISTS (
        SELECT 1 FROM checkpoint_documents p
        WHERE p.tid = checkpoint_documents.tid
            AND p.ns = checkpoint_documents.ns
            AND p.id = checkpoint_documents.parent
    );

-- list_named --
SELECT refs FROM checkpoint_documents WHERE tid = :tid AND refs IS NOT NULL
UNION ALL
SELECT refs FROM write_documents WHERE tid = :tid AND refs IS NOT NULL;

-- list_all_nodes --
SELECT ref, refs FROM documents WHERE tid = ? AND refs IS NOT NULL;

-- list_documents --
SELECT ref FROM documents WHERE tid = ?;

-- sweep_documents --
DELETE FROM documents WHERE tid = ? AND ref = ?;

-- remember_erasure --
INSERT OR REPLACE INTO document_erasures (mark, erased_at) VALUES (?, ?);

-- forget_erasure --
DELETE FROM document_erasures WHERE mark = ?;

-- forget_erasure_of_thread --
UPDATE document_threads SET erased_at = NULL WHERE tid = ?;

-- forget_old_erasures --
DELETE FROM document_erasures WHERE erased_at < ?;

-- find_erasure --
SELECT erased_at FROM document_erasures WHERE mark = ?;

-- add_lease --
INSERT OR IGNORE INTO document_leases (namespace, agent_id, thread_id, ends_at)
VALUES (?, ?, ?, ?);

-- remove_ended_lease --
DELETE FROM document_leases
WHERE namespace = ? AND agent_id = ? AND thread_id = ? AND ends_at <= ?;

-- find_lease --
SELECT token FROM document_leases WHERE namespace = ? AND agent_id = ? AND thread_id = ?;

-- extend_lease --
UPDATE document_leases SET ends_at = ?
WHERE namespace = ? AND agent_id = ? AND thread_id = ? AND token = ?;

-- release_lease --
DELETE FROM document_leases
WHERE namespace = ? AND agent_id = ? AND thread_id = ? AND token = ?;
