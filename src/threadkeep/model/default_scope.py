"""Whose checkpoints are meant where nobody says: part of the promise to users."""

NAMESPACE = "threadkeep.agents"
AGENT_ID = "engine.v1"
