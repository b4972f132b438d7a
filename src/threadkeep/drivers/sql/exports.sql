-- export_assistants --
SELECT assistant_id, version, graph_id, name, description, config, context, metadata, created_at,
    updated_at
FROM {schema}assistants ORDER BY assistant_id;

-- export_assistant_versions --
SELECT assistant_id, version, graph_id, name, description, config, context, metadata, created_at,
    updated_at
FROM {schema}assistant_versions ORDER BY assistant_id, version;

-- export_threads --
SELECT thread_id, status, left_status, metadata, config, "values", head_checkpoint_id, interrupts,
    error, created_at, updated_at, state_updated_at, ttl_minutes, expires_at
FROM {schema}threads ORDER BY thread_id;

-- export_crons --
SELECT cron_id, assistant_id, thread_id, schedule, timezone, end_time, next_run_date,
    CAST(enabled AS integer), on_run_completed, payload, metadata, user_id, principal, created_at,
    updated_at, token
FROM {schema}crons ORDER BY cron_id;

-- export_items --
SELECT path, "key", value, created_at, updated_at, ttl_minutes, expires_at
FROM {schema}items LEFT JOIN {schema}item_lifetimes USING (item_id) ORDER BY path, "key";

-- export_idempotency_records --
SELECT scope, "key", fingerprint, claim_id, status, response, run_id, thread_id, expires_at
FROM {schema}idempotency_records ORDER BY scope, "key";

-- export_deliveries --
SELECT delivery_id, run_id, thread_id, url, payload, CAST(is_truncated AS integer), run_status,
    status, attempt, next_attempt_at, last_error, created_at, updated_at, expires_at
FROM {schema}deliveries ORDER BY delivery_id;

-- export_document_erasures --
SELECT mark, erased_at FROM {schema}document_erasures ORDER BY mark;

-- export_document_threads --
SELECT namespace, agent_id, thread_id FROM {schema}document_threads
ORDER BY namespace, agent_id, thread_id;

-- export_checkpoint_documents --
SELECT t.namespace, t.agent_id, t.thread_id, d.ns, d.id, d.parent, d.source, d.step, d.meta, d.refs,
    d.body
FROM {schema}document_threads AS t CROSS JOIN {schema}checkpoint_documents AS d
WHERE d.tid = t.tid ORDER BY t.namespace, t.agent_id, t.thread_id, d.ns, d.id;

-- export_write_documents --
SELECT t.namespace, t.agent_id, t.thread_id, d.ns, d.id, d.task, d.part, d.refs, d.body
FROM {schema}document_threads AS t CROSS JOIN {schema}write_documents AS d
WHERE d.tid = t.tid
ORDER BY t.namespace, t.agent_id, t.thread_id, d.ns, d.id, d.task, d.part;

-- restore_idempotency_records --
INSERT INTO {schema}idempotency_records (
    scope, "key", fingerprint, claim_id, status, response, run_id, thread_id, expires_at
) VALUES (
    :scope, :key, :fingerprint, :claim_id, :status, :response, :run_id, :thread_id, :expires_at
) ON CONFLICT DO NOTHING;

-- restore_document_erasures --
INSERT INTO {schema}document_erasures (mark, erased_at) VALUES (:mark, :erased_at)
ON CONFLICT DO NOTHING;

-- restore_checkpoint_documents --
INSERT INTO {schema}checkpoint_documents (
    tid, ns, id, parent, source, step, meta, refs, body
) VALUES (
    (
        SELECT tid FROM {schema}document_threads
        WHERE namespace = :namespace AND agent_id = :agent_id AND thread_id = :thread_id
    ), :ns, :id, :parent, :source, :step, :meta, :refs, :body
) ON CONFLICT DO NOTHING;

-- restore_write_documents --
INSERT INTO {schema}write_documents (tid, ns, id, task, part, refs, body) VALUES (
    (
        SELECT tid FROM {schema}document_threads
        WHERE namespace = :namespace AND agent_id = :agent_id AND thread_id = :thread_id
    ), :ns, :id, :task, :part, :refs, :body
) ON CONFLICT DO NOTHING;
