"""What every document store must do: one case per promise of ``ports.documents``.

A driver's test file subclasses ``DocumentStoreSuite`` and overrides the ``store`` fixture; a
blocking store passes through ``testing.faces.Awaited``. No case asks which driver it has, and
none is skipped.
"""

from threadkeep.testing.document_earlier import EarlierCases
from threadkeep.testing.document_fetching import FetchingCases
from threadkeep.testing.document_filters import FilterCases
from threadkeep.testing.document_finding import FindingCases
from threadkeep.testing.document_inserting import InsertingCases
from threadkeep.testing.document_refusals import RefusalCases
from threadkeep.testing.document_removing import RemovingCases
from threadkeep.testing.document_steps import StoreFixtures
from threadkeep.testing.document_threads import (
    CopyingCases,
    ErasureCases,
    LeaseCases,
    PruningCases,
)


class DocumentStoreSuite(
    InsertingCases,
    RefusalCases,
    FetchingCases,
    FindingCases,
    FilterCases,
    RemovingCases,
    CopyingCases,
    PruningCases,
    ErasureCases,
    LeaseCases,
    EarlierCases,
    StoreFixtures,
):
    """Subclass in a driver's tests."""
