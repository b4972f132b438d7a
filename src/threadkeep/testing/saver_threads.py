"""Cases of whole threads: copies, runs deleted, prunes, the history of delta channels, leases."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from threadkeep.errors import InvalidRequestError, LeaseHeldError, LeaseLostError, NotFoundError
from threadkeep.model.uuid_times import ticks
from threadkeep.testing.saver_steps import (
    checkpoint,
    config,
    conversation,
    found,
    put,
    values_of,
)

Saver = Any  # a BaseCheckpointSaver, with the limits of our prune
COUNTERS = "counters_since_delta_snapshot"


async def history(saver: Saver, thread_id: str = "t1", namespace: str = "") -> list[str]:
    """List the ids of a namespace's checkpoints, oldest first."""
    listed = [one async for one in saver.alist(config(thread_id, namespace))]
    return [one.checkpoint["id"] for one in listed][::-1]


async def put_many(saver: Saver, count: int, **more: Any) -> list[RunnableConfig]:
    """Put a conversation that grows by a message at each step."""
    made: list[RunnableConfig] = []
    for step in range(count):
        after = made[-1] if made else None
        values = {"m": conversation(step + 1)}
        made.append(await put(saver, values, {"m": step + 1}, after, step=step, **more))
    return made


def made_ago(days: int) -> str:
    """Return a checkpoint id that is so old."""
    made = ticks(time.time_ns() - days * 86_400_000_000_000)
    return str(UUID(int=made >> 12 << 80 | 6 << 76 | (made & 0xFFF) << 64 | 2 << 62 | 1))


async def put_delta(
    saver: Saver, steps: Sequence[str], namespace: str = "", *, snapshots: Sequence[int] = ()
) -> list[RunnableConfig]:
    """Put steps of a delta channel: each is written for the checkpoint before it."""
    made: list[RunnableConfig] = []
    at = config(namespace=namespace)
    for number, text in enumerate([*steps, ""]):
        values: dict[str, Any] = {"n": number}
        if number in snapshots:
            values["log"] = [*steps[:number]]
        versions = {"n": number + 1} | ({"log": number} if number else {})
        said: Any = {"source": "loop", "step": number, "parents": {}}
        if number and number not in snapshots:
            said[COUNTERS] = {"log": [number, number]}
        at = await saver.aput(at, checkpoint(values, versions), said, versions)
        made.append(at)
        if text:
            await saver.aput_writes(at, [("n", number), ("log", [text])], f"task-{number}")
    return made


async def log_of(saver: Saver, at: RunnableConfig) -> list[str]:
    """Rebuild the value of the delta channel at a checkpoint."""
    read = await found(saver, at)
    if "log" in read.checkpoint["channel_values"]:
        return list(read.checkpoint["channel_values"]["log"])
    made = (await saver.aget_delta_channel_history(config=read.config, channels=["log"]))["log"]
    return [*made.get("seed", []), *(text for _, _, texts in made["writes"] for text in texts)]


def plain(one: CheckpointTuple, thread_id: str) -> Any:
    """Take a checkpoint apart, its thread named otherwise."""
    configs: list[Any] = [dict(one.config["configurable"])]
    if one.parent_config is not None:
        configs.append(dict(one.parent_config["configurable"]))
    for each in configs:
        each["thread_id"] = thread_id
    return configs, one.checkpoint, one.metadata, one.pending_writes


