-- add_cron --
INSERT INTO crons (
    cron_id, assistant_id, thread_id, schedule, timezone, end_time, next_run_date, enabled,
    on_run_completed, payload, metadata, user_id, principal, created_at, updated_at, token
) VALUES (
    :cron_id, :assistant_id, :thread_id, :schedule, :timezone, :end_time, :next_run_date, :enabled,
    :on_run_completed, :payload, :metadata, :user_id, :principal, :created_at, :updated_at, :token
) ON CONFLICT (cron_id) DO NOTHING;

-- get_cron --
SELECT * FROM crons WHERE cron_id = :cron_id;

-- search_crons --
SELECT * FROM crons WHERE {where} LIMIT :limit OFFSET :offset;

-- count_crons --
SELECT count(*) AS total FROM crons WHERE {where};

-- change_cron --
UPDATE crons SET
    schedule = :schedule, timezone = :timezone, end_time = :end_time,
    next_run_date = :next_run_date, enabled = :enabled, on_run_completed = :on_run_completed,
    payload = :payload, metadata = :metadata, updated_at = :updated_at, token = :token
WHERE cron_id = :cron_id;

-- move_cron --
UPDATE crons SET next_run_date = :next_run_date, updated_at = :updated_at, token = token + 1
WHERE cron_id = :cron_id AND enabled AND token = :token;

-- remove_cron --
DELETE FROM crons WHERE cron_id = :cron_id;

-- due_crons --
SELECT * FROM crons WHERE enabled AND next_run_date <= :now
ORDER BY next_run_date, cron_id LIMIT :limit;

-- first_due_cron --
SELECT min(next_run_date) AS next_run_date FROM crons WHERE enabled AND next_run_date <= :now;
