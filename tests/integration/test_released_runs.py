"""Runs of processes that are gone: freed at once on the same host, after their lease elsewhere."""

import pytest

from threadkeep.background.owners import owner_name, release_gone
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.model.assistants import NewAssistant
from threadkeep.model.runs import Claim, NewRun
from threadkeep.model.threads import NewThread

pytestmark = pytest.mark.anyio


def beside(pid: str) -> str:
    """Return the name of another process of this host."""
    host, space, _, start = owner_name().rsplit(":", 3)
    return f"{host}:{space}:{pid}:{start}"


@pytest.mark.parametrize(
    ("owner", "released"),
    [
        (beside("4194305"), True),  # above every pid that Linux gives
        (owner_name(), False),
        ("elsewhere::1:1", False),
    ],
    ids=["a process that is gone", "this process", "a process of another host"],
)
async def test_only_what_certainly_nobody_executes_is_freed(owner: str, *, released: bool) -> None:
    resources = MemoryResourceStore()
    thread_id, run_id, assistant_id = (f"00000000-0000-4000-8000-00000000000{n}" for n in "123")
    await resources.assistants.create(
        NewAssistant(assistant_id, "graph", "graph", None, {}, {}, {})
    )
    await resources.threads.create(NewThread(thread_id, {}))
    await resources.runs.admit(
        NewRun(run_id, thread_id, assistant_id, {}), claim=Claim(owner, lease_seconds=60)
    )
    freed = await release_gone(resources.runs)
    run, thread = await resources.runs.get(run_id), await resources.threads.get(thread_id)
    assert run is not None
    assert thread is not None
    assert [each.run_id for each in freed] == ([run_id] if released else [])
    assert run.reason == ("server_restarted" if released else None)
    assert thread.status == ("error" if released else "busy")
    assert await release_gone(resources.runs) == []
