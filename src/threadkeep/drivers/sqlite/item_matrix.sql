-- last_vector --
SELECT seq AS last FROM sqlite_sequence WHERE name = 'item_vectors';

-- vectors_after --
SELECT vector_id, item_id, vector FROM item_vectors
WHERE vector_id > :after AND index_id = :index_id ORDER BY vector_id LIMIT :limit;

-- vector_ids --
SELECT vector_id FROM items LEFT JOIN item_lifetimes USING (item_id)
CROSS JOIN item_vectors ON item_vectors.item_id = items.item_id
WHERE index_id = :index_id AND {where} ORDER BY vector_id;

-- vectors_of_ids --
SELECT vector_id, item_id, vector FROM item_vectors
WHERE vector_id IN (SELECT value FROM json_each(:vector_ids)) ORDER BY vector_id;

-- ranked_addresses --
SELECT vector_id, items.item_id, path, "key"
FROM item_vectors JOIN items USING (item_id) LEFT JOIN item_lifetimes USING (item_id)
WHERE vector_id IN (SELECT value FROM json_each(:vector_ids)) AND {where};
