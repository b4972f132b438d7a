-- export_runs --
SELECT run_id, position, thread_id, assistant_id, status, metadata, kwargs, multitask_strategy,
    created_at, updated_at, start_at, reason, error, fence, cancel, owner, lease_expires_at
FROM runs JOIN run_requests USING (position) LEFT JOIN run_leases USING (position)
ORDER BY run_id;

-- export_addressed_documents --
SELECT t.namespace, t.agent_id, t.thread_id, d.ref, CASE d.kind WHEN 3 THEN 1 ELSE d.kind END,
    d.refs, d.body, (
        SELECT m.metadata FROM document_metadata AS m
        WHERE d.kind = 3 AND m.tid = d.tid AND m.ref = d.ref
    )
FROM document_threads AS t CROSS JOIN documents AS d
WHERE d.tid = t.tid ORDER BY t.namespace, t.agent_id, t.thread_id, d.ref;

-- restore_assistant_versions --
INSERT INTO assistant_versions (
    assistant_id, version, graph_id, name, description, config, context, metadata, created_at,
    updated_at
) VALUES (
    :assistant_id, :version, :graph_id, :name, :description, :config, :context, :metadata,
    :created_at, :updated_at
) ON CONFLICT DO NOTHING;

-- restore_runs --
INSERT INTO runs (
    position, run_id, thread_id, assistant_id, status, metadata, multitask_strategy, created_at,
    updated_at, start_at, reason, error, fence, cancel
) VALUES (
    CASE
        WHEN EXISTS (SELECT 1 FROM runs WHERE position = :position)
            THEN (SELECT max(position) + 1 FROM runs)
        ELSE :position
    END, :run_id, :thread_id, :assistant_id, :status, :metadata, :multitask_strategy,
    :created_at, :updated_at, :start_at, :reason, :error, :fence, :cancel
) ON CONFLICT DO NOTHING;

-- restore_items --
INSERT INTO items (path, "key", value, created_at, updated_at)
VALUES (:path, :key, :value, :created_at, :updated_at) ON CONFLICT DO NOTHING;

-- restore_deliveries --
INSERT INTO deliveries (
    delivery_id, run_id, thread_id, url, payload, is_truncated, run_status, status, attempt,
    next_attempt_at, last_error, created_at, updated_at, expires_at
) VALUES (
    :delivery_id, :run_id, :thread_id, :url, :payload, :is_truncated, :run_status, :status,
    :attempt, :next_attempt_at, :last_error, :created_at, :updated_at, :expires_at
) ON CONFLICT DO NOTHING;

-- restore_document_threads --
INSERT INTO document_threads (namespace, agent_id, thread_id, erased_at) VALUES (
    :namespace, :agent_id, :thread_id,
    (SELECT erased_at FROM document_erasures WHERE mark = :mark)
) ON CONFLICT DO NOTHING;

-- restore_addressed_documents --
-- A blob with metadata is of a kind of its own here.
INSERT INTO documents (tid, ref, kind, touched, refs, body) VALUES (
    (
        SELECT tid FROM document_threads
        WHERE namespace = :namespace AND agent_id = :agent_id AND thread_id = :thread_id
    ), :ref, CASE WHEN :metadata IS NULL THEN :kind ELSE 3 END, :touched, :refs, :body
) ON CONFLICT DO NOTHING;

-- restore_crons --
INSERT INTO crons (
    cron_id, assistant_id, thread_id, schedule, timezone, end_time, next_run_date, enabled,
    on_run_completed, payload, metadata, user_id, principal, created_at, updated_at, token
) VALUES (
    :cron_id, :assistant_id, :thread_id, :schedule, :timezone, :end_time, :next_run_date, :enabled,
    :on_run_completed, :payload, :metadata, :user_id, :principal, :created_at, :updated_at, :token
) ON CONFLICT DO NOTHING;
