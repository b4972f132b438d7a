"""Cases of the saver suite on values of many parts: whatever changes in them comes back as it was.

A large dict changes a key, gains and loses some, and is put in another order. A long text grows.
The messages of a subgraph are its supervisor's, and a ``Send`` has the state's.
"""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from threadkeep.testing.saver_steps import Saver, config, conversation, found, put, values_of

KEYS = 300


def records(count: int = KEYS) -> dict[Any, Any]:
    """Build a dict whose values are documents of their own, some of them small."""
    return {
        f"key {number}": {"text": "x" * 50, "deep": [number]} if number % 3 else number
        for number in range(count)
    }


def _edit_in_place(value: dict[Any, Any]) -> None:
    value["key 100"]["deep"].append("more")


def _edit_an_integer_into_a_bool(value: dict[Any, Any]) -> None:
    value["key 100"]["deep"][0] = True
    value["key 0"] = False


def _replace(value: dict[Any, Any]) -> None:
    value["key 3"] = "another value that is longer than an address is"


def _add(value: dict[Any, Any]) -> None:
    value["another"] = {"text": "y" * 60}


def _add_keys_of_other_types(value: dict[Any, Any]) -> None:
    value |= {7: "seven", "7": 7, -(2**63): 1, 2**64 - 1: 2, "\ud83d\ude00 é": 3, "": 4}


def _delete(value: dict[Any, Any]) -> None:
    for number in (0, 1, 150, KEYS - 1):
        del value[f"key {number}"]


def _move_to_the_end(value: dict[Any, Any]) -> None:
    value["key 5"] = value.pop("key 5")


def _reverse(value: dict[Any, Any]) -> None:
    items = list(value.items())[::-1]
    value.clear()
    value.update(items)


def _clear(value: dict[Any, Any]) -> None:
    value.clear()


def _keep_a_few(value: dict[Any, Any]) -> None:
    for number in range(20, KEYS):
        del value[f"key {number}"]


CHANGES = (
    _edit_in_place,
    _edit_an_integer_into_a_bool,
    _replace,
    _add,
    _add_keys_of_other_types,
    _delete,
    _move_to_the_end,
    _reverse,
    _clear,
    _keep_a_few,
)


TEXT = "".join(f"{number} é😀\x00 words, and more of them. " for number in range(200))


