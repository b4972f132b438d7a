"""The composition root: opens a driver and builds everything on it. Nothing else imports drivers.

What is opened stands on one ``AsyncExitStack`` and is closed in reverse: requests end first, then
runs are given time, then the background stops, then the database is closed.
"""

import asyncio
import logging
import os
import sys
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from starlette.types import ASGIApp

from threadkeep.auth.rules import AuthRules
from threadkeep.auth.scoped import scoped
from threadkeep.background.courier import Courier
from threadkeep.background.leases import Leases
from threadkeep.background.owners import owner_name
from threadkeep.background.scheduler import schedule
from threadkeep.background.sweepers import (
    RECORDS_SECONDS,
    SWEEP_ROWS,
    sweep,
)
from threadkeep.background.unbroken import in_background
from threadkeep.background.worker import Worker
from threadkeep.config.langgraph_json import SWEEP_SECONDS, GraphEntry, Project, read_project
from threadkeep.config.sections import Checkpointer, Headers, Lifetimes
from threadkeep.config.settings import Settings, read_settings
from threadkeep.drivers.memory.bus import MemoryEventBus
from threadkeep.engine.engine import Engine
from threadkeep.engine.executor import Executor
from threadkeep.engine.exits import RunTasks
from threadkeep.engine.forgetting import forget_modules
from threadkeep.engine.graphs import Graphs, GraphSpec, OnSettled
from threadkeep.engine.named import named_object, open_saver
from threadkeep.engine.secrets import SecretCipher
from threadkeep.engine.threads import NodeThreads
from threadkeep.errors import ConfigError
from threadkeep.model.assistants import NewAssistant
from threadkeep.ports.bus import EventBus
from threadkeep.ports.clock import SystemClock
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.ports.resources import (
    DeliveryRepo,
    IdempotencyRepo,
    ItemRepo,
    ResourceStore,
    ThreadRepo,
)
from threadkeep.rules.paging import check_max_page_size
from threadkeep.savers.adapter import adapted
from threadkeep.savers.default import set_default_checkpointer
from threadkeep.savers.exports import exported
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.savers.store import ItemStore
from threadkeep.server.app import build_app
from threadkeep.server.entrance import Entrance
from threadkeep.server.guard import Guard
from threadkeep.server.options import ServerOptions
from threadkeep.server.prefix import Prefix
from threadkeep.services.assistants import AssistantService
from threadkeep.services.context import Services
from threadkeep.services.crons import CronService
from threadkeep.services.firing import Firing
from threadkeep.services.items import ItemService
from threadkeep.services.runs import RunService
from threadkeep.services.state import StateService
from threadkeep.services.thread_events import ThreadEvents
from threadkeep.services.threads import ThreadService
from threadkeep.services.webhooks import WebhookPolicy, Webhooks

SWITCH_SECONDS = 0.001  # the loop waits at most so long for each thread that computes
DRAIN_SECONDS = 5.0  # that runs get to end by themselves when an app is closed
SYSTEM = {"created_by": "system"}  # metadata of the assistant that each graph has, as LangGraph's

