"""The schema of a PostgreSQL database, step by step; see ``drivers.sql.migrate``."""