@pytest.mark.anyio
class ValueCases:
    """Part of ``SaverSuite``."""

    @pytest.mark.parametrize("change", CHANGES)
    @pytest.mark.parametrize("inside", [False, True])
    async def test_a_dict_of_many_keys_changes_anywhere(
        self, saver: Saver, change: Any, inside: bool
    ) -> None:
        value = records()
        state: Any = {"rows": ["one"], "index": value} if inside else value
        first = await put(saver, {"d": state}, {"d": 1})
        before = repr(state)
        change(value)
        second = await put(saver, {"d": state}, {"d": 2}, first)
        assert repr((await values_of(saver, second))["d"]) == repr(state)
        assert repr((await values_of(saver, first))["d"]) == before

    @pytest.mark.parametrize("change", CHANGES)
    async def test_a_dict_of_many_keys_changes_after_it_was_read(
        self, saver: Saver, change: Any
    ) -> None:
        first = await put(saver, {"d": records()}, {"d": 1})
        value = (await values_of(saver, first))["d"]
        change(value)
        second = await put(saver, {"d": value}, {"d": 2}, first)
        assert repr((await values_of(saver, second))["d"]) == repr(value)

    async def test_a_dict_of_many_keys_comes_back_from_a_write(self, saver: Saver) -> None:
        value = records()
        first = await put(saver, {"d": value}, {"d": 1})
        _edit_in_place(value)
        _delete(value)
        await saver.aput_writes(first, [("d", value)], "task")
        second = await put(saver, {"d": value}, {"d": 2}, first)
        writes = (await found(saver, first)).pending_writes
        assert [repr(one) for _, _, one in writes or []] == [repr(value)]
        assert repr((await values_of(saver, second))["d"]) == repr(value)

    @pytest.mark.parametrize("count", [32, 33, 34, 64, 700])
    async def test_dicts_of_any_length_come_back(self, saver: Saver, count: int) -> None:
        values = {
            "d": records(count),
            "n": {number: number for number in range(count)},
            "t": {(number, "x"): "not a simple key" for number in range(count)},
            "k": {f"{number} " + "long key " * 90: number for number in range(count)},
        }
        at = await put(saver, values, dict.fromkeys(values, 1))
        assert repr(await values_of(saver, at)) == repr(values)

    async def test_a_thread_of_which_nothing_is_known_goes_on(self, saver: Saver) -> None:
        values: dict[str, Any] = {
            "d": records(),
            "n": [*range(700)],
            "few": {"in": records(), "n": [*range(99)]},
        }
        first = await put(saver, values, dict.fromkeys(values, 1))
        await saver.acopy_thread("t1", "t2")
        values["n"] = [*range(701)]
        _edit_in_place(values["d"])
        _delete(values["few"]["in"])
        copied = config("t2", checkpoint_id=first["configurable"]["checkpoint_id"])
        second = await put(saver, values, dict.fromkeys(values, 2), copied)
        assert repr(await values_of(saver, second)) == repr(values)

    async def test_copied_and_pruned_threads_keep_their_dicts(self, saver: Saver) -> None:
        value = records()
        at = None
        for step in range(4):
            value[f"key {50 * step}"] = f"changed in step {step} " + "z" * 40
            at = await put(saver, {"d": value}, {"d": step}, at)
        await saver.acopy_thread("t1", "t2")
        await saver.aprune(["t2"])
        for thread in ("t1", "t2"):
            read = (await values_of(saver, config(thread)))["d"]
            assert (list(read), read) == (list(value), value)

    @pytest.mark.parametrize("kind", [str, bytes])
    @pytest.mark.parametrize("inside", [False, True])
    async def test_a_text_that_grows_comes_back_at_every_step(
        self, saver: Saver, kind: type, inside: bool
    ) -> None:
        text = ""
        steps: list[tuple[RunnableConfig, Any]] = []
        for step in range(40):
            text += TEXT if step in (1, 30) else f"{step} added é " * (step % 7)
            made: Any = text if kind is str else text.encode()
            state = {"rows": ["one"], "text": made} if inside else made
            if step % 2 and steps:
                await saver.aput_writes(steps[-1][0], [("t", state)], "task")
            if step == 20:
                await values_of(saver, steps[-1][0])
            at = await put(saver, {"t": state}, {"t": step}, steps[-1][0] if steps else None)
            steps.append((at, state))
        for at, state in steps:
            assert (await values_of(saver, at))["t"] == state
        listed = [one.checkpoint["channel_values"]["t"] async for one in saver.alist(config())]
        assert listed == [state for _, state in reversed(steps)]

    async def test_a_text_that_is_edited_comes_back(self, saver: Saver) -> None:
        texts = [TEXT, TEXT + TEXT, TEXT + "x", "x" + TEXT, TEXT[:-9], TEXT.replace("9 é", "8")]
        texts += [TEXT.upper(), TEXT, "", TEXT]
        steps = [await put(saver, {"t": texts[0]}, {"t": 0})]
        for step, text in enumerate(texts[1:], start=1):
            steps.append(await put(saver, {"t": text}, {"t": step}, steps[-1]))
        for at, text in zip(steps, texts, strict=True):
            assert (await values_of(saver, at))["t"] == text

    async def test_copied_and_pruned_threads_keep_their_texts(self, saver: Saver) -> None:
        at, text = None, TEXT
        for step in range(30):
            text += f"{step} " + "more " * 120
            at = await put(saver, {"t": text}, {"t": step}, at)
        await saver.acopy_thread("t1", "t2")
        await saver.aprune(["t2"])
        for thread in ("t1", "t2"):
            assert (await values_of(saver, config(thread)))["t"] == text
        fork = config("t2", checkpoint_id=at["configurable"]["checkpoint_id"] if at else "")
        grown = await put(saver, {"t": text + "fork"}, {"t": 99}, fork)
        await saver.aprune(["t2"])
        assert (await values_of(saver, grown))["t"] == text + "fork"

    @pytest.mark.parametrize("count", [1, 7, 9, 200])
    async def test_a_send_comes_back_with_its_state(self, saver: Saver, count: int) -> None:
        messages = conversation(count)
        first = await put(saver, {"messages": messages}, {"messages": 1})
        calls = [{"name": "f", "args": {"n": [1]}, "id": str(number)} for number in range(12)]
        sends = [Send("tools", {"call": call, "state": {"messages": messages}}) for call in calls]
        sends += [Send("tools", {"messages": messages}), Send("one", 1), Send("none", {})]
        writes = [("__pregel_tasks", send) for send in sends]
        await saver.aput_writes(first, writes, "task")
        values = {"messages": [*messages, HumanMessage("more")], "__pregel_tasks": sends}
        second = await put(saver, values, dict.fromkeys(values, 2), first)
        await saver.acopy_thread("t1", "t2")
        await saver.aprune(["t2"])
        for at in (second, config("t2")):
            assert await values_of(saver, at) == values
        pending = (await found(saver, first)).pending_writes or []
        assert [value for _, _, value in pending] == sends
        listed = [one async for one in saver.alist(config())]
        assert listed[0].checkpoint["channel_values"] == values
        read = listed[0].checkpoint["channel_values"]["__pregel_tasks"]
        read[0].arg["state"]["messages"].clear()
        assert read[1].arg["state"]["messages"] == messages  # each has a list of its own

    async def test_nested_dicts_with_lists_come_back(self, saver: Saver) -> None:
        messages = conversation(30)
        state: dict[str, Any] = {"a": {"b": {"messages": messages, "c": {"n": [*range(20)]}}}}
        first = await put(saver, {"s": state}, {"s": 1})
        before = repr(state)
        messages[3].content = "edited"
        messages.append(HumanMessage("more"))
        state["a"]["b"]["c"]["n"][4] = True
        second = await put(saver, {"s": state}, {"s": 2}, first)
        assert repr((await values_of(saver, second))["s"]) == repr(state)
        assert repr((await values_of(saver, first))["s"]) == before

    async def test_a_subgraph_goes_on_from_its_supervisors_messages(self, saver: Saver) -> None:
        messages = conversation(40)
        root = await put(saver, {"messages": messages}, {"messages": 1})
        parents = {"": root["configurable"]["checkpoint_id"]}
        inside = config("t1", "agent:task")
        given = {"__start__": {"messages": messages}}
        first = await put(saver, given, {"__start__": 1}, inside, parents=parents)
        await saver.aput_writes(first, [("messages", messages)], "start")
        messages[2].content = "edited by the agent"
        more = [*messages, HumanMessage("by the agent", id="x")]
        second = await put(saver, {"messages": more}, {"messages": 2}, first, parents=parents)
        await saver.aput_writes(root, [("messages", more)], "task")
        third = await put(saver, {"messages": more}, {"messages": 2}, root)
        assert (await values_of(saver, root))["messages"] == conversation(40)
        assert (await values_of(saver, first))["__start__"]["messages"] == conversation(40)
        for at in (second, third):
            assert (await values_of(saver, at))["messages"] == more
        await saver.aprune(["t1"])
        assert (await values_of(saver, third))["messages"] == more
