"""The table of fields of each request body and query, and how bodies are read.

A field that LangGraph's server knows and this one does not act on is refused when ignoring it would
change what the caller gets; those that only add a trace elsewhere are accepted and unread. The
tables say which.
"""

import asyncio
from typing import Any, get_args

import orjson
from starlette.requests import Request

from threadkeep.errors import InvalidRequestError, MalformedBodyError
from threadkeep.model.queries import AssistantSort, CronSort, SortOrder, ThreadSort
from threadkeep.model.requests import STREAM_MODES, Durability, StateUpdate
from threadkeep.model.runs import RUN_STATUSES, CancelAction, MultitaskStrategy
from threadkeep.model.threads import THREAD_STATUSES
from threadkeep.rules.cron_times import LONGEST_SCHEDULE
from threadkeep.rules.extraction import parse_path
from threadkeep.server import checks
from threadkeep.server.checks import LIMIT, OFFSET, Field, InvalidFieldError
from threadkeep.server.wire import (
    ASSISTANT_FIELDS,
    CRON_FIELDS,
    RUN_SELECTED,
    STATE_FIELDS,
    THREAD_FIELDS,
)
from threadkeep.services.state import HISTORY_LIMIT

MAX_DEPTH = 200  # levels of a body; deeper ones run into Python's own limit further in
MAX_TTL_MINUTES = 5_256_000  # ten years
MAX_DELAY_SECONDS = 86_400  # a day
MAX_BATCH = 100  # runs of one batch
MAX_SUPERSTEPS = 100  # of a new thread, and as many updates of each
MAX_PATHS = 10  # that one search extracts, as LangGraph's server
MAX_VERSION = 2**31 - 1  # of an assistant
EXTRACTED = ("values", "metadata", "config", "interrupts", "error")  # fields of a thread
PAGE_LIMIT = 10  # rows of a search without a limit, as LangGraph's server answers
NAMESPACES_LIMIT = 100  # namespaces of a listing without a limit, likewise
OFF_LOOP_BYTES = 256 * 1024  # larger bodies are parsed in a thread; parsing takes 1 ms per 200 KB


async def read_body(request: Request) -> Any:
    """Read a request's JSON; an empty body counts as an empty object.

    Raises:
        BodyTooLargeError: It is above the limit of ``server.middleware``.
        MalformedBodyError: It is not JSON, or nested deeper than ``MAX_DEPTH``.
    """
    body = await request.body()
    if not body:
        return {}
    if len(body) > OFF_LOOP_BYTES:
        return await asyncio.to_thread(parse_json, body)
    return parse_json(body)


def parse_json(body: bytes) -> Any:
    """Parse JSON.

    Raises:
        MalformedBodyError: See ``read_body``; names the position.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedBodyError(
            f"the body is not JSON: {error.msg}, at line {error.lineno}, column {error.colno}"
        ) from error
    if _is_deeper(value, MAX_DEPTH):
        raise MalformedBodyError(f"the body is nested deeper than {MAX_DEPTH} levels")
    return value


def _is_deeper(value: Any, levels: int) -> bool:
    containers = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        children = [
            child
            for container in containers
            for child in (container.values() if isinstance(container, dict) else container)
        ]
        containers = [child for child in children if isinstance(child, dict | list)]
        if not containers:
            return False
    return True


def page_fields(default: int = PAGE_LIMIT) -> tuple[Field, ...]:
    """Return the fields of a page."""
    return (Field("limit", LIMIT, default=default), Field("offset", OFFSET, default=0))


def select_field(names: tuple[str, ...]) -> Field:
    """Return the field that selects the fields of a row."""
    return Field("select", checks.list_of(checks.one_of(*names)))


SORT_ORDER = Field("sort_order", checks.one_of(*get_args(SortOrder)), default="desc")
METADATA = Field("metadata", checks.json_object, default={})
LABELS = checks.list_of(checks.text())

CHECKPOINT_FIELDS = (
    Field("thread_id", checks.text()),
    Field("checkpoint_ns", checks.text()),
    Field("checkpoint_id", checks.text()),
    Field("checkpoint_map", checks.json_object),
)


def checkpoint(value: Any, path: str) -> dict[str, Any]:
    """Check the address of a checkpoint; what it does not name is left out."""
    found = checks.read_fields(value, CHECKPOINT_FIELDS, path)
    return {name: part for name, part in found.items() if part is not None}


def before(value: Any, path: str) -> dict[str, Any]:
    """Check where a history goes on: a checkpoint's id, its address, or a config that names it."""
    if isinstance(value, str):
        return checkpoint({"checkpoint_id": value}, path)
    place = value.get("configurable", value) if isinstance(value, dict) else value
    found = checkpoint(place, path)
    if "checkpoint_id" not in found:
        raise checks.wrong(value, path, "the id of a checkpoint, or an address that has one")
    return found


