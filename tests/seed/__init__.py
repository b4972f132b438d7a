"""The seed system's own packages, in an environment of their own, write; we read."""