Saver = BaseCheckpointSaver[Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to open.

    Attributes:
        settings: What the environment decides.
        project: The file whose graphs are served, or ``None`` when they are given.
        graphs: Graphs given in code, by graph id, where there is no project.
        store: Long-term memory given in code; else ours on the database.
        checkpointer: A saver given in code; else ours on the database.
        auth: An ``Auth`` object given in code; else the file's.
        drain_seconds: What runs get to end by themselves when the server stops.
    """

    settings: Settings
    project: Project | None = None
    graphs: Mapping[str, Any] | None = None
    store: Any = None
    checkpointer: Saver | None = None
    auth: Any = None
    drain_seconds: float = DRAIN_SECONDS


class Runtime:
    """Everything of one serving process, open.

    Attributes:
        app: Answers requests.
        services: What each operation means.
    """

    def __init__(
        self,
        app: ASGIApp,
        services: Services,
        graphs: Graphs,
        resources: ResourceStore,
        executor: Executor,
        on_graph: OnSettled | None,
        *,
        drain_seconds: float,
    ) -> None:
        self.app = app
        self.services = services
        self._executor = executor
        self._graphs = graphs
        self._resources = resources
        self._on_graph = on_graph
        self._drain_seconds = drain_seconds

    async def load(self) -> None:
        """Load the graphs that are not loaded yet."""
        await self._graphs.load(self._on_graph)

    async def drain(self) -> None:
        """Start no more runs, and return once none executes; see ``Executor.drain``."""
        await self._executor.drain(grace_seconds=self._drain_seconds)

    async def reload(self, project: Project, changed: Sequence[Path]) -> None:
        """Load the graphs of a project in place of those there are, from the code on disk.

        Runs under way go on with the graphs they began with; new ones wait for the new code. The
        store, the settings and the app stay.

        Args:
            project: The project as it stands now.
            changed: The files that changed.
        """
        _make_importable(project)
        await asyncio.to_thread(forget_modules, project.import_paths, changed)
        self._graphs.replace(_specs(project.graphs))
        await _ensure_assistants(self._resources, self._graphs)
        await self.load()


@asynccontextmanager
async def open_runtime(plan: Plan, *, on_graph: OnSettled | None = None) -> AsyncIterator[Runtime]:
    """Open what a plan says; yields at once, while the graphs are still loading.

    The loop's default executor is replaced by one sized to the runs that execute at once, since
    that is where sync nodes run, and its tasks are made so that no run can end the process.

    Args:
        plan: What to open.
        on_graph: Told of each graph: its id, the seconds its loading took, and why it failed.

    Raises:
        ConfigError: The database's address is wrong.
        StorageError: The database cannot be opened.
    """
    settings, project = plan.settings, plan.project
    async with AsyncExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_SECONDS)
        driver = await _opened(stack, settings)
        resources = driver.resources()
        await resources.setup()
        _prepare(stack, asyncio.get_running_loop(), jobs=settings.jobs)
        graphs = _graphs(plan)
        saver = await _saver(stack, plan, driver)
        stack.enter_context(set_default_checkpointer(saver))
        store, items = await _store(stack, plan, resources)
        bus = _bus(settings)
        engine = Engine(graphs, bus, saver=saver, store=store)
        executor = _executor(engine, resources, bus, settings)
        webhooks = Webhooks(_webhook_policy(plan))
        rules = await _rules(plan)
        seen = resources if rules is None else scoped(resources)
        runs = RunService(
            seen,
            executor,
            graphs,
            bus,
            webhooks=webhooks,
            default_ttl_minutes=_lifetimes(project).default_minutes,
        )
        services = _services(seen, graphs, runs, bus, saver, store, _lifetimes(project))
        await _ensure_assistants(resources, graphs)
        app = _app(services, plan, rules, resources.threads)
        runtime = Runtime(
            app,
            services,
            graphs,
            resources,
            executor,
            on_graph,
            drain_seconds=plan.drain_seconds,
        )
        leases = Leases(executor, resources)
        courier = _courier(settings, resources, executor, webhooks)
        firing = Firing(resources.crons, runs.admitting, SystemClock())
        in_background(stack, courier.run)
        in_background(stack, partial(schedule, firing))
        for work in _sweeps(resources, services, project, items):
            in_background(stack, work)
        in_background(stack, leases.run)
        stack.push_async_callback(executor.drain, grace_seconds=plan.drain_seconds)
        in_background(stack, Worker(executor, resources).run)
        in_background(stack, runtime.load)
        yield runtime


def create_app(
    *,
    graphs: Mapping[str, Any] | None = None,
    config: str | Path | None = None,
    database: str | None = None,
    store: Any = None,
    checkpointer: Saver | None = None,
    auth: Any = None,
    max_page_size: int | None = None,
) -> Entrance:
    """Return an ASGI app that serves graphs, alone or mounted in another app.

    Mounted, it opens at its first request. A host that passes its lifespan on has it opened before
    and closed in order: ``FastAPI(lifespan=app.lifespan)``.

    Args:
        graphs: Compiled graphs, builders or factories by graph id.
        config: A ``langgraph.json`` instead; its ``env`` is put below the environment.
        database: A storage address; else the environment's, else a SQLite file.
        store: Long-term memory instead of ours on the database: a ``BaseStore``, an ``ItemRepo``,
            or a function that returns one, which is closed with the app.
        checkpointer: A saver instead of ours on the database.
        auth: An ``Auth`` object of ``langgraph_sdk``, instead of the file's.
        max_page_size: The largest page of any list or search, in rows.

    Raises:
        ConfigError: Neither or both of ``graphs`` and ``config``, or the file or the environment
            is wrong.
    """
    if (graphs is None) == (config is None):
        raise ConfigError('create_app: give graphs={"name": graph} or config="langgraph.json"')
    project = None if config is None else read_project(Path(config))
    for name, text in (project.environment if project else {}).items():
        os.environ.setdefault(name, text)
    folder = project.folder if project else Path.cwd()
    settings = read_settings(os.environ, folder=folder, database=database)
    for warning in (*(project.warnings if project else ()), *settings.warnings):
        log.warning("%s", warning)
    size = settings.max_page_size if max_page_size is None else max_page_size
    settings = replace(settings, max_page_size=check_max_page_size(size))
    plan = Plan(settings, project, graphs, store, checkpointer, auth)
    return Entrance(lambda: open_runtime(plan))


def _prepare(stack: AsyncExitStack, loop: asyncio.AbstractEventLoop, *, jobs: int) -> None:
    """Make a loop one that runs can execute on."""
    loop.set_default_executor(NodeThreads(jobs))
    before = loop.get_task_factory()
    stack.callback(loop.set_task_factory, before)
    loop.set_task_factory(RunTasks(before))


async def _opened(stack: AsyncExitStack, settings: Settings) -> Driver:
    options = DriverOptions(max_page_size=settings.max_page_size)
    driver = await asyncio.to_thread(open_driver, settings.database_url, options)
    stack.push_async_callback(asyncio.to_thread, driver.close)
    return driver


async def _own_saver(driver: Driver) -> Saver:
    saver = DocumentCheckpointSaver(driver.documents(), async_documents=driver.async_documents())
    await saver.asetup()
    return saver


async def _store(
    stack: AsyncExitStack, plan: Plan, resources: ResourceStore
) -> tuple[ItemStore, ItemRepo]:
    """Return long-term memory, and the repo whose expired items are deleted."""
    project = plan.project
    ttl = _item_ttl(project)
    folder = project.folder if project else None
    scope = project.store_scope if project else ()
    brought, named = plan.store, "create_app(store=…)"
    if brought is None and project is not None and project.store_adapter is not None:
        named = f"store.adapter, {project.store_adapter},"
        brought = await asyncio.to_thread(
            exported, project.store_adapter, "store.adapter", folder=folder
        )
    if brought is not None:
        size = plan.settings.max_page_size
        opening = adapted(brought, named=named, ttl=ttl, max_page_size=size, scope=scope)
        return await stack.enter_async_context(opening)
    index = project.item_index if project else None
    store = ItemStore(resources, index=index, ttl=ttl, folder=folder, scope=scope)
    await store.asetup()
    return store, resources.items


def _executor(
    engine: Engine, resources: ResourceStore, bus: MemoryEventBus, settings: Settings
) -> Executor:
    return Executor(
        engine,
        resources,
        bus,
        SystemClock(),
        owner=owner_name(),
        jobs=settings.jobs,
        lease_seconds=settings.lease_seconds,
        timeout_seconds=settings.run_timeout_seconds,
        cipher=SecretCipher(settings.secret_key) if settings.secret_key else None,
    )


async def _saver(stack: AsyncExitStack, plan: Plan, driver: Driver) -> Saver:
    """Return the memory of threads: given in code, named in the file, or ours."""
    if plan.checkpointer is not None:
        return plan.checkpointer
    asked = plan.project.checkpointer if plan.project else Checkpointer()
    if plan.project is None or asked.path is None:
        saver = await _own_saver(driver)
    else:
        _make_importable(plan.project)
        saver = await open_saver(stack, asked.path, plan.project.folder)
    return saver.with_allowlist(asked.types) if asked.types else saver


def _bus(settings: Settings) -> MemoryEventBus:
    return MemoryEventBus(
        events_per_run=settings.events_per_run,
        finished_runs=settings.finished_runs_kept,
        kept_seconds=settings.events_kept_seconds,
    )


def _courier(
    settings: Settings, resources: ResourceStore, executor: Executor, webhooks: Webhooks
) -> Courier:
    return Courier(
        resources.deliveries,
        executor.outbox,
        webhooks,
        SystemClock(),
        kept_seconds=settings.deliveries_kept_seconds,
    )


async def _rules(plan: Plan) -> AuthRules | None:
    """Return who may do what: given in code, or named in the file; ``None``: everybody all."""
    found, project = plan.auth, plan.project
    if found is None and project is not None and project.auth is not None:
        _make_importable(project)
        found = await named_object("auth.path", project.auth, project.folder)
    return None if found is None else AuthRules(found)


def _graphs(plan: Plan) -> Graphs:
    if plan.project is None:
        return Graphs.of(plan.graphs or {})
    _make_importable(plan.project)
    return Graphs(_specs(plan.project.graphs), base_dir=plan.project.folder)


def _specs(entries: Sequence[GraphEntry]) -> Sequence[GraphSpec]:
    return [GraphSpec(each.graph_id, each.path, each.export, each.description) for each in entries]


def _make_importable(project: Project) -> None:
    """Put the project's folders on the import path, behind everything installed."""
    sys.path += [str(path) for path in project.import_paths if str(path) not in sys.path]


def _services(
    resources: ResourceStore,
    graphs: Graphs,
    runs: RunService,
    bus: EventBus,
    saver: Saver,
    store: BaseStore,
    lifetimes: Lifetimes,
) -> Services:
    state = StateService(resources.threads, graphs, saver=saver, store=store, updates=runs.updates)
    threads = ThreadService(
        resources.threads,
        runs=runs,
        state=state,
        saver=saver,
        default_ttl_minutes=lifetimes.default_minutes,
    )
    return Services(
        assistants=AssistantService(resources.assistants, graphs, threads=threads),
        threads=threads,
        state=state,
        runs=runs,
        thread_events=ThreadEvents(runs, bus),
        crons=CronService(resources, SystemClock()),
        items=ItemService(store),
    )


async def _ensure_assistants(resources: ResourceStore, graphs: Graphs) -> None:
    """Make the assistant that each graph has by itself, where it is not there."""
    await resources.assistants.ensure(
        [
            NewAssistant(
                assistant_id=graphs.assistant_id_of(spec.graph_id),
                graph_id=spec.graph_id,
                name=spec.graph_id,
                description=spec.description,
                config={},
                context={},
                metadata=SYSTEM,
            )
            for spec in graphs.specs
        ]
    )


def _app(services: Services, plan: Plan, rules: AuthRules | None, threads: ThreadRepo) -> ASGIApp:
    settings, project = plan.settings, plan.project
    options = ServerOptions(
        max_body_bytes=settings.max_body_bytes,
        heartbeat_seconds=settings.heartbeat_seconds,
        max_page_size=settings.max_page_size,
        cors=(project.cors if project else None) or {},
        disabled=project.disabled if project else frozenset(),
        guard=None if rules is None else Guard(rules, threads),
        passed_on=(project.configurable_headers if project else Headers()).passed_on,
    )
    app = build_app(services, options)
    return Prefix(app, project.mount_prefix) if project and project.mount_prefix else app


def _item_ttl(project: Project | None) -> Any:
    return dict(project.item_ttl) if project and project.item_ttl else None


def _lifetimes(project: Project | None) -> Lifetimes:
    return project.checkpointer.lifetimes if project else Lifetimes()


def _webhook_policy(plan: Plan) -> WebhookPolicy:
    given = plan.project.webhooks if plan.project else {}
    return WebhookPolicy(**given, secret=plan.settings.webhook_secret)


def _sweeps(
    resources: ResourceStore, services: Services, project: Project | None, items: ItemRepo
) -> Iterator[Callable[[], Coroutine[Any, Any, None]]]:
    def records(what: str, repo: ItemRepo | IdempotencyRepo | DeliveryRepo, seconds: float) -> Any:
        def remove(limit: int) -> Awaitable[int]:
            return repo.sweep(limit=limit)

        return partial(sweep, what, remove, at_once=SWEEP_ROWS, every_seconds=seconds)

    lifetimes = _lifetimes(project)
    yield records("items", items, project.sweep_seconds if project else SWEEP_SECONDS)
    yield records("idempotency records", resources.idempotency, RECORDS_SECONDS)
    yield records("deliveries", resources.deliveries, RECORDS_SECONDS)
    yield partial(
        sweep,
        "threads",
        partial(services.threads.collect, strategy=lifetimes.strategy),
        at_once=lifetimes.at_once,
        every_seconds=lifetimes.sweep_seconds,
    )
