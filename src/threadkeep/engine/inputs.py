"""From what is kept of a request to what LangGraph is given: input or command, config, context."""

import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from langgraph.pregel import Pregel
from langgraph.types import Command, Send
from pydantic import BaseModel

from threadkeep.engine.kwargs import CHECKPOINT_KEYS, free_keys, user_of
from threadkeep.errors import InvalidRequestError
from threadkeep.model.identity import in_configurable
from threadkeep.model.runs import Run

# What a client may set of a ``RunnableConfig``, beside what is merged below.
PASSED_ON = ("run_name", "recursion_limit", "max_concurrency")
STRICT_RESUME = "__pregel_strict_resume"  # LangGraph's key; a release without it ignores it


def graph_input(kwargs: Mapping[str, Any]) -> Any:
    """Return the input, or the command that takes its place.

    Raises:
        InvalidRequestError: The command has a ``goto`` that is none.
    """
    command = kwargs.get("command")
    return kwargs.get("input") if command is None else command_of(command)


def command_of(command: Mapping[str, Any]) -> "Command[Any]":
    """Return a command as LangGraph takes it.

    Raises:
        InvalidRequestError: It has a ``goto`` that is none.
    """
    return Command(
        resume=command.get("resume"),
        update=_update(command.get("update")),
        goto=_goto(command.get("goto")),
    )


def graph_config(run: Run) -> dict[str, Any]:
    """Return the config of a run: tags, metadata and configurable, with what the server knows."""
    given: Mapping[str, Any] = run.kwargs.get("config") or {}
    known = {
        "thread_id": run.thread_id,
        "run_id": run.run_id,
        "assistant_id": run.assistant_id,
        "graph_id": run.kwargs["graph_id"],
    }
    user = in_configurable(user_of(run.kwargs))
    configurable = {**_configurable(run.kwargs), **user, **known}
    if run.kwargs.get("strict_resume"):
        configurable[STRICT_RESUME] = True
    checkpoint = run.kwargs.get("checkpoint") or {}
    for key in CHECKPOINT_KEYS:
        if checkpoint.get(key) is not None:
            configurable[key] = checkpoint[key]
    return {
        **{key: given[key] for key in PASSED_ON if given.get(key) is not None},
        "tags": list(given.get("tags") or ()),
        "metadata": {
            **(given.get("metadata") or {}),
            **run.metadata,
            **known,
            "run_attempt": max(run.fence, 1),
        },
        "configurable": configurable,
        "run_id": uuid.UUID(run.run_id),
    }


def graph_context(graph: "Pregel[Any, Any, Any, Any]", kwargs: Mapping[str, Any]) -> Any:
    """Return the run's context; without one, what ``configurable`` has of the graph's schema."""
    context = kwargs.get("context")
    if context:
        return dict(context)
    schema = graph.context_schema
    if schema is None:
        return None
    configurable = _configurable(kwargs)
    return {name: configurable[name] for name in _fields(schema) if name in configurable}


def _configurable(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the caller's keys; without any the context's, for graphs that read them there."""
    given = (kwargs.get("config") or {}).get("configurable") or {}
    return free_keys(given or kwargs.get("context") or {})


def _fields(schema: Any) -> list[str]:
    if is_dataclass(schema):
        return [field.name for field in fields(schema)]
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return list(schema.model_fields)
    return list(getattr(schema, "__annotations__", {}))


def _update(update: Any) -> Any:
    if isinstance(update, list) and all(isinstance(pair, list) for pair in update):
        return [tuple(pair) for pair in update]
    return update


def _goto(goto: Any) -> Any:
    if goto is None:
        return ()
    if isinstance(goto, list):
        return [_target(target) for target in goto]
    return _target(goto)


def _target(target: Any) -> Any:
    if isinstance(target, str):
        return target
    if isinstance(target, Mapping) and isinstance(target.get("node"), str):
        return Send(target["node"], target.get("input"))
    raise InvalidRequestError(
        f"command.goto is {target!r}; expected a node's name or {{'node', 'input'}}"
    )
