-- add_assistant --
INSERT INTO assistants (
    assistant_id, graph_id, version, name, description, config, context, metadata, created_at,
    updated_at
) VALUES (
    :assistant_id, :graph_id, :version, :name, :description, :config, :context, :metadata,
    :created_at, :updated_at
) ON CONFLICT (assistant_id) DO NOTHING;

-- add_assistant_version --
INSERT INTO assistant_versions (
    assistant_id, version, graph_id, name, description, config, context, metadata, created_at,
    updated_at
) VALUES (
    :assistant_id, :version, :graph_id, :name, :description, :config, :context, :metadata,
    :created_at, :updated_at
);

-- get_assistant --
SELECT * FROM assistants WHERE assistant_id = :assistant_id;

-- lock_assistant --
SELECT * FROM assistants WHERE assistant_id = :assistant_id;

-- search_assistants --
SELECT * FROM assistants WHERE {where} LIMIT :limit OFFSET :offset;

-- count_assistants --
SELECT count(*) AS total FROM assistants WHERE {where};

-- change_assistant --
UPDATE assistants SET
    graph_id = :graph_id, version = :version, name = :name, description = :description,
    config = :config, context = :context, metadata = :metadata, updated_at = :updated_at
WHERE assistant_id = :assistant_id;

-- highest_assistant_version --
SELECT max(version) AS version FROM assistant_versions WHERE assistant_id = :assistant_id;

-- get_assistant_version --
SELECT * FROM assistant_versions WHERE assistant_id = :assistant_id AND version = :version;

-- search_assistant_versions --
SELECT * FROM assistant_versions WHERE {where} LIMIT :limit OFFSET :offset;

-- count_assistant_versions --
SELECT count(*) AS total FROM assistant_versions WHERE {where};

-- remove_assistant --
DELETE FROM assistants WHERE assistant_id = :assistant_id;

-- add_thread_row --
INSERT INTO threads (
    thread_id, status, left_status, metadata, config, "values", head_checkpoint_id, interrupts,
    error, created_at, updated_at, state_updated_at, ttl_minutes, expires_at
) VALUES (
    :thread_id, :status, :left_status, :metadata, :config, :values, :head_checkpoint_id,
    :interrupts, :error, :created_at, :updated_at, :state_updated_at, :ttl_minutes, :expires_at
) ON CONFLICT (thread_id) DO NOTHING;

-- get_thread --
SELECT * FROM threads WHERE thread_id = :thread_id;

-- lock_thread --
SELECT * FROM threads WHERE thread_id = :thread_id;

-- lock_thread_of_run --
SELECT * FROM threads WHERE thread_id = (SELECT thread_id FROM runs WHERE run_id = :run_id);

-- search_threads --
SELECT
    thread_id, status, head_checkpoint_id, created_at, updated_at, state_updated_at, ttl_minutes,
    expires_at, CASE WHEN :select_metadata THEN metadata END AS metadata,
    CASE WHEN :select_config THEN config END AS config,
    CASE WHEN :select_values THEN "values" END AS "values",
    CASE WHEN :select_interrupts THEN interrupts END AS interrupts,
    CASE WHEN :select_error THEN error END AS error
FROM {where} LIMIT :limit OFFSET :offset;

-- count_threads --
SELECT count(*) AS total FROM {where};

-- change_thread --
UPDATE threads SET
    status = :status, left_status = :left_status, metadata = :metadata, config = :config,
    "values" = :values, head_checkpoint_id = :head_checkpoint_id, interrupts = :interrupts,
    error = :error, updated_at = :updated_at, state_updated_at = :state_updated_at,
    ttl_minutes = :ttl_minutes, expires_at = :expires_at
WHERE thread_id = :thread_id;

-- free_thread --
UPDATE threads SET status = left_status WHERE thread_id = :thread_id;

-- remove_thread_row --
DELETE FROM threads WHERE thread_id = :thread_id;

