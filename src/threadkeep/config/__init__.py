"""What the user wrote: ``langgraph.json`` and the environment."""
