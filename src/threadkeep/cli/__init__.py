"""The command line: words to calls, errors to one line and an exit code."""