-- add_cron --
INSERT INTO crons (
    cron_id, assistant_id, thread_id, schedule, timezone, end_time, next_run_date, enabled,
    on_run_completed, payload, metadata, user_id, principal, created_at, updated_at, token
) VALUES (
    :cron_id, :assistant_id, :thread_id, :schedule, :timezone, :end_time, :next_run_date, :enabled,
    :on_run_completed, :payload, :metadata, :user_id, :principal, :created_at, :updated_at, :token
) ON CONFLICT (cron_id) DO NOTHING;

-- change_cron --
UPDATE crons SET
    schedule = :schedule, timezone = :timezone, end_time = :end_time,
    next_run_date = :next_run_date, enabled = :enabled, on_run_completed = :on_run_completed,
    payload = :payload, metadata = :metadata, updated_at = :updated_at, token = :token
WHERE cron_id = :cron_id;

-- lock_cron --
SELECT * FROM crons WHERE cron_id = :cron_id;

-- lock_delivery --
SELECT * FROM deliveries WHERE delivery_id = :delivery_id;

-- lock_due_deliveries --
SELECT * FROM deliveries
WHERE status IN ('pending', 'delivering') AND next_attempt_at <= :now
ORDER BY next_attempt_at, delivery_id LIMIT :limit;

-- add_run --
INSERT INTO runs (
    run_id, thread_id, assistant_id, status, metadata, multitask_strategy, created_at, updated_at,
    start_at, reason, error, fence, cancel
) VALUES (
    :run_id, :thread_id, :assistant_id, :status, :metadata, :multitask_strategy, :created_at,
    :updated_at, :start_at, :reason, :error, :fence, :cancel
) ON CONFLICT (run_id) DO NOTHING;

-- add_run_request --
INSERT INTO run_requests (position, kwargs)
SELECT position, :kwargs FROM runs WHERE run_id = :run_id;

-- add_run_lease --
INSERT INTO run_leases (position, owner, lease_expires_at)
SELECT position, :owner, :lease_expires_at FROM runs WHERE run_id = :run_id;

-- renew_run_leases --
UPDATE run_leases SET lease_expires_at = :lease_expires_at
WHERE owner = :owner AND position IN (
    SELECT position FROM runs WHERE run_id IN (SELECT value FROM json_each(:run_ids))
);

-- remove_run_lease --
DELETE FROM run_leases WHERE position = (SELECT position FROM runs WHERE run_id = :run_id);

-- get_run --
SELECT runs.*, kwargs, owner, lease_expires_at
FROM runs JOIN run_requests USING (position) LEFT JOIN run_leases USING (position)
WHERE run_id = :run_id;

-- latest_run --
SELECT runs.*, kwargs, owner, lease_expires_at
FROM runs JOIN run_requests USING (position) LEFT JOIN run_leases USING (position)
WHERE thread_id = :thread_id ORDER BY created_at DESC, run_id DESC LIMIT 1;

-- search_runs --
-- What stands apart is read of the rows of the page only.
SELECT
    runs.*, (SELECT kwargs FROM run_requests WHERE position = runs.position) AS kwargs,
    (SELECT owner FROM run_leases WHERE position = runs.position) AS owner,
    (SELECT lease_expires_at FROM run_leases WHERE position = runs.position) AS lease_expires_at
FROM {where} LIMIT :limit OFFSET :offset;

-- count_runs --
SELECT count(*) AS total FROM {where};

-- active_runs --
SELECT runs.*, kwargs, owner, lease_expires_at
FROM runs JOIN run_requests USING (position) LEFT JOIN run_leases USING (position)
WHERE thread_id = :thread_id AND status IN ('pending', 'running') ORDER BY position;

-- has_active_run --
SELECT 1 AS found FROM runs
WHERE thread_id = :thread_id AND status IN ('pending', 'running') LIMIT 1;

-- startable_runs --
SELECT runs.*, kwargs, owner, lease_expires_at
FROM runs INDEXED BY runs_pending JOIN run_requests USING (position) LEFT JOIN run_leases USING (position)
WHERE status = 'pending' AND start_at <= :now AND NOT EXISTS (
    SELECT 1 FROM runs AS older
    WHERE older.thread_id = runs.thread_id AND older.status IN ('pending', 'running')
    AND older.position < runs.position
) ORDER BY position LIMIT :limit;

