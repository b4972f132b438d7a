"""The run engine: loads graphs, executes runs on them and publishes what they do.

Modules that import LangGraph (``opening``, ``inputs``, ``stream``, ``drive``) are imported by
``Graphs.load`` in a thread, so that a server listens before LangGraph is there.
"""
