-- find_seed_documents --
SELECT id, data FROM abi_documents
WHERE namespace = :namespace AND collection = :collection
    AND (:agent_id IS NULL OR json_extract(data, '$.agent_id') = :agent_id)
    AND (:thread_id IS NULL OR json_extract(data, '$.thread_id') = :thread_id)
    AND (:checkpoint_ns IS NULL OR json_extract(data, '$.checkpoint_ns') = :checkpoint_ns)
    AND (:checkpoint_id IS NULL OR json_extract(data, '$.checkpoint_id') = :checkpoint_id)
    AND (:before IS NULL OR json_extract(data, '$.checkpoint_id') < :before)
    AND (
        :after IS NULL
        OR json_extract(data, '$.checkpoint_id') < :after
        OR (json_extract(data, '$.checkpoint_id') = :after AND id > :after_id)
    )
ORDER BY json_extract(data, '$.checkpoint_id') DESC, id
LIMIT :limit;

-- fetch_seed_documents --
SELECT data FROM abi_documents
WHERE namespace = :namespace AND collection = :collection
    AND id IN (SELECT value FROM json_each(:ids));

-- list_seed_threads --
SELECT DISTINCT json_extract(data, '$.thread_id') AS thread_id FROM abi_documents
WHERE namespace = :namespace AND collection = :collection
    AND json_extract(data, '$.agent_id') = :agent_id
ORDER BY thread_id;
