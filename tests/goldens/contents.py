"""What golden files hold: the same puts for each, whatever the format makes of them."""

import random
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from threadkeep.ports.documents import Scope

THREAD = "golden"
SCOPE = Scope("threadkeep.agents", "engine.v1")
STEPS = 5
TEXT = "".join(f"line {number} of a long text that grows\n" for number in range(400))
NOISE = random.Random(7).randbytes(263_000)  # two parts


def ident(step: int) -> str:
    """Name a step's checkpoint."""
    return f"1f000000-0000-6000-8000-{step:012d}"


def values(step: int) -> dict[str, Any]:
    """Give a step's values: no class but msgpack's own, so that any release states them alike."""
    return {
        "small": step,
        "text": "é" * (step + 1),
        "list": [f"element {number} " * 6 for number in range(30 * (step + 1))],
        "numbers": list(range(20)),
        "document": {"title": "t" * 99, "inner": {"deep": [1, 2.5, None, True]}},
        "by key": {"list": ["a" * 90, step], "text": "b" * 1100},
        "table": {f"key {number}": f"value {number} " * 9 for number in range(60 + step)},
        "grows": TEXT[: 4000 + 2000 * step],
        "large": NOISE,
        "nothing": None,
    }


def versions(step: int) -> dict[str, Any]:
    """Give the versions of a step: integers, with one of each kind that stays."""
    return {name: 1 if name in ("document", "large") else step + 1 for name in values(step)}


def metadata(step: int) -> Any:
    """Give a step's metadata."""
    more = {"raw": b"no JSON has bytes"} if step == 3 else {}
    return {"source": "loop", "step": step, "run_id": f"run {step // 2}", "parents": {}, **more}


SUBGRAPH: Any = {"configurable": {"thread_id": THREAD, "checkpoint_ns": "sub:1"}}


def subgraph() -> Any:
    """Give a checkpoint of another namespace: text for versions, an odd time, a further key."""
    return {
        "v": 4,
        "id": "no UUID",
        "ts": "yesterday",
        "channel_values": {"list": ["element 0 " * 6, 7, []]},
        "channel_versions": {"list": f"{3:032}.0.25", "gone": f"{2:032}.0.5"},
        "versions_seen": {},
        "updated_channels": None,
        "pending_sends": ["s" * 60],
    }


def put_all(saver: BaseCheckpointSaver[Any]) -> None:
    """Put every step, with pending writes."""
    at: Any = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
    for step in range(STEPS):
        made: Any = {
            "v": 4,
            "id": ident(step),
            "ts": f"2026-01-02T03:04:0{step}.678901+00:00",
            "channel_values": values(step),
            "channel_versions": versions(step),
            "versions_seen": {"node": {"small": step}} if step else {},
            "updated_channels": ["small"],
        }
        at = saver.put(at, made, metadata(step), versions(step))
        written = [("list", ["w" * 70, step]), ("small", step)]
        saver.put_writes(at, written, f"task {step}", "path")
        saver.put_writes(at, [("__resume__", ["go on " * 12])], f"task {step}", "path")
    saver.put(SUBGRAPH, subgraph(), {"source": "input", "step": -1, "parents": {"": ident(0)}}, {})
