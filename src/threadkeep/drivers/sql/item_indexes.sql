-- list_item_indexes --
SELECT index_id, embedder, dims, state, NOT EXISTS (
    SELECT 1 FROM {schema}indexed_items WHERE indexed_items.index_id = item_indexes.index_id
) AS is_empty FROM {schema}item_indexes ORDER BY index_id;

-- add_item_index --
INSERT INTO {schema}item_indexes (embedder, dims, state) VALUES (:embedder, :dims, :state)
ON CONFLICT (embedder, dims) DO UPDATE SET state = excluded.state;

-- retire_other_indexes --
UPDATE {schema}item_indexes SET state = 'retired' WHERE index_id <> :index_id;

-- remove_retired_indexes --
DELETE FROM {schema}item_indexes WHERE state = 'retired' AND index_id <> :index_id;

-- mark_item_indexed --
INSERT INTO {schema}indexed_items (index_id, item_id, paths)
SELECT item_indexes.index_id, items.item_id, :paths
FROM {schema}items CROSS JOIN {schema}item_indexes
WHERE path = :path AND "key" = :key AND items.updated_at = :updated_at
AND item_indexes.index_id = :index_id;

-- unmark_item_indexed --
DELETE FROM {schema}indexed_items WHERE index_id = :index_id
AND item_id IN (SELECT item_id FROM {schema}items WHERE path = :path AND "key" = :key);

-- indexed_progress --
SELECT count(*) AS total, count(indexed_items.item_id) AS indexed
FROM {schema}items LEFT JOIN {schema}item_lifetimes ON item_lifetimes.item_id = items.item_id
LEFT JOIN {schema}indexed_items
ON indexed_items.item_id = items.item_id AND indexed_items.index_id = :index_id
WHERE expires_at IS NULL OR expires_at > :now;

-- unindexed_items --
SELECT items.item_id, path, "key", value, created_at, updated_at, ttl_minutes, expires_at, (
    SELECT max(paths) FROM {schema}indexed_items WHERE indexed_items.item_id = items.item_id
) AS paths
FROM {schema}items LEFT JOIN {schema}item_lifetimes ON item_lifetimes.item_id = items.item_id
WHERE (expires_at IS NULL OR expires_at > :now) AND NOT EXISTS (
    SELECT 1 FROM {schema}indexed_items
    WHERE indexed_items.item_id = items.item_id AND indexed_items.index_id = :index_id
) ORDER BY updated_at, path, "key" LIMIT :limit;
