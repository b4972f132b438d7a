-- add_assistant --
INSERT INTO {schema}assistants (
    assistant_id, graph_id, version, name, name_folded, description, config, context, metadata,
    metadata_search, created_at, updated_at
) VALUES (
    :assistant_id, :graph_id, :version, :name, :name_folded, :description, :config, :context,
    :metadata, :metadata_search::jsonb, :created_at, :updated_at
) ON CONFLICT (assistant_id) DO NOTHING;

-- add_assistant_version --
INSERT INTO {schema}assistant_versions (
    assistant_id, version, graph_id, name, description, config, context, metadata,
    metadata_search, created_at, updated_at
) VALUES (
    :assistant_id, :version, :graph_id, :name, :description, :config, :context, :metadata,
    :metadata_search::jsonb, :created_at, :updated_at
);

-- get_assistant --
SELECT assistant_id, graph_id, version, name, description, config, context, metadata, created_at,
    updated_at
FROM {schema}assistants WHERE assistant_id = :assistant_id;

-- lock_assistant --
SELECT assistant_id, graph_id, version, name, description, config, context, metadata, created_at,
    updated_at
FROM {schema}assistants WHERE assistant_id = :assistant_id FOR UPDATE;

-- search_assistants --
SELECT assistant_id, graph_id, version, name, description, config, context, metadata, created_at,
    updated_at
FROM {schema}assistants WHERE {where} LIMIT :limit OFFSET :offset;

-- count_assistants --
SELECT count(*) AS total FROM {schema}assistants WHERE {where};

-- change_assistant --
UPDATE {schema}assistants SET
    graph_id = :graph_id, version = :version, name = :name, name_folded = :name_folded,
    description = :description, config = :config, context = :context, metadata = :metadata,
    metadata_search = :metadata_search::jsonb, updated_at = :updated_at
WHERE assistant_id = :assistant_id;

-- highest_assistant_version --
SELECT max(version) AS version FROM {schema}assistant_versions WHERE assistant_id = :assistant_id;

-- get_assistant_version --
SELECT assistant_id, graph_id, version, name, description, config, context, metadata, created_at,
    updated_at
FROM {schema}assistant_versions WHERE assistant_id = :assistant_id AND version = :version;

-- search_assistant_versions --
SELECT assistant_id, graph_id, version, name, description, config, context, metadata, created_at,
    updated_at
FROM {schema}assistant_versions WHERE {where} LIMIT :limit OFFSET :offset;

-- count_assistant_versions --
SELECT count(*) AS total FROM {schema}assistant_versions WHERE {where};

-- remove_assistant --
DELETE FROM {schema}assistants WHERE assistant_id = :assistant_id;

-- add_thread_row --
WITH added AS (
    INSERT INTO {schema}threads (
        thread_id, status, left_status, metadata, config, "values", head_checkpoint_id, interrupts,
        error, created_at, updated_at, state_updated_at, ttl_minutes, expires_at
    ) VALUES (
        :thread_id, :status, :left_status, :metadata, :config, :values, :head_checkpoint_id,
        :interrupts, :error, :created_at, :updated_at, :state_updated_at, :ttl_minutes, :expires_at
    ) ON CONFLICT (thread_id) DO NOTHING RETURNING thread_id
), sought AS (
    INSERT INTO {schema}thread_search (thread_id, metadata_search, values_search)
    SELECT thread_id, :metadata_search::jsonb, :values_search::jsonb FROM added
)
SELECT 1 AS added FROM added;

-- get_thread --
SELECT * FROM {schema}threads WHERE thread_id = :thread_id;

-- lock_thread --
SELECT * FROM {schema}threads WHERE thread_id = :thread_id FOR UPDATE;

-- lock_thread_of_run --
SELECT * FROM {schema}threads
WHERE thread_id = (SELECT thread_id FROM {schema}runs WHERE run_id = :run_id) FOR UPDATE;

-- search_threads --
SELECT
    thread_id, status, head_checkpoint_id, created_at, updated_at, state_updated_at, ttl_minutes,
    expires_at, CASE WHEN :select_metadata THEN metadata END AS metadata,
    CASE WHEN :select_config THEN config END AS config,
    CASE WHEN :select_values THEN "values" END AS "values",
    CASE WHEN :select_interrupts THEN interrupts END AS interrupts,
    CASE WHEN :select_error THEN error END AS error
FROM {schema}threads LEFT JOIN {schema}thread_search USING (thread_id)
WHERE {where} LIMIT :limit OFFSET :offset;

-- count_threads --
SELECT count(*) AS total FROM {schema}threads LEFT JOIN {schema}thread_search USING (thread_id)
WHERE {where};

-- change_thread --
WITH sought AS (
    UPDATE {schema}thread_search SET
        metadata_search = :metadata_search::jsonb, values_search = :values_search::jsonb
    WHERE thread_id = :thread_id AND (metadata_search, values_search)
        IS DISTINCT FROM (:metadata_search::jsonb, :values_search::jsonb)
)
UPDATE {schema}threads SET
    status = :status, left_status = :left_status, metadata = :metadata, config = :config,
    "values" = :values, head_checkpoint_id = :head_checkpoint_id, interrupts = :interrupts,
    error = :error, updated_at = :updated_at, state_updated_at = :state_updated_at,
    ttl_minutes = :ttl_minutes, expires_at = :expires_at
