"""Rows and values: frozen dataclasses named as on the wire."""
