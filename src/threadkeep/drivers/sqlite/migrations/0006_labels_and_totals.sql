-- The single values at the top of a thread's metadata, so that a search by one reads what it finds.
-- Truth values stand as x'01' and x'00', which no number or text equals. What is not exact (text
-- that SQLite may read otherwise than we do) only says where to look.
CREATE TABLE thread_labels (
    label_key      TEXT NOT NULL,
    label_value    NOT NULL,
    label_at       INTEGER NOT NULL,
    label_thread   TEXT NOT NULL,
    label_is_exact INTEGER NOT NULL,
    PRIMARY KEY (label_key, label_value, label_at, label_thread)
) WITHOUT ROWID;

CREATE TRIGGER thread_labels_added AFTER INSERT ON threads BEGIN
    INSERT OR IGNORE INTO thread_labels
    SELECT
        "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
        new.created_at, new.thread_id,
        new.metadata NOT LIKE ' %' AND instr(new.metadata, '\u0000') = 0
    FROM json_each(new.metadata)
    WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
        AND (type <> 'text' OR length(atom) <= 200);
END;

CREATE TRIGGER thread_labels_removed AFTER DELETE ON threads BEGIN
    DELETE FROM thread_labels WHERE (label_key, label_value, label_at, label_thread) IN (
        SELECT
            "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
            old.created_at, old.thread_id
        FROM json_each(old.metadata)
        WHERE type IN ('text', 'integer', 'real', 'true', 'false')
    );
END;

CREATE TRIGGER thread_labels_changed AFTER UPDATE OF metadata ON threads
WHEN old.metadata IS NOT new.metadata BEGIN
    DELETE FROM thread_labels WHERE (label_key, label_value, label_at, label_thread) IN (
        SELECT
            "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
            old.created_at, old.thread_id
        FROM json_each(old.metadata)
        WHERE type IN ('text', 'integer', 'real', 'true', 'false')
    );
    INSERT OR IGNORE INTO thread_labels
    SELECT
        "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
        new.created_at, new.thread_id,
        new.metadata NOT LIKE ' %' AND instr(new.metadata, '\u0000') = 0
    FROM json_each(new.metadata)
    WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
        AND (type <> 'text' OR length(atom) <= 200);
END;

INSERT OR IGNORE INTO thread_labels
SELECT
    "key", CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END,
    threads.created_at, threads.thread_id,
    threads.metadata NOT LIKE ' %' AND instr(threads.metadata, '\u0000') = 0
FROM threads, json_each(threads.metadata)
WHERE type IN ('text', 'integer', 'real', 'true', 'false') AND length("key") <= 200
    AND (type <> 'text' OR length(atom) <= 200);

-- How many rows there are of each status, so that a count of them reads a few rows.
CREATE TABLE resource_totals (
    kind   TEXT NOT NULL,
    status TEXT NOT NULL,
    total  INTEGER NOT NULL,
    PRIMARY KEY (kind, status)
) WITHOUT ROWID;

INSERT INTO resource_totals
SELECT 'thread', status, count(*) FROM threads GROUP BY status
UNION ALL
SELECT 'run', status, count(*) FROM runs GROUP BY status;

CREATE TRIGGER thread_totals_added AFTER INSERT ON threads BEGIN
    INSERT INTO resource_totals VALUES ('thread', new.status, 1)
    ON CONFLICT (kind, status) DO UPDATE SET total = total + 1;
END;

CREATE TRIGGER thread_totals_removed AFTER DELETE ON threads BEGIN
    UPDATE resource_totals SET total = total - 1 WHERE kind = 'thread' AND status = old.status;
END;

CREATE TRIGGER thread_totals_changed AFTER UPDATE OF status ON threads
WHEN old.status <> new.status BEGIN
    UPDATE resource_totals SET total = total - 1 WHERE kind = 'thread' AND status = old.status;
    INSERT INTO resource_totals VALUES ('thread', new.status, 1)
    ON CONFLICT (kind, status) DO UPDATE SET total = total + 1;
END;

CREATE TRIGGER run_totals_added AFTER INSERT ON runs BEGIN
    INSERT INTO resource_totals VALUES ('run', new.status, 1)
    ON CONFLICT (kind, status) DO UPDATE SET total = total + 1;
END;

CREATE TRIGGER run_totals_removed AFTER DELETE ON runs BEGIN
    UPDATE resource_totals SET total = total - 1 WHERE kind = 'run' AND status = old.status;
END;

CREATE TRIGGER run_totals_changed AFTER UPDATE OF status ON runs
WHEN old.status <> new.status BEGIN
    UPDATE resource_totals SET total = total - 1 WHERE kind = 'run' AND status = old.status;
    INSERT INTO resource_totals VALUES ('run', new.status, 1)
    ON CONFLICT (kind, status) DO UPDATE SET total = total + 1;
END;

CREATE INDEX runs_of_status ON runs (status, created_at, run_id);

CREATE INDEX runs_of_assistant ON runs (assistant_id, created_at, run_id);
