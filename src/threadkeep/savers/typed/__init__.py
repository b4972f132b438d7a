"""Values to bytes and back, exact in type and value; see ``docs/values-format.md``."""
