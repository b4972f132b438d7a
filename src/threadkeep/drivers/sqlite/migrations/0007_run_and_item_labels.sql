-- The single values at the top of a run's metadata, as in thread_labels. Neither a run's metadata nor
-- its creation changes. What is not exact only says where to look.
CREATE TABLE run_labels (
    label_key      TEXT NOT NULL,
    label_value    NOT NULL,
    label_at       INTEGER NOT NULL,
    label_position INTEGER NOT NULL,
    label_is_exact INTEGER NOT NULL,
    PRIMARY KEY (label_key, label_value, label_at, label_position)
) WITHOUT ROWID;

CREATE TRIGGER run_labels_added AFTER INSERT ON runs WHEN new.metadata <> '{}' BEGIN
    INSERT OR IGNORE INTO run_labels
    SELECT
        "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
        new.created_at, new.position,
        type <> 'real' AND new.metadata NOT LIKE ' %' AND instr(new.metadata, '\u0000') = 0
    FROM json_each(new.metadata)
    WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
        AND (type <> 'text' OR length(atom) <= 200);
END;

CREATE TRIGGER run_labels_removed AFTER DELETE ON runs WHEN old.metadata <> '{}' BEGIN
    DELETE FROM run_labels WHERE (label_key, label_value, label_at, label_position) IN (
        SELECT
            "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
            old.created_at, old.position
        FROM json_each(old.metadata)
        WHERE type IN ('text', 'integer', 'real', 'true', 'false')
    );
END;

INSERT OR IGNORE INTO run_labels
SELECT
    "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
    runs.created_at, runs.position,
    type <> 'real' AND runs.metadata NOT LIKE ' %' AND instr(runs.metadata, '\u0000') = 0
FROM runs, json_each(runs.metadata)
WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
    AND (type <> 'text' OR length(atom) <= 200);

-- The single values at the top of an item's value, and its path, so that a filter within a subtree of
-- namespaces reads what is of both. The rule looks at each item that is found here.
CREATE TABLE item_labels (
    label_key   TEXT NOT NULL,
    label_value NOT NULL,
    label_path  BLOB NOT NULL,
    label_item  INTEGER NOT NULL,
    PRIMARY KEY (label_key, label_value, label_path, label_item)
) WITHOUT ROWID;

CREATE TRIGGER item_labels_added AFTER INSERT ON items BEGIN
    INSERT OR IGNORE INTO item_labels
    SELECT
        "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
        new.path, new.item_id
    FROM json_each(new.value)
    WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
        AND (type <> 'text' OR length(atom) <= 200);
END;

CREATE TRIGGER item_labels_removed AFTER DELETE ON items BEGIN
    DELETE FROM item_labels WHERE (label_key, label_value, label_path, label_item) IN (
        SELECT
            "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
            old.path, old.item_id
        FROM json_each(old.value)
        WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
            AND (type <> 'text' OR length(atom) <= 200)
    );
END;

CREATE TRIGGER item_labels_changed AFTER UPDATE OF value ON items
WHEN old.value IS NOT new.value BEGIN
    DELETE FROM item_labels WHERE (label_key, label_value, label_path, label_item) IN (
        SELECT
            "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
            old.path, old.item_id
        FROM json_each(old.value)
        WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
            AND (type <> 'text' OR length(atom) <= 200)
    );
    INSERT OR IGNORE INTO item_labels
    SELECT
        "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
        new.path, new.item_id
    FROM json_each(new.value)
    WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
        AND (type <> 'text' OR length(atom) <= 200);
END;

INSERT OR IGNORE INTO item_labels
SELECT
    entries."key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
    items.path, items.item_id
FROM items, json_each(items.value) AS entries
WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length(entries."key") <= 200
    AND (type <> 'text' OR length(atom) <= 200);