class CopyCases:
    """What ``copy_thread`` makes."""

    async def test_a_copy_has_every_checkpoint_and_goes_on(self, saver: Saver) -> None:
        at = await put_many(saver, 12, run_id="r")
        await saver.aput_writes(at[-1], [("m", "w" * 99), ("__interrupt__", ["i"])], "task", "~p")
        child = config(namespace="child:1")
        parents = {"": at[3]["configurable"]["checkpoint_id"]}
        await saver.aput(child, checkpoint({"x": "y" * 99}, {"x": 1}), {"parents": parents}, {})
        await saver.acopy_thread("t1", "t2")
        everywhere: RunnableConfig = {"configurable": {"thread_id": "t1"}}
        copied: RunnableConfig = {"configurable": {"thread_id": "t2"}}
        source = [plain(one, "t") async for one in saver.alist(everywhere)]
        assert [plain(one, "t") async for one in saver.alist(copied)] == source
        assert len(source) == 13
        await saver.adelete_thread("t1")
        assert [plain(one, "t") async for one in saver.alist(copied)] == source
        head = (await found(saver, config("t2"))).config
        await put(saver, {"m": conversation(13)}, {"m": 13}, head)
        assert (await values_of(saver, config("t2")))["m"] == conversation(13)

    async def test_a_copy_into_a_thread_leaves_what_it_has(self, saver: Saver) -> None:
        await put(saver, {"m": "own " * 20}, {"m": 1}, config("t2"))
        await put_many(saver, 2)
        await saver.acopy_thread("t1", "t2")
        await saver.acopy_thread("t1", "t2")
        assert len(await history(saver, "t2")) == 3
        assert (await values_of(saver, config("t2")))["m"] == conversation(2)

    async def test_a_deleted_thread_can_be_copied_into(self, saver: Saver) -> None:
        await put_many(saver, 3)
        await saver.acopy_thread("t1", "t2")
        await saver.adelete_thread("t1")
        await saver.acopy_thread("t2", "t1")
        head = (await found(saver, config("t1"))).config
        await put(saver, {"m": conversation(4)}, {"m": 4}, head)
        await saver.aput_writes(head, [("m", "w")], "task")
        assert len(await history(saver)) == 4


