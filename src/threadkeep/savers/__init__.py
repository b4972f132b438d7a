"""LangGraph's two memories over ours: checkpoints of threads, and long-term items."""
