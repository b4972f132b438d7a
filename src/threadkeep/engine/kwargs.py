"""What is kept of a request on the run's row (``Run.kwargs``), for whoever executes it.

The assistant's config and context are merged under the run's here, so that a run does what was
asked even when the assistant changes while it waits.
"""

from collections.abc import Mapping
from typing import Any

from threadkeep.model.assistants import Assistant
from threadkeep.model.identity import USER, current_user, in_configurable, passed_headers
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import Run
from threadkeep.rules.redaction import redact_config

# Keys of ``configurable`` that the server sets; a client's are dropped.
RESERVED_KEYS = frozenset({"thread_id", "run_id", "assistant_id", "graph_id"})
RESERVED_PREFIXES = ("__", "checkpoint_", "langgraph_auth_")
# What names a checkpoint within its thread.
CHECKPOINT_KEYS = ("checkpoint_ns", "checkpoint_id", "checkpoint_map")


def run_kwargs(request: RunRequest, assistant: Assistant) -> dict[str, Any]:
    """Return what to run, as JSON."""
    return {
        "graph_id": assistant.graph_id,
        "input": request.input,
        "command": None if request.command is None else dict(request.command),
        "config": _with_user(merged_config(assistant.config, request.config)),
        "context": {**assistant.context, **request.context},
        "checkpoint": None if request.checkpoint is None else dict(request.checkpoint),
        "stream_mode": list(request.stream_mode) or ["values"],
        "stream_subgraphs": request.stream_subgraphs,
        "stream_resumable": request.stream_resumable,
        "interrupt_before": _nodes(request.interrupt_before),
        "interrupt_after": _nodes(request.interrupt_after),
        "durability": request.durability,
        "strict_resume": request.strict_resume,
        "webhook": request.webhook,
        "temporary": request.thread_id is None and request.on_completion == "delete",
    }


def thread_config(request: RunRequest) -> dict[str, Any]:
    """Return the part of a run's config that its thread shows; it has no secrets."""
    configurable = free_keys(request.config.get("configurable") or {})
    return redact_config({**request.config, "configurable": configurable})


def is_temporary(run: Run) -> bool:
    """Say whether a run's thread was made for it alone and goes with it."""
    return bool(run.kwargs.get("temporary"))


def free_keys(configurable: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of ``configurable`` that are the caller's to set."""
    return {
        key: value
        for key, value in configurable.items()
        if key not in RESERVED_KEYS and not key.startswith(RESERVED_PREFIXES)
    }


def merged_config(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two configs: tags in order, metadata and configurable by key, the rest replaced."""
    tags = [*(below.get("tags") or ()), *(above.get("tags") or ())]
    return {
        **below,
        **above,
        "tags": list(dict.fromkeys(tags)),
        "metadata": {**(below.get("metadata") or {}), **(above.get("metadata") or {})},
        "configurable": free_keys(
            {**(below.get("configurable") or {}), **(above.get("configurable") or {})}
        ),
    }


def user_of(kwargs: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return who made a run, as its ``configurable`` has it; ``None`` for nobody."""
    found: Mapping[str, Any] | None = (kwargs["config"].get("configurable") or {}).get(USER)
    return found


def _with_user(config: dict[str, Any]) -> dict[str, Any]:
    """Return a merged config with who is calling, and what their request says of them."""
    said = free_keys(passed_headers.get() or {})
    user = in_configurable(current_user.get())
    configurable = {**config["configurable"], **said, **user}
    return {**config, "configurable": configurable}


def _nodes(names: Any) -> Any:
    return names if isinstance(names, str) else list(names)