def ttl(value: Any, path: str) -> float | None:
    """Check a lifetime: minutes, or ``{"ttl": minutes, "strategy": "delete"}``."""
    minutes = checks.number(at_least=0, above=0, at_most=MAX_TTL_MINUTES)
    if not isinstance(value, dict):
        return float(minutes(value, path))
    fields = (Field("ttl", minutes), Field("strategy", checks.one_of("delete")))
    found: float | None = checks.read_fields(value, fields, path)["ttl"]
    return found


def extract(value: Any, path: str) -> dict[str, Any]:
    """Check what a search of threads extracts: paths by the name each is answered under."""
    found = checks.json_object(value, path)
    if len(found) > MAX_PATHS:
        raise InvalidFieldError(path, f"expected at most {MAX_PATHS} paths, got {len(found)}")
    try:
        return {
            name: parse_path(checks.text()(text, f"{path}.{name}"), EXTRACTED)
            for name, text in found.items()
        }
    except InvalidRequestError as error:
        if isinstance(error, InvalidFieldError):
            raise
        raise InvalidFieldError(path, str(error)) from error


def state_part(value: Any, path: str) -> str:
    """Check the name of a part of a state: a field, or ``values.<key>``."""
    name: str = checks.text()(value, path)
    if name in STATE_FIELDS or name.startswith("values."):
        return name
    raise checks.wrong(value, path, f"values.<key> or one of {', '.join(STATE_FIELDS)}")


SEND_FIELDS = (
    Field("node", checks.text(at_least=1), required=True),
    Field("input", checks.anything),
)


def target(value: Any, path: str) -> Any:
    """Check where a command goes: the name of a node, or a node with an input of its own."""
    if isinstance(value, dict):
        checks.read_fields(value, SEND_FIELDS, path)
    elif not isinstance(value, str):
        raise checks.wrong(value, path, 'the name of a node, or {"node", "input"}')
    return value


def goto(value: Any, path: str) -> Any:
    """Check one such place or several."""
    return TARGETS(value, path) if isinstance(value, list) else target(value, path)


TARGETS = checks.list_of(target)
COMMAND_FIELDS = (
    Field("resume", checks.anything),
    Field("update", checks.anything),
    Field("goto", goto),
)


def command(value: Any, path: str) -> dict[str, Any]:
    """Check a command; at least one of its parts must be there."""
    read = checks.read_fields(value, COMMAND_FIELDS, path)
    if all(part is None for part in read.values()):
        raise checks.wrong(value, path, 'an object with "resume", "update" or "goto"')
    found: dict[str, Any] = value
    return found


UPDATE_FIELDS = (
    Field("values", checks.anything),
    Field("command", command),
    Field("as_node", checks.text(at_least=1), required=True),
)


def state_update(value: Any, path: str) -> StateUpdate:
    """Check one update of a superstep."""
    return StateUpdate(**checks.read_fields(value, UPDATE_FIELDS, path))


UPDATES = Field(
    "updates", checks.list_of(state_update, at_least=1, at_most=MAX_SUPERSTEPS), required=True
)


def superstep(value: Any, path: str) -> list[StateUpdate]:
    """Check a superstep: what its nodes answered at once."""
    found: list[StateUpdate] = checks.read_fields(value, (UPDATES,), path)["updates"]
    return found


SELECT_STATE = Field("select", checks.list_of(state_part))
IF_EXISTS = Field("if_exists", checks.one_of("raise", "do_nothing"), default="raise")
ASSISTANT_COUNT = (
    Field("metadata", checks.json_object, default={}),
    Field("graph_id", checks.text()),
    Field("name", checks.text()),
)
ASSISTANT_SEARCH = (
    *ASSISTANT_COUNT,
    *page_fields(),
    Field(
        "sort_by",
        checks.one_of(*get_args(AssistantSort)),
        default="created_at",
    ),
    SORT_ORDER,
    select_field(ASSISTANT_FIELDS),
)

