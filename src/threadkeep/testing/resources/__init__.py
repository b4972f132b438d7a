"""What every resource store must do, one suite per repo.

A driver's test file subclasses each suite and overrides one fixture, ``store``: a fresh, empty
store, set up, that tells the time by the fixture ``clock`` and bounds pages at ``PAGE_SIZE``. No
case names a driver, and none is skipped. The cases are coroutines run by anyio's pytest plugin.
"""

from threadkeep.testing.resources.assistants import AssistantSuite
from threadkeep.testing.resources.concurrency import ConcurrencySuite
from threadkeep.testing.resources.crons import CronSuite
from threadkeep.testing.resources.deliveries import DeliverySuite, OutboxSuite
from threadkeep.testing.resources.erasure import ErasureSuite
from threadkeep.testing.resources.filters import FilterSuite
from threadkeep.testing.resources.firing import FiringSuite
from threadkeep.testing.resources.idempotency import IdempotencySuite
from threadkeep.testing.resources.isolation import IsolationSuite
from threadkeep.testing.resources.items import ItemSuite
from threadkeep.testing.resources.lifetimes import LifetimeSuite
from threadkeep.testing.resources.multitask import MultitaskSuite
from threadkeep.testing.resources.namespaces import NamespaceSuite
from threadkeep.testing.resources.ownership import OwnershipSuite
from threadkeep.testing.resources.paging import CountSuite, PagingSuite
from threadkeep.testing.resources.queue import QueueSuite
from threadkeep.testing.resources.ranked_items import RankedItemSuite
from threadkeep.testing.resources.runs import RunSuite
from threadkeep.testing.resources.settling import SettlingSuite
from threadkeep.testing.resources.suite import PAGE_SIZE
from threadkeep.testing.resources.thread_copies import ThreadCopySuite
from threadkeep.testing.resources.thread_lifetimes import ThreadLifetimeSuite
from threadkeep.testing.resources.threads import ThreadSuite
from threadkeep.testing.resources.unicode import UnicodeSuite
from threadkeep.testing.resources.values import ValueSuite

__all__ = [
    "PAGE_SIZE",
    "AssistantSuite",
    "ConcurrencySuite",
    "CountSuite",
    "CronSuite",
    "DeliverySuite",
    "ErasureSuite",
    "FilterSuite",
    "FiringSuite",
    "IdempotencySuite",
    "IsolationSuite",
    "ItemSuite",
    "LifetimeSuite",
    "MultitaskSuite",
    "NamespaceSuite",
    "OutboxSuite",
    "OwnershipSuite",
    "PagingSuite",
    "QueueSuite",
    "RankedItemSuite",
    "RunSuite",
    "SettlingSuite",
    "ThreadCopySuite",
    "ThreadLifetimeSuite",
    "ThreadSuite",
    "UnicodeSuite",
    "ValueSuite",
]
