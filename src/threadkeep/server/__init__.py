"""HTTP in and out: what ``langgraph_sdk`` calls, over the services."""
