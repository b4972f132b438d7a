"""Faults that users of other savers, stores and servers met."""
