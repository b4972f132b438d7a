-- vector_extension --
SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS installed,
EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS is_available;

-- make_vector_extension --
CREATE EXTENSION IF NOT EXISTS vector;

-- lock_item_indexes --
SELECT pg_advisory_xact_lock(:lock::bigint);

-- make_item_texts_index --
CREATE INDEX IF NOT EXISTS item_texts_by_word ON {schema}item_texts USING gin (words);

-- hnsw_index --
SELECT coalesce((
    SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name::text)
), FALSE) AS is_valid, EXISTS (
    SELECT FROM pg_stat_progress_create_index WHERE index_relid = to_regclass(:name::text)
) AS is_built;

-- make_hnsw --
-- Beside reads and writes; where it breaks off it leaves an index that is not valid.
CREATE INDEX CONCURRENTLY IF NOT EXISTS item_vectors_hnsw_{index}
ON {schema}item_vectors USING hnsw ((vector::vector({dims})) vector_ip_ops)
WHERE index_id = {index};

-- drop_hnsw --
DROP INDEX CONCURRENTLY IF EXISTS {schema}item_vectors_hnsw_{index};

-- few_items --
SELECT count(*) AS few FROM (
    SELECT FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
    JOIN {schema}item_vectors USING (item_id)
    WHERE index_id = :index_id AND {where} LIMIT :limit
) AS counted;

-- nearest_items --
SELECT item_id, path, "key", score FROM (
    SELECT items.item_id, path, "key", round(max(
        -(vector <#> (SELECT :question::float8[]::vector))
    )::numeric, :digits::integer)::float8 AS score
    FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
    JOIN {schema}item_vectors USING (item_id)
    WHERE index_id = :index_id AND {where} GROUP BY items.item_id
) AS best ORDER BY score DESC, path, "key" LIMIT :depth;

-- search_approximately --
SELECT set_config('hnsw.iterative_scan', 'strict_order', TRUE),
set_config('hnsw.ef_search', :breadth::text, TRUE),
set_config('hnsw.max_scan_tuples', '2147483647', TRUE),
set_config('hnsw.scan_mem_multiplier', '16', TRUE),
set_config('enable_seqscan', 'off', TRUE), set_config('enable_sort', 'off', TRUE);

-- search_exactly --
SELECT set_config('enable_seqscan', 'on', TRUE), set_config('enable_sort', 'on', TRUE);

-- nearly_nearest_items --
SELECT item_id, path, "key", round((-distance)::numeric, :digits::integer)::float8 AS score FROM (
    SELECT items.item_id, path, "key",
    vector::vector({dims}) <#> :question::float8[]::vector({dims}) AS distance
    FROM {schema}item_vectors JOIN {schema}items USING (item_id)
    LEFT JOIN {schema}item_lifetimes USING (item_id)
    WHERE index_id = {index} AND {where}
    ORDER BY vector::vector({dims}) <#> :question::float8[]::vector({dims}) LIMIT :limit
) AS near;
