-- add_delivery --
INSERT INTO {schema}deliveries (
    delivery_id, run_id, thread_id, url, payload, is_truncated, run_status, status, attempt,
    next_attempt_at, last_error, created_at, updated_at, expires_at
) VALUES (
    :delivery_id, :run_id, :thread_id, :url, :payload, :is_truncated, :run_status, :status,
    :attempt, :next_attempt_at, :last_error, :created_at, :updated_at, :expires_at
) ON CONFLICT (delivery_id) DO NOTHING;

-- get_delivery --
SELECT * FROM {schema}deliveries WHERE delivery_id = :delivery_id;

-- search_deliveries --
SELECT * FROM {schema}deliveries WHERE {where} LIMIT :limit OFFSET :offset;

-- count_deliveries --
SELECT count(*) AS total FROM {schema}deliveries WHERE {where};

-- due_deliveries --
SELECT * FROM {schema}deliveries
WHERE status IN ('pending', 'delivering') AND next_attempt_at <= :now
ORDER BY next_attempt_at, delivery_id LIMIT :limit;

-- change_delivery --
UPDATE {schema}deliveries SET
    payload = :payload, status = :status, attempt = :attempt, next_attempt_at = :next_attempt_at,
    last_error = :last_error, updated_at = :updated_at, expires_at = :expires_at
WHERE delivery_id = :delivery_id;

-- erase_deliveries_of_run --
DELETE FROM {schema}deliveries WHERE run_id = :run_id;

-- erase_deliveries_of_thread --
DELETE FROM {schema}deliveries WHERE thread_id = :thread_id;

-- erase_settled_deliveries_of_thread --
DELETE FROM {schema}deliveries WHERE thread_id = :thread_id AND status IN ('delivered', 'dead');

-- sweep_deliveries --
DELETE FROM {schema}deliveries WHERE delivery_id IN (
    SELECT delivery_id FROM {schema}deliveries WHERE expires_at <= :now
    ORDER BY expires_at, delivery_id LIMIT :limit
) AND expires_at <= :now;
