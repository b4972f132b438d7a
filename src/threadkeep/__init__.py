"""Durable memory for LangGraph agents."""

__version__ = "0.1.0"
