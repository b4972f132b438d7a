-- create_ledger --
CREATE TABLE IF NOT EXISTS {schema}threadkeep_migrations (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- list_migrations --
SELECT number FROM {schema}threadkeep_migrations;

-- record_migration --
INSERT INTO {schema}threadkeep_migrations (number, name) VALUES (:number::integer, :name::text);
