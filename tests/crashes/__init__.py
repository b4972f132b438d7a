"""Processes that kill themselves at a given statement to the database."""
