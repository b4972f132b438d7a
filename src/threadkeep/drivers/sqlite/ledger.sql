-- create_ledger --
CREATE TABLE IF NOT EXISTS threadkeep_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at TEXT NOT NULL
);

-- list_migrations --
SELECT number FROM threadkeep_migrations;

-- record_migration --
INSERT INTO threadkeep_migrations (number, name, applied_at) VALUES (?, ?, ?);