class PruneCases:
    """What ``prune`` and ``delete_for_runs`` leave."""

    async def test_a_pruned_thread_keeps_its_newest_and_goes_on(self, saver: Saver) -> None:
        at = await put_many(saver, 30)
        await saver.aput_writes(at[-1], [("m", "w" * 99)], "task")
        await saver.aput_writes(at[4], [("m", "v" * 99)], "task")
        await saver.aprune(["t1"], keep_last=3)
        ids = [one["configurable"]["checkpoint_id"] for one in at]
        assert await history(saver) == ids[-3:]
        for number in (27, 28, 29):
            assert (await values_of(saver, at[number]))["m"] == conversation(number + 1)
        oldest = await found(saver, at[27])
        assert oldest.parent_config is None
        assert (await found(saver, at[28])).parent_config == at[27]
        assert (await found(saver)).pending_writes == [("task", "m", "w" * 99)]
        await saver.aprune(["t1"])
        head = await put(saver, {"m": conversation(31)}, {"m": 31}, at[-1])
        assert await history(saver) == [ids[-1], head["configurable"]["checkpoint_id"]]
        assert (await values_of(saver))["m"] == conversation(31)

    async def test_a_value_that_only_pruned_steps_had_can_come_back(self, saver: Saver) -> None:
        old = [*conversation(20), HumanMessage("old " * 30)]
        first = await put(saver, {"m": old, "x": "text " * 30}, {"m": 1, "x": 1})
        second = await put(saver, {"m": conversation(3), "x": ""}, {"m": 2, "x": 2}, first)
        await saver.aprune(["t1"])
        third = await put(saver, {"m": old, "x": "text " * 30}, {"m": 3, "x": 3}, second)
        assert await values_of(saver, third) == {"m": old, "x": "text " * 30}

    async def test_a_fork_from_a_pruned_step_is_written_whole(self, saver: Saver) -> None:
        at = await put_many(saver, 12)
        await saver.aprune(["t1"])
        fork = await put(saver, {"m": conversation(6)}, {"m": 6}, at[5])
        assert (await values_of(saver, fork))["m"] == conversation(6)
        assert (await values_of(saver, at[-1]))["m"] == conversation(12)
        await saver.aput_writes(at[2], [("m", conversation(3))], "late")
        assert (await values_of(saver, fork))["m"] == conversation(6)

    async def test_writes_whose_checkpoint_never_comes_are_swept_after_a_day(
        self, saver: Saver
    ) -> None:
        at = (await put_many(saver, 2))[-1]
        await saver.aput_writes(at, [("m", conversation(1))], "task")
        ids = {"stored": made_ago(2), "never": made_ago(2), "late": made_ago(0), "timeless": "x"}
        for ident in ids.values():
            await saver.aput_writes(config(checkpoint_id=ident), [("m", "w" * 99)], "task")
        await saver.aput(at, checkpoint({}, {}, id=ids["stored"]), {}, {})
        assert await saver.asweep() == 1
        assert await saver.asweep() == 0
        for name in ("never", "late", "timeless"):
            await saver.aput(at, checkpoint({}, {}, id=ids[name]), {}, {})
        pending = {
            name: (await found(saver, config(checkpoint_id=ident))).pending_writes
            for name, ident in ids.items()
        }
        kept = [("task", "m", "w" * 99)]
        assert pending == {"stored": kept, "never": [], "late": kept, "timeless": kept}
        assert len((await found(saver, at)).pending_writes or ()) == 1

    async def test_a_prune_sweeps_the_thread_it_prunes(self, saver: Saver) -> None:
        for thread_id in ("t1", "t2"):
            at = config(thread_id, checkpoint_id=made_ago(2))
            await saver.aput_writes(at, [("m", "w")], "task")
        await put_many(saver, 3)
        await saver.aprune(["t1"])
        assert await saver.asweep() == 1

    async def test_what_is_young_stays(self, saver: Saver) -> None:
        await put_many(saver, 5)
        await saver.aprune(["t1"], older_than=timedelta(hours=1))
        assert len(await history(saver)) == 5
        await saver.aprune(["t1"], older_than=timedelta(0), keep_last=2)
        assert len(await history(saver)) == 2

    async def test_an_id_that_tells_no_time_is_not_old(self, saver: Saver) -> None:
        at = config()
        for number in range(3):
            at = await saver.aput(at, checkpoint({}, {}, id=f"id-{number}"), {}, {})
        await saver.aprune(["t1"], older_than=timedelta(0))
        assert len(await history(saver)) == 3
        await saver.aprune(["t1"])
        assert await history(saver) == ["id-2"]

    async def test_a_subgraphs_call_goes_with_its_root_step(self, saver: Saver) -> None:
        roots = [one["configurable"]["checkpoint_id"] for one in await put_many(saver, 3)]
        parents = {
            "call:1": roots[0],
            "call:1|inner:1": roots[0],
            "call:2": roots[2],
            "lasting": roots[0],
            "early:1": "not stored",
        }
        for namespace, root in parents.items():
            at = config(namespace=namespace)
            for step in range(2):
                made = checkpoint({"x": "y" * 99}, {"x": step})
                at = await saver.aput(at, made, {"parents": {"": root}}, {})
        await saver.aprune(["t1"])
        left = {name: len(await history(saver, namespace=name)) for name in parents}
        assert left == {"call:1": 0, "call:1|inner:1": 0, "call:2": 1, "lasting": 1, "early:1": 1}
        assert await history(saver) == roots[2:]

    async def test_runs_are_deleted_wherever_they_ran(self, saver: Saver) -> None:
        first = await put(saver, {"m": conversation(9)}, {"m": 1}, run_id="one")
        second = await put(saver, {"m": conversation(12)}, {"m": 2}, first, run_id="two")
        await saver.aput_writes(second, [("m", "w" * 99)], "task")
        await put(saver, {"m": conversation(14)}, {"m": 3}, second, run_id="three")
        await put(saver, {"m": conversation(2)}, {"m": 1}, config("t2"), run_id="two")
        await put(saver, {"m": 1}, {"m": 1}, config("t3"), run_id=2)
        await saver.adelete_for_runs(["two", "unknown"])
        listed = [one async for one in saver.alist(None)]
        assert [one.metadata["run_id"] for one in listed] == [2, "three", "one"]
        assert [one.parent_config for one in listed] == [None, None, None]
        assert (await values_of(saver))["m"] == conversation(14)
        await saver.adelete_for_runs([])

    async def test_a_thread_is_deleted_by_strategy(self, saver: Saver) -> None:
        at = (await put_many(saver, 3))[-1]
        await put(saver, {"m": 1}, {"m": 1}, config("t2"))
        await saver.aprune(["t1", "unknown"], strategy="delete")
        assert await history(saver) == []
        assert len(await history(saver, "t2")) == 1
        with pytest.raises(NotFoundError):
            await saver.aput_writes(at, [("m", "late")], "task")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"strategy": "keep"},
            {"keep_last": 0},
            {"keep_last": True},
            {"strategy": "delete", "keep_last": 2},
        ],
    )
    async def test_a_prune_that_says_nothing_sensible_is_refused(
        self, saver: Saver, wrong: Any
    ) -> None:
        await put_many(saver, 2)
        with pytest.raises(ValueError, match=r"keep|strategy") as refused:
            await saver.aprune(["t1"], **wrong)
        assert isinstance(refused.value, InvalidRequestError)
        for method in (saver.aprune, saver.adelete_for_runs):
            with pytest.raises(TypeError, match="not one str"):
                await method("t1")
        assert len(await history(saver)) == 2


