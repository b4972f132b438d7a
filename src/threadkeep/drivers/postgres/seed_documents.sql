-- find_seed_documents --
-- The containment is what naas-abi-core has an index for.
SELECT id, data::text FROM {schema}abi_documents
WHERE namespace = :namespace::text AND collection = :collection::text
    AND data @> :fields::jsonb
    AND (:before::text IS NULL OR data ->> 'checkpoint_id' COLLATE "C" < :before::text)
    AND (
        :after::text IS NULL
        OR data ->> 'checkpoint_id' COLLATE "C" < :after::text
        OR (data ->> 'checkpoint_id' = :after::text AND id > :after_id::text)
    )
ORDER BY data ->> 'checkpoint_id' COLLATE "C" DESC, id
LIMIT :limit::bigint;

-- fetch_seed_documents --
SELECT data::text FROM {schema}abi_documents
WHERE namespace = :namespace::text AND collection = :collection::text AND id = ANY (:ids::text[]);

-- list_seed_threads --
SELECT DISTINCT data ->> 'thread_id' COLLATE "C" AS thread_id FROM {schema}abi_documents
WHERE namespace = :namespace::text AND collection = :collection::text AND data @> :fields::jsonb
ORDER BY thread_id;