WHERE thread_id = :thread_id;

-- free_thread --
UPDATE {schema}threads SET status = left_status WHERE thread_id = :thread_id;

-- remove_thread_row --
DELETE FROM {schema}threads WHERE thread_id = :thread_id;

-- add_cron --
INSERT INTO {schema}crons (
    cron_id, assistant_id, thread_id, schedule, timezone, end_time, next_run_date, enabled,
    on_run_completed, payload, metadata, metadata_search, user_id, principal, created_at, updated_at, token
) VALUES (
    :cron_id, :assistant_id, :thread_id, :schedule, :timezone, :end_time, :next_run_date, :enabled,
    :on_run_completed, :payload, :metadata, :metadata_search::jsonb, :user_id, :principal, :created_at, :updated_at, :token
) ON CONFLICT (cron_id) DO NOTHING;

-- change_cron --
UPDATE {schema}crons SET
    schedule = :schedule, timezone = :timezone, end_time = :end_time,
    next_run_date = :next_run_date, enabled = :enabled, on_run_completed = :on_run_completed,
    payload = :payload, metadata = :metadata, metadata_search = :metadata_search::jsonb, updated_at = :updated_at, token = :token
WHERE cron_id = :cron_id;

-- lock_cron --
SELECT * FROM {schema}crons WHERE cron_id = :cron_id FOR UPDATE;

-- lock_delivery --
SELECT * FROM {schema}deliveries WHERE delivery_id = :delivery_id FOR UPDATE;

-- lock_due_deliveries --
SELECT * FROM {schema}deliveries
WHERE status IN ('pending', 'delivering') AND next_attempt_at <= :now
ORDER BY next_attempt_at, delivery_id LIMIT :limit FOR UPDATE SKIP LOCKED;

-- add_run --
INSERT INTO {schema}runs (
    run_id, thread_id, assistant_id, status, multitask_strategy, created_at, updated_at, start_at,
    reason, error, fence, cancel
) VALUES (
    :run_id, :thread_id, :assistant_id, :status, :multitask_strategy, :created_at, :updated_at,
    :start_at, :reason, :error, :fence, :cancel
) ON CONFLICT (run_id) DO NOTHING;

-- add_run_request --
INSERT INTO {schema}run_requests (position, kwargs, metadata, metadata_search)
SELECT position, :kwargs, :metadata, :metadata_search::jsonb
FROM {schema}runs WHERE run_id = :run_id;

-- add_run_lease --
INSERT INTO {schema}run_leases (position, owner, lease_expires_at)
SELECT position, :owner, :lease_expires_at FROM {schema}runs WHERE run_id = :run_id;

-- renew_run_leases --
UPDATE {schema}run_leases SET lease_expires_at = :lease_expires_at
WHERE owner = :owner AND position IN (
    SELECT position FROM {schema}runs WHERE run_id = ANY (:run_ids_listed::text[])
);

-- remove_run_lease --
DELETE FROM {schema}run_leases
WHERE position = (SELECT position FROM {schema}runs WHERE run_id = :run_id);

-- get_run --
SELECT runs.*, kwargs, run_requests.metadata, owner, lease_expires_at
FROM {schema}runs JOIN {schema}run_requests USING (position)
LEFT JOIN {schema}run_leases USING (position)
WHERE run_id = :run_id;

-- latest_run --
SELECT runs.*, kwargs, run_requests.metadata, owner, lease_expires_at
FROM {schema}runs JOIN {schema}run_requests USING (position)
LEFT JOIN {schema}run_leases USING (position)
WHERE thread_id = :thread_id ORDER BY created_at DESC, run_id DESC LIMIT 1;

-- search_runs --
-- The page is found before anything is joined to it: what comes before it is only counted off.
SELECT page.*, kwargs, run_requests.metadata, owner, lease_expires_at FROM (
    SELECT runs.* FROM {schema}runs LEFT JOIN {schema}run_requests USING (position)
    WHERE {where} LIMIT :limit OFFSET :offset
) AS page JOIN {schema}run_requests USING (position) LEFT JOIN {schema}run_leases USING (position)
ORDER BY created_at DESC, run_id DESC;

-- count_runs --
SELECT count(*) AS total FROM {schema}runs LEFT JOIN {schema}run_requests USING (position)
WHERE {where};

-- active_runs --
SELECT runs.*, kwargs, run_requests.metadata, owner, lease_expires_at
FROM {schema}runs JOIN {schema}run_requests USING (position)
LEFT JOIN {schema}run_leases USING (position)
WHERE thread_id = :thread_id AND status IN ('pending', 'running') ORDER BY position;

-- has_active_run --
SELECT 1 AS found FROM {schema}runs
WHERE thread_id = :thread_id AND status IN ('pending', 'running') LIMIT 1;

