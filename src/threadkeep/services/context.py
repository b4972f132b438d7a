"""The services in one bundle, as the composition root makes it and the server is given it."""

from dataclasses import dataclass

from threadkeep.services.assistants import AssistantService
from threadkeep.services.crons import CronService
from threadkeep.services.items import ItemService
from threadkeep.services.runs import RunService
from threadkeep.services.state import StateService
from threadkeep.services.thread_events import ThreadEvents
from threadkeep.services.threads import ThreadService


@dataclass(frozen=True, slots=True)
class Services:
    """Every service of one deployment."""

    assistants: AssistantService
    threads: ThreadService
    state: StateService
    runs: RunService
    thread_events: ThreadEvents
    crons: CronService
    items: ItemService