THREAD_CREATE = (
    Field("thread_id", checks.identifier),
    METADATA,
    IF_EXISTS,
    Field("ttl", ttl),
    Field("supersteps", checks.list_of(superstep, at_most=MAX_SUPERSTEPS), default=[]),
)
THREAD_UPDATE = (Field("metadata", checks.json_object), Field("ttl", ttl))
THREAD_COUNT = (
    METADATA,
    Field("values", checks.json_object, default={}),
    Field("status", checks.one_of(*THREAD_STATUSES)),
)
THREAD_SEARCH = (
    *THREAD_COUNT,
    Field("ids", checks.list_of(checks.identifier)),
    *page_fields(),
    Field(
        "sort_by",
        checks.one_of(*get_args(ThreadSort)),
        default="created_at",
    ),
    SORT_ORDER,
    select_field(THREAD_FIELDS),
    Field("extract", extract, default={}),
)
THREAD_PRUNE = (
    Field("thread_ids", checks.list_of(checks.identifier, at_least=1), required=True),
    Field("strategy", checks.one_of("delete", "keep_latest"), default="delete"),
)

STATE_AT = (
    Field("checkpoint", checkpoint, required=True),
    Field("subgraphs", checks.boolean, default=False),
    SELECT_STATE,
)
STATE_UPDATE = (
    Field("values", checks.anything),
    Field("as_node", checks.text()),
    Field("checkpoint", checkpoint),
    Field("checkpoint_id", checks.text()),
)
HISTORY = (
    Field("limit", LIMIT, default=HISTORY_LIMIT),
    Field("before", before),
    Field("metadata", checks.json_object),
    Field("checkpoint", checkpoint),
    SELECT_STATE,
)

NAMESPACE = checks.list_of(checks.text(), at_least=1)
ITEM_PUT = (
    Field("namespace", NAMESPACE, required=True),
    Field("key", checks.text(at_least=1), required=True),
    Field("value", checks.json_object, required=True),
    Field("index", lambda value, path: value if value is False else LABELS(value, path)),
    Field("ttl", checks.number(at_least=0, above=0, at_most=MAX_TTL_MINUTES)),
)
ITEM_DELETE = (
    Field("namespace", NAMESPACE, required=True),
    Field("key", checks.text(at_least=1), required=True),
)
ITEM_SEARCH = (
    Field("namespace_prefix", LABELS, default=[]),
    Field("query", checks.text(at_most=100_000)),
    Field("filter", checks.json_object),
    *page_fields(),
    Field("refresh_ttl", checks.boolean),
    Field("mode", checks.one_of("vector", "text", "hybrid", "auto")),
)
NAMESPACE_LISTING = (
    Field("prefix", LABELS),
    Field("suffix", LABELS),
    Field("max_depth", checks.integer(at_least=1, at_most=1000)),
    *page_fields(NAMESPACES_LIMIT),
)

NODES = checks.list_of(checks.text())
CONFIG_FIELDS = (
    Field("configurable", checks.json_object),
    Field("tags", checks.list_of(checks.text())),
    Field("recursion_limit", checks.integer(at_least=1, at_most=10**6)),
    Field("metadata", checks.json_object),
)


def config(value: Any, path: str) -> dict[str, Any]:
    """Check a run's config; keys that LangGraph may know beyond these pass unread."""
    checks.read_fields(value, CONFIG_FIELDS, path)
    found: dict[str, Any] = value
    return found


def nodes(value: Any, path: str) -> Any:
    """Check the names of nodes, or ``"*"`` for all of them."""
    return value if value == "*" else NODES(value, path)


NAME = Field("name", checks.text())
DESCRIPTION = Field("description", checks.text(at_most=10_000))
ASSISTANT_CREATE = (
    Field("graph_id", checks.text(at_least=1), required=True),
    Field("assistant_id", checks.identifier),
    NAME,
    DESCRIPTION,
    Field("config", config, default={}),
    Field("context", checks.json_object, default={}),
    METADATA,
    IF_EXISTS,
)
ASSISTANT_UPDATE = (
    Field("graph_id", checks.text(at_least=1)),
    NAME,
    DESCRIPTION,
    Field("config", config),
    Field("context", checks.json_object),
    METADATA,
)
VERSION_SEARCH = (METADATA, *page_fields())
VERSION_CHOICE = (Field("version", checks.integer(at_least=1, at_most=MAX_VERSION), required=True),)