class DeltaCases:
    """Threads some of whose values are made from what their ancestors' tasks wrote."""

    async def test_the_history_of_a_channel_is_followed_to_its_value(self, saver: Saver) -> None:
        at = await put_delta(saver, ["a", "b", "c", "d"], snapshots=[2])
        read = await saver.aget_delta_channel_history(config=at[4], channels=["log", "n", "x"])
        assert read["log"] == {
            "writes": [("task-2", "log", ["c"]), ("task-3", "log", ["d"])],
            "seed": ["a", "b"],
        }
        assert read["n"] == {"writes": [("task-3", "n", 3)], "seed": 3}
        assert read["x"] == {"writes": []}
        assert await log_of(saver, at[1]) == ["a"]
        assert await saver.aget_delta_channel_history(config=at[4], channels=[]) == {}
        unknown = config(checkpoint_id="unknown")
        none = await saver.aget_delta_channel_history(config=unknown, channels=["log"])
        assert none == {"log": {"writes": []}}

    async def test_only_ancestors_count(self, saver: Saver) -> None:
        at = await put_delta(saver, ["a", "b", "c"])
        versions = {"n": 9, "log": 9}
        said: Any = {"source": "fork", COUNTERS: {"log": [2, 2]}}
        await saver.aput_writes(at[1], [("log", ["fork"])], "task-fork")
        fork = await saver.aput(at[1], checkpoint({"n": 9}, versions), said, versions)
        assert await log_of(saver, fork) == ["a", "b", "fork"]
        ids = ["m", "z", "a"]  # ancestors that do not order before their descendants
        at_id = config("t2")
        for number, ident in enumerate(ids):
            made = checkpoint({"n": number}, {"n": number, "log": number}, id=ident)
            at_id = await saver.aput(at_id, made, {"source": "loop"}, {})
            await saver.aput_writes(at_id, [("log", [ident])], "task")
        assert await log_of(saver, at_id) == ["m", "z"]

    async def test_a_prune_leaves_what_a_value_is_made_from(self, saver: Saver) -> None:
        texts = [f"text {number}" for number in range(20)]
        at = await put_delta(saver, texts, snapshots=[5, 12])
        for _ in range(2):
            await saver.aprune(["t1"])
            ids = [one["configurable"]["checkpoint_id"] for one in at[12:]]
            assert await history(saver) == ids
            assert await log_of(saver, at[-1]) == texts
            assert (await found(saver, at[12])).parent_config is None
        await saver.acopy_thread("t1", "t2")
        assert await log_of(saver, config("t2")) == texts

    async def test_a_prune_of_a_channel_that_was_never_stated_keeps_all(self, saver: Saver) -> None:
        at = await put_delta(saver, ["a", "b", "c"])
        child = await put_delta(saver, ["d", "e"], "child")
        await saver.aprune(["t1"])
        assert len(await history(saver)) == 4
        assert (await log_of(saver, at[-1]), await log_of(saver, child[-1])) == (
            ["a", "b", "c"],
            ["d", "e"],
        )

    async def test_a_run_that_a_value_is_made_from_stays(self, saver: Saver) -> None:
        at = await put_delta(saver, ["a"])
        versions = {"n": 5, "log": 5}
        said: Any = {"source": "loop", "run_id": "old", COUNTERS: {"log": [2, 2]}}
        await saver.aput_writes(at[-1], [("log", ["b"])], "task")
        old = await saver.aput(at[-1], checkpoint({"n": 1}, versions), said, versions)
        await saver.aput_writes(old, [("log", ["c"])], "task")
        new = await saver.aput(old, checkpoint({"n": 2}, versions), {**said, "run_id": "new"}, {})
        await saver.adelete_for_runs(["old"])
        assert await log_of(saver, new) == ["a", "b", "c"]
        await saver.adelete_for_runs(["new", "old"])
        assert len(await history(saver)) == 2

    async def test_a_step_made_from_a_pruned_one_is_refused(self, saver: Saver) -> None:
        at = await put_delta(saver, ["a", "b", "c"], snapshots=[3])
        await saver.aprune(["t1"])
        said: Any = {"source": "fork", COUNTERS: {"log": [2, 2]}}
        with pytest.raises(NotFoundError, match="checkpoint"):
            await saver.aput(at[1], checkpoint({"n": 9}, {"n": 9, "log": 9}), said, {})
        stated = checkpoint({"n": 9, "log": ["a", "fork"]}, {"n": 9, "log": 9})
        fork = await saver.aput(at[1], stated, said, {})
        assert await log_of(saver, fork) == ["a", "fork"]
        assert await log_of(saver, at[3]) == ["a", "b", "c"]


