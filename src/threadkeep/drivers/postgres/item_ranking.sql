-- make_item_indexes --
CREATE TABLE IF NOT EXISTS {schema}item_indexes (
    index_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dims     bigint NOT NULL,
    embedder text COLLATE "C" NOT NULL,
    state    text COLLATE "C" NOT NULL,
    UNIQUE (embedder, dims)
);

-- make_indexed_items --
CREATE TABLE IF NOT EXISTS {schema}indexed_items (
    item_id  bigint NOT NULL REFERENCES {schema}items ON DELETE CASCADE,
    index_id bigint NOT NULL REFERENCES {schema}item_indexes ON DELETE CASCADE,
    paths    text,
    PRIMARY KEY (item_id, index_id)
);

-- make_indexed_items_of_index --
CREATE INDEX IF NOT EXISTS indexed_items_of_index ON {schema}indexed_items (index_id);

-- make_item_vectors --
CREATE TABLE IF NOT EXISTS {schema}item_vectors (
    vector_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item_id   bigint NOT NULL,
    index_id  bigint NOT NULL,
    vector    vector NOT NULL,
    FOREIGN KEY (item_id, index_id)
    REFERENCES {schema}indexed_items (item_id, index_id) ON DELETE CASCADE
);

-- make_item_vectors_of_item --
CREATE INDEX IF NOT EXISTS item_vectors_of_item ON {schema}item_vectors (item_id, index_id);

-- make_item_texts --
CREATE TABLE IF NOT EXISTS {schema}item_texts (
    item_id bigint PRIMARY KEY REFERENCES {schema}items ON DELETE CASCADE,
    words   tsvector NOT NULL
);

-- make_item_forgetting --
-- Whoever puts an item, with an index or without: what was held of it is of another value.
CREATE OR REPLACE FUNCTION {schema}forget_indexed_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM {schema}indexed_items WHERE item_id = old.item_id;
    DELETE FROM {schema}item_texts WHERE item_id = old.item_id;
    RETURN NULL;
END
$$;

-- make_item_text_forgetting --
CREATE OR REPLACE TRIGGER items_put_again AFTER UPDATE OF value ON {schema}items
FOR EACH ROW EXECUTE FUNCTION {schema}forget_indexed_item();

-- put_item_vector --
INSERT INTO {schema}item_vectors (item_id, index_id, vector)
SELECT item_id, :index_id::bigint, :vector::float8[]::vector FROM {schema}items
WHERE path = :path AND "key" = :key;

-- remove_item_text --
DELETE FROM {schema}item_texts
WHERE item_id = (SELECT item_id FROM {schema}items WHERE path = :path AND "key" = :key);

-- put_item_text --
-- By their stems, and as they are: what is a stop word in English may be all that somebody said.
INSERT INTO {schema}item_texts (item_id, words)
SELECT item_id, to_tsvector('english', :text::text) || to_tsvector('simple', :text::text) FROM {schema}items
WHERE path = :path AND "key" = :key;

-- rank_items_by_words --
SELECT items.item_id, path, "key", ts_rank(words, question.asked, 1)::float8 AS score
FROM {schema}item_texts JOIN {schema}items ON items.item_id = item_texts.item_id
LEFT JOIN {schema}item_lifetimes ON item_lifetimes.item_id = items.item_id
CROSS JOIN (
    SELECT to_tsquery('english', :words::text) || to_tsquery('simple', :words::text) AS asked
) AS question
WHERE words @@ question.asked AND {where}
ORDER BY score DESC, path, "key" LIMIT :depth;

-- count_items_by_words --
SELECT count(*) AS total
FROM {schema}item_texts JOIN {schema}items ON items.item_id = item_texts.item_id
LEFT JOIN {schema}item_lifetimes ON item_lifetimes.item_id = items.item_id
WHERE words @@ (
    to_tsquery('english', :words::text) || to_tsquery('simple', :words::text)
) AND {where};

-- count_items_by_vector --
SELECT count(*) AS total FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
WHERE {where} AND EXISTS (
    SELECT FROM {schema}item_vectors
    WHERE item_vectors.item_id = items.item_id AND item_vectors.index_id = :index_id
);

-- ranked_items --
SELECT items.item_id, path, "key", value, created_at, updated_at, ttl_minutes, expires_at
FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
WHERE item_id = ANY (:item_ids_listed::bigint[]);