-- startable_runs --
-- Threads that another has locked are passed over, and so are their runs. A run that was taken
-- between the look and the lock is no longer pending when it is locked.
SELECT runs.*, kwargs, run_requests.metadata, NULL::text AS owner, NULL::bigint AS lease_expires_at
FROM {schema}runs JOIN {schema}run_requests USING (position) JOIN {schema}threads USING (thread_id)
WHERE runs.status = 'pending' AND start_at <= :now AND NOT EXISTS (
    SELECT FROM {schema}runs AS older
    WHERE older.thread_id = runs.thread_id AND older.status IN ('pending', 'running')
    AND older.position < runs.position
) ORDER BY position LIMIT :limit FOR UPDATE OF threads, runs SKIP LOCKED;

-- next_start --
SELECT min(start_at) AS start_at FROM {schema}runs
WHERE status = 'pending' AND NOT EXISTS (
    SELECT FROM {schema}runs AS older
    WHERE older.thread_id = runs.thread_id AND older.status IN ('pending', 'running')
    AND older.position < runs.position
);

-- owned_runs --
-- Locked in one order, whoever asks; what a release has just taken is not found.
SELECT run_id, cancel FROM {schema}runs JOIN {schema}run_leases USING (position)
WHERE owner = :owner AND run_id = ANY (:run_ids_listed::text[])
ORDER BY position FOR UPDATE OF run_leases;

-- expired_runs --
SELECT runs.*, kwargs, run_requests.metadata, owner, lease_expires_at
FROM {schema}run_leases JOIN {schema}runs USING (position)
JOIN {schema}run_requests USING (position) JOIN {schema}threads USING (thread_id)
WHERE lease_expires_at <= :now
ORDER BY position FOR UPDATE OF threads, runs, run_leases SKIP LOCKED;

-- change_run --
UPDATE {schema}runs SET
    status = :status, updated_at = :updated_at, reason = :reason, error = :error, fence = :fence,
    cancel = :cancel
WHERE run_id = :run_id;

-- remove_run --
DELETE FROM {schema}runs WHERE run_id = :run_id;

-- get_item --
SELECT path, "key", value, created_at, updated_at, ttl_minutes, expires_at
FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
WHERE path = :path AND "key" = :key AND (expires_at IS NULL OR expires_at > :now);

-- lock_items --
-- One after the other in order of their numbers, so that two batches never wait for each other.
SELECT pg_advisory_xact_lock(number) FROM (
    SELECT number FROM unnest(:address_locks::bigint[]) AS number ORDER BY number
) AS ordered;

-- put_item --
INSERT INTO {schema}items (
    path, labels, "key", entries, value, value_search, created_at, updated_at
) VALUES (
    :path, :labels::text[], :key, :entries::uuid[], :value, :value_search::jsonb, :created_at,
    :updated_at
) ON CONFLICT (path, "key") DO UPDATE SET
    entries = excluded.entries, value = excluded.value, value_search = excluded.value_search,
    created_at = excluded.created_at, updated_at = excluded.updated_at;

-- put_item_lifetime --
INSERT INTO {schema}item_lifetimes (item_id, ttl_minutes, expires_at)
SELECT item_id, :ttl_minutes, :expires_at FROM {schema}items WHERE path = :path AND "key" = :key
ON CONFLICT (item_id) DO UPDATE SET
    ttl_minutes = excluded.ttl_minutes, expires_at = excluded.expires_at;

-- restart_item_lifetime --
UPDATE {schema}item_lifetimes SET expires_at = :expires_at
WHERE ttl_minutes = :ttl_minutes
AND item_id = (SELECT item_id FROM {schema}items WHERE path = :path AND "key" = :key);

-- remove_item_lifetime --
DELETE FROM {schema}item_lifetimes
WHERE item_id = (SELECT item_id FROM {schema}items WHERE path = :path AND "key" = :key);

-- remove_item --
DELETE FROM {schema}items WHERE path = :path AND "key" = :key;

-- search_items --
SELECT path, "key", value, created_at, updated_at, ttl_minutes, expires_at
FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
WHERE {where} LIMIT :limit OFFSET :offset;

-- count_items --
SELECT count(*) AS total FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
WHERE {where};

-- search_namespaces --
SELECT (
    SELECT string_agg(convert_to(label, 'UTF8') || '\x00'::bytea, ''::bytea ORDER BY place)
    FROM unnest(cut) WITH ORDINALITY AS labelled (label, place)
) AS path FROM (
    SELECT DISTINCT labels[1 : :depth::integer] AS cut
    FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
    WHERE {where}
) AS shaped ORDER BY cut LIMIT :limit OFFSET :offset;

-- count_namespaces --
SELECT count(*) AS total FROM (
    SELECT DISTINCT labels[1 : :depth::integer]
    FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id)
    WHERE {where}
) AS shaped;

-- sweep_items --
DELETE FROM {schema}items WHERE item_id IN (
    SELECT item_id FROM {schema}item_lifetimes JOIN {schema}items USING (item_id)
    WHERE expires_at <= :now ORDER BY expires_at, path, "key" LIMIT :limit
    FOR UPDATE SKIP LOCKED
);