STREAM_MODE = checks.one_or_list_of(checks.one_of(*STREAM_MODES))
RUN_CREATE = (
    Field("assistant_id", checks.text(at_least=1), required=True),
    Field("input", checks.anything),
    Field("command", command),
    Field("config", config, default={}),
    Field("context", checks.json_object, default={}),
    METADATA,
    Field("checkpoint", checkpoint),
    Field("checkpoint_id", checks.text()),
    Field("stream_mode", STREAM_MODE, default=[]),
    Field("stream_subgraphs", checks.boolean, default=False),
    Field("stream_resumable", checks.boolean, default=False),
    Field("interrupt_before", nodes, default=[]),
    Field("interrupt_after", nodes, default=[]),
    Field(
        "multitask_strategy",
        checks.one_of(*get_args(MultitaskStrategy)),
        default="enqueue",
    ),
    Field("if_not_exists", checks.one_of("create", "reject"), default="reject"),
    Field("if_thread_status", checks.one_or_list_of(checks.one_of(*THREAD_STATUSES))),
    Field("on_completion", checks.one_of("delete", "keep"), default="delete"),
    Field("on_disconnect", checks.one_of("cancel", "continue"), default="continue"),
    Field("after_seconds", checks.number(at_least=0, at_most=MAX_DELAY_SECONDS), default=0),
    Field("durability", checks.one_of(*get_args(Durability))),
    Field("checkpoint_during", checks.boolean),
    Field("webhook", checks.text(at_least=1)),
    Field("strict_resume", checks.boolean, default=False),
)
# What a request takes from the body as it stands there.
RUN_REQUEST_NAMES = (
    "input",
    "command",
    "config",
    "context",
    "metadata",
    "stream_mode",
    "stream_subgraphs",
    "stream_resumable",
    "interrupt_before",
    "interrupt_after",
    "multitask_strategy",
    "if_not_exists",
    "on_completion",
    "on_disconnect",
    "after_seconds",
    "webhook",
    "strict_resume",
)
RUNS_CANCEL = (
    Field("thread_id", checks.identifier),
    Field("run_ids", checks.list_of(checks.identifier)),
    Field("status", checks.one_of("pending", "running", "all")),
)
RUN_STATUS = checks.one_of(*RUN_STATUSES)
RUN_SEARCH = (
    Field("thread_id", checks.identifier),
    Field("assistant_id", checks.text(at_least=1)),
    Field("status", checks.one_or_list_of(RUN_STATUS)),
    METADATA,
    *page_fields(),
    select_field(RUN_SELECTED),
)

# What a cron's runs are asked for: fields of a run, kept as they were given.
CRON_RUN_NAMES = (
    "input",
    "command",
    "config",
    "context",
    "stream_mode",
    "stream_subgraphs",
    "stream_resumable",
    "interrupt_before",
    "interrupt_after",
    "multitask_strategy",
    "durability",
    "checkpoint_during",
    "webhook",
)
CRON_RUN = tuple(
    Field(field.name, field.check) for field in RUN_CREATE if field.name in CRON_RUN_NAMES
)
SCHEDULE = checks.text(at_least=1, at_most=LONGEST_SCHEDULE)
CRON_CREATE = (
    Field("assistant_id", checks.text(at_least=1), required=True),
    Field("schedule", SCHEDULE, required=True),
    Field("timezone", checks.text(at_least=1)),
    Field("end_time", checks.moment),
    Field("enabled", checks.boolean, default=True),
    Field("on_run_completed", checks.one_of("delete", "keep")),
    METADATA,
    *CRON_RUN,
)
CRON_UPDATE = (
    Field("schedule", SCHEDULE),
    Field("timezone", checks.text(at_least=1)),
    Field("end_time", checks.moment),
    Field("enabled", checks.boolean),
    Field("on_run_completed", checks.one_of("delete", "keep")),
    METADATA,
    *CRON_RUN,
)
CRON_CLEARABLE = ("timezone", "end_time")  # which ``null`` takes away
CRON_COUNT = (
    Field("assistant_id", checks.text(at_least=1)),
    Field("thread_id", checks.identifier),
    METADATA,
)
CRON_SEARCH = (
    *CRON_COUNT,
    Field("enabled", checks.boolean),
    *page_fields(),
    Field("sort_by", checks.one_of(*get_args(CronSort)), default="created_at"),
    SORT_ORDER,
    select_field(CRON_FIELDS),
)
CANCEL_ACTION = checks.one_of(*get_args(CancelAction))
