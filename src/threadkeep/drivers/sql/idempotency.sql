-- claim_idempotency --
INSERT INTO {schema}idempotency_records (
    scope, "key", fingerprint, claim_id, status, response, run_id, thread_id, expires_at
) VALUES (
    :scope, :key, :fingerprint, :claim_id, :status, :response, :run_id, :thread_id, :expires_at
) ON CONFLICT (scope, "key") DO UPDATE SET
    fingerprint = excluded.fingerprint, claim_id = excluded.claim_id, status = excluded.status,
    response = excluded.response, run_id = excluded.run_id, thread_id = excluded.thread_id,
    expires_at = excluded.expires_at
WHERE idempotency_records.expires_at <= :now;

-- get_idempotency --
SELECT * FROM {schema}idempotency_records WHERE scope = :scope AND "key" = :key;

-- record_idempotency --
UPDATE {schema}idempotency_records SET
    status = 'done', response = :response, run_id = :run_id, thread_id = :thread_id,
    expires_at = :expires_at
WHERE scope = :scope AND "key" = :key AND claim_id = :claim_id;

-- release_idempotency --
DELETE FROM {schema}idempotency_records
WHERE scope = :scope AND "key" = :key AND claim_id = :claim_id AND status = 'in_flight';

-- disown_idempotency --
DELETE FROM {schema}idempotency_records WHERE scope = :scope AND "key" = :key AND claim_id = :claim_id;

-- erase_idempotency_of_run --
DELETE FROM {schema}idempotency_records WHERE run_id = :run_id;

-- erase_idempotency_of_thread --
DELETE FROM {schema}idempotency_records WHERE thread_id = :thread_id;

-- erase_idempotency_of_runs_of_thread --
DELETE FROM {schema}idempotency_records
WHERE run_id IN (SELECT run_id FROM {schema}runs WHERE thread_id = :thread_id);

-- sweep_idempotency --
DELETE FROM {schema}idempotency_records WHERE (scope, "key") IN (
    SELECT scope, "key" FROM {schema}idempotency_records WHERE expires_at <= :now
    ORDER BY expires_at, scope, "key" LIMIT :limit
) AND expires_at <= :now;
