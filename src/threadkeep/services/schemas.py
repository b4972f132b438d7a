"""The JSON Schemas of a graph: what it takes, answers, keeps and is configured with.

Source: LangGraph derives them with pydantic, which before Python 3.12 refuses a plain
``typing.TypedDict``; such a state is described through its ``typing_extensions`` twin here.
"""

import logging
import sys
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NotRequired

import typing_extensions
from pydantic import TypeAdapter

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

    Graph = Pregel[Any, Any, Any, Any]

log = logging.getLogger("threadkeep.services")

PYDANTIC_TAKES_TYPING = sys.version_info >= (3, 12)


def graph_schemas(graph_id: str, graph: "Graph") -> Mapping[str, Any]:
    """Return a graph's schemas as on the wire; one that cannot be derived is ``None``."""
    builder = getattr(graph, "builder", None)
    if builder is None:
        return {
            "graph_id": graph_id,
            "input_schema": _attempt(graph.get_input_jsonschema),
            "output_schema": _attempt(graph.get_output_jsonschema),
            "state_schema": _attempt(graph.get_output_jsonschema),
            "config_schema": _config_schema(graph),
            "context_schema": _schema_of(graph.context_schema),
        }
    return {
        "graph_id": graph_id,
        "input_schema": _schema_of(builder.input_schema),
        "output_schema": _schema_of(builder.output_schema),
        "state_schema": _schema_of(builder.state_schema),
        "config_schema": _config_schema(graph),
        "context_schema": _schema_of(graph.context_schema),
    }


def _schema_of(kind: Any) -> Mapping[str, Any] | None:
    if kind is None:
        return None
    return _attempt(lambda: TypeAdapter(_accepted(kind)).json_schema())


def _config_schema(graph: "Graph") -> Mapping[str, Any] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangGraph deprecates it; its clients still read it
        return _attempt(graph.get_config_jsonschema)


def _attempt(derive: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
    try:
        return derive()
    except Exception as error:
        log.info("a schema cannot be derived: %s", error)
        return None


def _accepted(kind: Any) -> Any:
    """Return a type that pydantic accepts on this Python, the same where that is already so."""
    if PYDANTIC_TAKES_TYPING:
        return kind
    if not typing.is_typeddict(kind):
        return _with_accepted_arguments(kind)
    hints = typing_extensions.get_type_hints(kind, include_extras=True)
    required: frozenset[str] = kind.__required_keys__
    fields = {
        name: _accepted(hint) if name in required else NotRequired[_accepted(hint)]
        for name, hint in hints.items()
    }
    return typing_extensions.TypedDict(kind.__name__, fields)  # type: ignore[operator]


def _with_accepted_arguments(kind: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return typing.Annotated[(_accepted(arguments[0]), *arguments[1:])]
    accepted = tuple(_accepted(argument) for argument in arguments)
    if accepted == arguments:
        return kind
    if origin in {typing.Union, types.UnionType}:
        return typing.Union[accepted]  # noqa: UP007 - the operator takes no tuple
    return origin[accepted]
