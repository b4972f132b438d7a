-- has_ledger --
SELECT to_regclass(:ledger::text) IS NOT NULL;

-- try_lock --
-- Tried and not waited for: a statement that waits would hold up others that wait for it.
SELECT pg_try_advisory_xact_lock(:lock::bigint);

-- is_invalid --
SELECT EXISTS (
    SELECT FROM pg_index WHERE indexrelid = to_regclass(:index::text) AND NOT indisvalid
);

-- drop_index --
DROP INDEX CONCURRENTLY IF EXISTS {index};

-- has_schema --
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = :name::text);

-- create_schema --
CREATE SCHEMA IF NOT EXISTS {name};
