"""The schema of a SQLite file, step by step; see ``drivers.sql.migrate``."""
