"""The suites that hold every driver to its port; a third party runs them on its own.

Subclass a suite in a test module and override its fixture: see ``docs/conformance.md``.
"""

import pkgutil

import pytest

# So that a failing case says what it compared.
pytest.register_assert_rewrite(
    *(f"{__name__}.{each.name}" for each in pkgutil.iter_modules(__path__))
)
