"""The meaning of the resources as pure functions: no I/O, no clock, no randomness."""
