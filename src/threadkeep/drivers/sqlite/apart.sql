-- restore_document_metadata --
INSERT INTO document_metadata (tid, ref, metadata)
SELECT tid, :ref, :metadata FROM document_threads
WHERE namespace = :namespace AND agent_id = :agent_id AND thread_id = :thread_id;
