-- export_runs --
SELECT run_id, position, thread_id, assistant_id, status, run_requests.metadata, kwargs,
    multitask_strategy, created_at, updated_at, start_at, reason, error, fence, cancel, owner,
    lease_expires_at
FROM {schema}runs JOIN {schema}run_requests USING (position)
LEFT JOIN {schema}run_leases USING (position)
ORDER BY run_id;

-- export_addressed_documents --
SELECT t.namespace, t.agent_id, t.thread_id, d.ref, d.kind, d.refs, d.body, d.metadata
FROM {schema}document_threads AS t CROSS JOIN {schema}addressed_documents AS d
WHERE d.tid = t.tid ORDER BY t.namespace, t.agent_id, t.thread_id, d.ref;

-- restore_assistant_versions --
INSERT INTO {schema}assistant_versions (
    assistant_id, version, graph_id, name, description, config, context, metadata,
    metadata_search, created_at, updated_at
) VALUES (
    :assistant_id, :version, :graph_id, :name, :description, :config, :context, :metadata,
    :metadata_search::jsonb, :created_at, :updated_at
) ON CONFLICT DO NOTHING;

-- restore_runs --
WITH added AS (
    INSERT INTO {schema}runs (
        position, run_id, thread_id, assistant_id, status, multitask_strategy, created_at,
        updated_at, start_at, reason, error, fence, cancel
    ) OVERRIDING SYSTEM VALUE VALUES (
        CASE
            WHEN EXISTS (SELECT FROM {schema}runs WHERE position = :position::bigint)
                THEN (SELECT max(position) + 1 FROM {schema}runs)
            ELSE :position::bigint
        END, :run_id, :thread_id, :assistant_id, :status, :multitask_strategy, :created_at,
        :updated_at, :start_at, :reason, :error, :fence, :cancel
    ) ON CONFLICT DO NOTHING RETURNING position
), requested AS (
    INSERT INTO {schema}run_requests (position, kwargs, metadata, metadata_search)
    SELECT position, :kwargs, :metadata, :metadata_search::jsonb FROM added
), leased AS (
    INSERT INTO {schema}run_leases (position, owner, lease_expires_at)
    SELECT position, :owner::text, :lease_expires_at::bigint FROM added
    WHERE :owner::text IS NOT NULL
)
SELECT 1 AS added FROM added;

-- restore_items --
WITH added AS (
    INSERT INTO {schema}items (
        path, labels, "key", entries, value, value_search, created_at, updated_at
    ) VALUES (
        :path, :labels::text[], :key, :entries::uuid[], :value, :value_search::jsonb, :created_at,
        :updated_at
    ) ON CONFLICT DO NOTHING RETURNING item_id
), limited AS (
    INSERT INTO {schema}item_lifetimes (item_id, ttl_minutes, expires_at)
    SELECT item_id, :ttl_minutes::double precision, :expires_at::bigint FROM added
    WHERE :expires_at::bigint IS NOT NULL
)
SELECT 1 AS added FROM added;

-- restore_deliveries --
INSERT INTO {schema}deliveries (
    delivery_id, run_id, thread_id, url, payload, is_truncated, run_status, status, attempt,
    next_attempt_at, last_error, created_at, updated_at, expires_at
) VALUES (
    :delivery_id, :run_id, :thread_id, :url, :payload, :is_truncated::integer::boolean,
    :run_status, :status, :attempt, :next_attempt_at, :last_error, :created_at, :updated_at,
    :expires_at
) ON CONFLICT DO NOTHING;

-- restore_document_threads --
INSERT INTO {schema}document_threads (namespace, agent_id, thread_id)
VALUES (:namespace, :agent_id, :thread_id) ON CONFLICT DO NOTHING;

-- restore_addressed_documents --
INSERT INTO {schema}addressed_documents (tid, ref, kind, touched, refs, body, metadata, entries)
VALUES (
    (
        SELECT tid FROM {schema}document_threads
        WHERE namespace = :namespace AND agent_id = :agent_id AND thread_id = :thread_id
    ), :ref, :kind, :touched, :refs, :body, :metadata, :metadata_entries::uuid[]
) ON CONFLICT DO NOTHING;

-- restore_crons --
INSERT INTO {schema}crons (
    cron_id, assistant_id, thread_id, schedule, timezone, end_time, next_run_date, enabled,
    on_run_completed, payload, metadata, metadata_search, user_id, principal, created_at,
    updated_at, token
) VALUES (
    :cron_id, :assistant_id, :thread_id, :schedule, :timezone, :end_time, :next_run_date,
    :enabled::integer::boolean, :on_run_completed, :payload, :metadata, :metadata_search::jsonb,
    :user_id, :principal, :created_at, :updated_at, :token
) ON CONFLICT DO NOTHING;
