"""The checkpoint format: values as small immutable documents, written once and shared by steps.

Pure: no I/O, no clock, no randomness, no event loop. Algorithms are generators (``steps``).
"""
