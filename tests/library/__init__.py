"""LangGraph's own tests, from its source archive, with our savers in the place of others."""
