"""Who executes a run: a name for this process that another on the same host can look up.

A run whose owner is gone is free once its lease ran out, wherever the owner was. Where the owner
is known to be dead, because it was a process of this host, nothing has to be waited for: a server
started again after a crash frees what its predecessor held at once.
"""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from threadkeep.model.deliveries import NewDelivery
from threadkeep.model.queries import RunQuery
from threadkeep.model.runs import Run
from threadkeep.ports.resources import RunRepo
from threadkeep.rules.run_states import SERVER_RESTARTED
from threadkeep.rules.webhook_payloads import delivery_of

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PID_NAMESPACE = Path("/proc/self/ns/pid")
START_FIELD = 18  # of the fields behind the state: the start, in ticks since boot
DEAD_STATES = ("Z", "X")  # ended, and not yet waited for by its parent


def owner_name() -> str:
    """Return ``host:space:pid:start`` of this process, distinct from every other's.

    ``space`` names the boot and the process namespace, so that a pid of another container is
    never mistaken for one of ours; it and ``start`` are empty where the system does not tell.
    """
    pid = os.getpid()
    return f"{socket.gethostname()}:{_space()}:{pid}:{_start(pid) or ''}"


def is_gone(owner: str) -> bool:
    """Say whether an owner certainly no longer runs; false whenever that cannot be known."""
    host, space, pid, start = [*owner.rsplit(":", 3), "", "", ""][:4]
    if (host, space) != (socket.gethostname(), _space()) or not pid.isdecimal():
        return False
    if not _exists(int(pid)):
        return True
    now = _start(int(pid))
    return bool(start) and now is not None and now != start


async def release_gone(runs: RunRepo) -> Sequence[Run]:
    """Settle every running run whose owner is certainly gone, and free its thread.

    Each becomes ``error`` with reason ``server_restarted``, as after the end of its lease. Safe
    beside other processes: a run that somebody else settled or claimed meanwhile is left alone.

    Returns:
        The runs settled.
    """
    released: list[Run] = []
    for run in await _running(runs):
        if run.owner is not None and is_gone(run.owner):
            settled = await runs.settle(
                run.run_id,
                fence=run.fence,
                outcome=SERVER_RESTARTED,
                state=None,
                deliver=delivery_without_values,
            )
            released += [settled] if settled is not None else []
    return released


def delivery_without_values(run: Run) -> NewDelivery | None:
    """Return the webhook of a run whose process is gone, and what it had along."""
    return delivery_of(run, None)


async def _running(runs: RunRepo) -> Sequence[Run]:
    found: list[Run] = []
    offset: int | None = 0
    while offset is not None:
        page = await runs.search(RunQuery(statuses=("running",), offset=offset))
        found.extend(page.rows)
        offset = page.next_offset
    return found


def _space() -> str:
    try:
        return f"{BOOT_ID.read_text()[:8]}-{PID_NAMESPACE.stat().st_ino}"
    except OSError:
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _start(pid: int) -> str | None:
    """Return when a process began, ``"dead"`` for one that only waits to be collected."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return "dead" if state in DEAD_STATES else fields[START_FIELD]
