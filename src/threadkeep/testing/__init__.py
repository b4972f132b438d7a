"""The suites that hold every driver to its port; a third party runs them on its own.

Subclass a suite in a test module and override its fixture: see ``docs/conformance.md``.
"""
