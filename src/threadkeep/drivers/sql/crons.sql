-- get_cron --
SELECT * FROM {schema}crons WHERE cron_id = :cron_id;

-- search_crons --
SELECT * FROM {schema}crons WHERE {where} LIMIT :limit OFFSET :offset;

-- count_crons --
SELECT count(*) AS total FROM {schema}crons WHERE {where};

-- move_cron --
UPDATE {schema}crons SET next_run_date = :next_run_date, updated_at = :updated_at, token = token + 1
WHERE cron_id = :cron_id AND enabled AND token = :token;

-- remove_cron --
DELETE FROM {schema}crons WHERE cron_id = :cron_id;

-- due_crons --
SELECT * FROM {schema}crons WHERE enabled AND next_run_date <= :now
ORDER BY next_run_date, cron_id LIMIT :limit;

-- first_due_cron --
SELECT min(next_run_date) AS next_run_date FROM {schema}crons WHERE enabled AND next_run_date <= :now;
