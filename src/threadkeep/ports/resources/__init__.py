"""The resource store: one repo per protocol resource, all over one backend.

Every list and search is bounded by ``max_page_size``, also without a limit; a larger limit is
clamped, and ``Listing`` says what a page left out. Rows are values: what a caller is given or
gives is never shared with the store. Times come from the store's ``Clock``.

Everywhere: an identifier or name that is empty or holds NUL or a lone surrogate, and a negative
limit or offset, are refused with ``InvalidRequestError``; JSON comes back exactly, and what of it
is refused, with ``ValueNotStorableError``, is said in ``rules.json_text``. What is refused changes
nothing.
"""

from threadkeep.ports.resources.assistants import AssistantRepo
from threadkeep.ports.resources.crons import CronRepo
from threadkeep.ports.resources.deliveries import DeliveryRepo
from threadkeep.ports.resources.idempotency import IdempotencyRepo
from threadkeep.ports.resources.items import ItemHolder, ItemRepo
from threadkeep.ports.resources.runs import RunRepo
from threadkeep.ports.resources.store import ResourceStore
from threadkeep.ports.resources.threads import ThreadRepo

__all__ = [
    "AssistantRepo",
    "CronRepo",
    "DeliveryRepo",
    "IdempotencyRepo",
    "ItemHolder",
    "ItemRepo",
    "ResourceStore",
    "RunRepo",
    "ThreadRepo",
]
