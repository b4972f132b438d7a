"""Real servers for the tests, started from Python packages."""
