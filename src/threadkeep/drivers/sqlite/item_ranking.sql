-- make_item_indexes --
CREATE TABLE IF NOT EXISTS item_indexes (
    index_id INTEGER PRIMARY KEY AUTOINCREMENT,
    dims     INTEGER NOT NULL,
    embedder TEXT NOT NULL,
    state    TEXT NOT NULL,
    UNIQUE (embedder, dims)
);

-- make_indexed_items --
CREATE TABLE IF NOT EXISTS indexed_items (
    item_id  INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
    index_id INTEGER NOT NULL REFERENCES item_indexes ON DELETE CASCADE,
    paths    TEXT,
    PRIMARY KEY (item_id, index_id)
) WITHOUT ROWID;

-- make_indexed_items_of_index --
CREATE INDEX IF NOT EXISTS indexed_items_of_index ON indexed_items (index_id);

-- make_item_vectors --
-- The ids are never used again: who keeps vectors in memory knows a new one by its id.
CREATE TABLE IF NOT EXISTS item_vectors (
    vector_id INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id   INTEGER NOT NULL,
    index_id  INTEGER NOT NULL,
    vector    BLOB NOT NULL,
    FOREIGN KEY (item_id, index_id) REFERENCES indexed_items (item_id, index_id) ON DELETE CASCADE
);

-- make_item_vectors_of_item --
CREATE INDEX IF NOT EXISTS item_vectors_of_item ON item_vectors (item_id, index_id);

-- make_item_texts --
CREATE VIRTUAL TABLE IF NOT EXISTS item_texts USING fts5(
    words, tokenize = 'porter unicode61 remove_diacritics 2'
);

-- make_item_forgetting --
-- Whoever puts an item, with an index or without: what was held of it is of another value.
CREATE TRIGGER IF NOT EXISTS items_put_again AFTER UPDATE OF value ON items BEGIN
    DELETE FROM indexed_items WHERE item_id = old.item_id;
    DELETE FROM item_texts WHERE rowid = old.item_id;
END;

-- make_item_text_forgetting --
CREATE TRIGGER IF NOT EXISTS items_removed AFTER DELETE ON items BEGIN
    DELETE FROM item_texts WHERE rowid = old.item_id;
END;

-- put_item_vector --
INSERT INTO item_vectors (item_id, index_id, vector)
SELECT item_id, :index_id, :vector FROM items WHERE path = :path AND "key" = :key;

-- remove_item_text --
DELETE FROM item_texts
WHERE rowid = (SELECT item_id FROM items WHERE path = :path AND "key" = :key);

-- put_item_text --
INSERT INTO item_texts (rowid, words)
SELECT item_id, :text FROM items WHERE path = :path AND "key" = :key;

-- rank_items_by_words --
SELECT items.item_id, path, "key", -bm25(item_texts) AS score
FROM item_texts CROSS JOIN items ON items.item_id = item_texts.rowid
LEFT JOIN item_lifetimes ON item_lifetimes.item_id = items.item_id
WHERE item_texts MATCH :words AND {where}
ORDER BY score DESC, path, "key" LIMIT :depth;

-- count_items_by_words --
SELECT count(*) AS total
FROM item_texts CROSS JOIN items ON items.item_id = item_texts.rowid
LEFT JOIN item_lifetimes ON item_lifetimes.item_id = items.item_id
WHERE item_texts MATCH :words AND {where};

-- count_items_by_vector --
SELECT count(*) AS total FROM items LEFT JOIN item_lifetimes USING (item_id)
WHERE {where} AND EXISTS (
    SELECT 1 FROM item_vectors
    WHERE item_vectors.item_id = items.item_id AND item_vectors.index_id = :index_id
);

-- ranked_items --
SELECT items.*, ttl_minutes, expires_at FROM items LEFT JOIN item_lifetimes USING (item_id)
WHERE item_id IN (SELECT value FROM json_each(:item_ids));
