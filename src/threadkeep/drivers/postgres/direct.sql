-- Statements on the session that runs them: a migration's own, on the direct address, never a pool's.

-- session --
SELECT pg_backend_pid();

-- try_session_lock --
-- Of the session, since no transaction may hold what is done under it; it ends with the connection.
SELECT pg_try_advisory_lock(:lock::bigint);

-- unlock_session --
SELECT pg_advisory_unlock(:lock::bigint);
