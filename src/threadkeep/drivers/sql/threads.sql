-- expired_threads --
SELECT thread_id FROM {schema}threads WHERE expires_at <= :now
ORDER BY expires_at, thread_id LIMIT :limit;
