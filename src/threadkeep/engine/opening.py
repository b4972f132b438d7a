"""From what a user exports to a graph that can run: importing, recognising, calling factories."""

import contextlib
import copy
import importlib
import importlib.util
import inspect
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore
from langgraph_sdk import runtime as sdk_runtime

from threadkeep.engine.graphs import GraphSpec
from threadkeep.engine.saving import for_graph
from threadkeep.errors import GraphLoadError
from threadkeep.model.identity import User, current_user

logger = logging.getLogger(__name__)

Graph = Pregel[Any, Any, Any, Any]
Purpose = Literal["threads.create_run", "threads.update", "threads.read", "assistants.read"]

ACCEPTED = "a compiled graph, a StateGraph, or a function that returns one"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a factory may be told, each part under the parameter that asks for it."""

    config: Mapping[str, Any]
    store: BaseStore | None
    purpose: Purpose
    context: Any

    def runtime(self) -> Any:
        """Return LangGraph's ``ServerRuntime`` for it."""
        store: Any = self.store
        user: Any = None if (found := current_user.get()) is None else User(found)
        if self.purpose == "threads.create_run":
            return sdk_runtime._ExecutionRuntime(
                access_context=self.purpose, user=user, store=store, context=self.context
            )
        return sdk_runtime._ReadRuntime(access_context=self.purpose, user=user, store=store)


class Source:
    """Where one graph comes from each time it is opened."""

    def __init__(self, graph_id: str, exported: Any) -> None:
        self._graph_id = graph_id
        self._has_warned = False
        self._graph: Graph | None = None
        self._factory: Callable[..., Any] | None = None
        self._parameters: Mapping[str, str] = {}
        if (graph := _as_graph(graph_id, exported)) is not None:
            self._graph = graph
        elif callable(exported):
            self._factory = exported
            self._parameters = _parameters(graph_id, exported)
        else:
            raise GraphLoadError(
                f"graph {graph_id!r} is a {type(exported).__name__}; expected {ACCEPTED}"
            )

    def asked(
        self, config: Mapping[str, Any], *, store: BaseStore | None, purpose: Purpose, context: Any
    ) -> Asked:
        """Gather what the factory may be told."""
        return Asked(config, store, purpose, context)

    @contextlib.asynccontextmanager
    async def open(self, asked: Asked) -> AsyncIterator[Graph]:
        """Yield the graph; what the factory opened stays open until the end.

        Raises:
            GraphLoadError: The factory gave something else.
        """
        if self._graph is not None:
            yield self._graph
            return
        async with contextlib.AsyncExitStack() as stack:
            made = self._call(asked)
            if inspect.isawaitable(made):
                made = await made
            if isinstance(made, contextlib.AbstractAsyncContextManager):
                made = await stack.enter_async_context(made)
            elif isinstance(made, contextlib.AbstractContextManager):
                made = stack.enter_context(made)
            graph = _as_graph(self._graph_id, made)
            if graph is None:
                raise GraphLoadError(
                    f"the factory of graph {self._graph_id!r} returned a {type(made).__name__}; "
                    f"expected {ACCEPTED}"
                )
            yield graph

    def bound(
        self, graph: Graph, *, saver: BaseCheckpointSaver[Any] | None, store: BaseStore | None
    ) -> Graph:
        """Return the graph on this saver and store; shares everything else with it."""
        has_own = isinstance(graph.checkpointer, BaseCheckpointSaver) or graph.store is not None
        if has_own and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "graph %r was compiled with a checkpointer or store of its own; the server's are "
                "used instead",
                self._graph_id,
            )
        ready = copy.copy(graph)
        if saver is not None and graph.checkpointer is not False:
            ready.checkpointer = for_graph(saver, graph)
        if store is not None:
            ready.store = store
        return ready

    def _call(self, asked: Asked) -> Any:
        assert self._factory is not None
        told = {
            name: asked.runtime() if kind == "runtime" else asked.config
            for name, kind in self._parameters.items()
        }
        return self._factory(**told)


def imported(spec: GraphSpec, base_dir: Path) -> Any:
    """Import what a graph's spec names.

    Raises:
        GraphLoadError: The file, the module or the name is not there, or importing it raised.
    """
    where = f"graph {spec.graph_id!r} ({spec.path}:{spec.export})"
    try:
        module = _module(spec.path, base_dir)
    except GraphLoadError:
        raise
    except FileNotFoundError as error:
        raise GraphLoadError(f"{where} cannot be loaded: no such file") from error
    except BaseException as error:  # a module may raise SystemExit, too
        raise GraphLoadError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    found = module
    for name in spec.export.split("."):
        if not hasattr(found, name):
            raise GraphLoadError(f"{where} cannot be loaded: the module has no {spec.export!r}")
        found = getattr(found, name)
    return found


def _module(path: str, base_dir: Path) -> ModuleType:
    _make_importable(base_dir)
    if not path.endswith(".py") and "/" not in path:
        return importlib.import_module(path)
    file = (base_dir / path).resolve()
    if not file.is_file():
        raise FileNotFoundError(file)
    if (file.parent / "__init__.py").is_file():
        return _member_of_package(file)
    name = "threadkeep_graphs." + "".join(
        letter if letter.isalnum() else "_" for letter in str(file.with_suffix(""))
    )
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _member_of_package(file: Path) -> ModuleType:
    """Import a file by its dotted name, so that its relative imports work."""
    names = [file.stem] if file.stem != "__init__" else []
    folder = file.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    _make_importable(folder)
    return importlib.import_module(".".join(names))


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _as_graph(graph_id: str, value: Any) -> Graph | None:
    """Return a graph for a compiled one or a builder, else ``None``."""
    if isinstance(value, Pregel):
        return value
    if isinstance(value, StateGraph):
        try:
            return value.compile(name=graph_id)
        except Exception as error:
            raise GraphLoadError(f"graph {graph_id!r} cannot be compiled: {error}") from error
    return None


def _parameters(graph_id: str, factory: Callable[..., Any]) -> Mapping[str, str]:
    """Return what each required parameter of a factory stands for: ``config`` or ``runtime``.

    Raises:
        GraphLoadError: It has parameters that are neither.
    """
    found: dict[str, str] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if (kind := _kind_of(name, parameter.annotation)) is not None:
            found[name] = kind
        elif parameter.default is parameter.empty:
            found[name] = "config"
    if len(found) > len(set(found.values())):
        raise GraphLoadError(
            f"the factory of graph {graph_id!r} takes {', '.join(found)}; expected at most one "
            "config and one runtime"
        )
    return found


def _kind_of(name: str, annotation: Any) -> str | None:
    written = annotation if isinstance(annotation, str) else str(annotation)
    if name == "runtime" or "Runtime" in written:
        return "runtime"
    if name == "config" or "RunnableConfig" in written:
        return "config"
    return None