class LeaseCases:
    """What is written under a lease."""

    async def test_only_the_last_to_hold_a_lease_writes(self, leasing: Any) -> None:
        first = leasing.lease("t1", seconds=60)
        await first.__aenter__()
        head = await put(leasing, {"m": 1}, {"m": 1})
        await first.aextend(0)
        async with leasing.lease("t1", seconds=60) as second:
            assert second.token > first.token
            await put(leasing, {"m": 2}, {"m": 2}, head)
            stale = {"__threadkeep_lease": first.token, "checkpoint_id": _id(head)}
            with pytest.raises(LeaseLostError):
                await put(leasing, {"m": 3}, {"m": 3}, config(**stale))
            with pytest.raises(LeaseLostError):
                await leasing.aput_writes(config(**stale), [("m", "late")], "task")
            with pytest.raises(LeaseHeldError):
                await leasing.lease("t1").__aenter__()
            with pytest.raises(LeaseLostError):
                await first.aextend()
            await second.aextend(30)
        assert (await values_of(leasing))["m"] == 2
        assert (await found(leasing, head)).pending_writes == []
        assert len(await history(leasing)) == 2

    async def test_a_lease_is_of_one_thread_and_ends_with_its_context(self, leasing: Any) -> None:
        async with leasing.lease("t1") as lease:
            await put(leasing, {"m": 1}, {"m": 1}, config("t2"))
            at = await put(leasing, {"m": 1}, {"m": 1})
        with pytest.raises(InvalidRequestError, match="not held"):
            _ = lease.token
        await put(leasing, {"m": 2}, {"m": 2}, at)
        with leasing.lease("t1") as again:
            await put(leasing, {"m": 3}, {"m": 3}, at)
            again.extend()
        with pytest.raises(InvalidRequestError, match="seconds"):
            leasing.lease("t1", seconds=0)
        with pytest.raises(InvalidRequestError, match="token"):
            await put(leasing, {}, {}, config(__threadkeep_lease="x"))


def _id(at: RunnableConfig) -> str:
    ident: str = at["configurable"]["checkpoint_id"]
    return ident