-- next_start --
SELECT min(start_at) AS start_at FROM runs INDEXED BY runs_pending
WHERE status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM runs AS older
    WHERE older.thread_id = runs.thread_id AND older.status IN ('pending', 'running')
    AND older.position < runs.position
);

-- owned_runs --
SELECT run_id, cancel FROM runs JOIN run_leases USING (position)
WHERE owner = :owner AND run_id IN (SELECT value FROM json_each(:run_ids));

-- expired_runs --
SELECT runs.*, kwargs, owner, lease_expires_at
FROM runs JOIN run_requests USING (position) JOIN run_leases USING (position)
WHERE position IN (SELECT position FROM run_leases WHERE lease_expires_at <= :now)
ORDER BY position;

-- change_run --
UPDATE runs SET
    status = :status, updated_at = :updated_at, reason = :reason, error = :error, fence = :fence,
    cancel = :cancel
WHERE run_id = :run_id;

-- remove_run --
DELETE FROM runs WHERE run_id = :run_id;

-- get_item --
SELECT items.*, ttl_minutes, expires_at FROM items LEFT JOIN item_lifetimes USING (item_id)
WHERE path = :path AND "key" = :key AND (expires_at IS NULL OR expires_at > :now);

-- lock_items --
-- Whoever writes has the whole file.
SELECT 1 AS locked;

-- put_item --
INSERT INTO items (path, "key", value, created_at, updated_at)
VALUES (:path, :key, :value, :created_at, :updated_at)
ON CONFLICT (path, "key") DO UPDATE SET
    value = excluded.value, created_at = excluded.created_at, updated_at = excluded.updated_at;

-- put_item_lifetime --
INSERT INTO item_lifetimes (item_id, ttl_minutes, expires_at)
SELECT item_id, :ttl_minutes, :expires_at FROM items WHERE path = :path AND "key" = :key
ON CONFLICT (item_id) DO UPDATE SET
    ttl_minutes = excluded.ttl_minutes, expires_at = excluded.expires_at;

-- restart_item_lifetime --
UPDATE item_lifetimes SET expires_at = :expires_at
WHERE ttl_minutes = :ttl_minutes
AND item_id = (SELECT item_id FROM items WHERE path = :path AND "key" = :key);

-- remove_item_lifetime --
DELETE FROM item_lifetimes
WHERE item_id = (SELECT item_id FROM items WHERE path = :path AND "key" = :key);

-- remove_item --
DELETE FROM items WHERE path = :path AND "key" = :key;

-- search_items --
SELECT items.*, ttl_minutes, expires_at FROM items LEFT JOIN item_lifetimes USING (item_id)
WHERE {where} LIMIT :limit OFFSET :offset;

-- count_items --
SELECT count(*) AS total FROM items LEFT JOIN item_lifetimes USING (item_id) WHERE {where};

-- search_namespaces --
WITH found AS MATERIALIZED (
    SELECT DISTINCT path FROM items LEFT JOIN item_lifetimes USING (item_id) WHERE {where}
), shaped AS MATERIALIZED (
    SELECT cut_namespace(path, :shape) AS path FROM found
)
SELECT DISTINCT path FROM shaped WHERE path IS NOT NULL ORDER BY path LIMIT :limit OFFSET :offset;

-- count_namespaces --
WITH found AS MATERIALIZED (
    SELECT DISTINCT path FROM items LEFT JOIN item_lifetimes USING (item_id) WHERE {where}
), shaped AS MATERIALIZED (
    SELECT cut_namespace(path, :shape) AS path FROM found
)
SELECT count(DISTINCT path) AS total FROM shaped;

-- sweep_items --
DELETE FROM items WHERE item_id IN (
    SELECT item_id FROM item_lifetimes JOIN items USING (item_id)
    WHERE expires_at <= :now ORDER BY expires_at, path, "key" LIMIT :limit
);
