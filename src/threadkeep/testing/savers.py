"""What every checkpoint saver of ours must do, on every document store and through both faces.

A test file subclasses ``SaverSuite`` and overrides the ``saver`` fixture; the blocking face passes
through ``blocking_face``. LangGraph's own conformance package is run beside it: what it holds is
not repeated here.
"""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from threadkeep.checkpoints.writes import NULL_TASK
from threadkeep.errors import InvalidRequestError, NotFoundError, ValueNotStorableError
from threadkeep.testing.saver_steps import (
    checkpoint,
    config,
    conversation,
    found,
    put,
    values_of,
)
from threadkeep.testing.saver_threads import CopyCases, DeltaCases, LeaseCases, PruneCases
from threadkeep.testing.saver_values import ValueCases

Saver = BaseCheckpointSaver[Any]


def _edit_content(message: Any) -> None:
    message.content = "edited"


def _edit_tool_calls(message: Any) -> None:
    message.tool_calls.append({"name": "f", "args": {}, "id": "c1", "type": "tool_call"})


def _edit_additional_kwargs(message: Any) -> None:
    message.additional_kwargs["seen"] = True


def _edit_a_nested_list(message: Any) -> None:
    message.response_metadata["nested"]["list"].append("more")


def _edit_a_number_into_a_bool(message: Any) -> None:
    message.response_metadata["number"] = True


def _edit_a_number_into_a_float(message: Any) -> None:
    message.response_metadata["number"] = 1.0


EDITS = (
    _edit_content,
    _edit_tool_calls,
    _edit_additional_kwargs,
    _edit_a_nested_list,
    _edit_a_number_into_a_bool,
    _edit_a_number_into_a_float,
)


@pytest.mark.anyio
class SaverSuite(ValueCases, CopyCases, PruneCases, DeltaCases, LeaseCases):
    """Subclass in a test module, and override the fixture."""

    @pytest.fixture
    def saver(self) -> Saver:
        """Return a saver on an empty store."""
        raise NotImplementedError

    @pytest.fixture
    def leasing(self, saver: Saver) -> Any:
        """Return the saver as what leases threads."""
        return saver

    @pytest.mark.parametrize("edit", EDITS)
    @pytest.mark.parametrize("at", [1, 9, 39])
    async def test_an_edited_element_is_stored_where_its_channel_has_a_new_version(
        self, saver: Saver, edit: Any, at: int
    ) -> None:
        messages = conversation(40)
        for message in messages:
            message.response_metadata.update(number=1, nested={"list": ["one"]})
        first = await put(saver, {"m": messages}, {"m": 1})
        edit(messages[at])
        second = await put(saver, {"m": messages}, {"m": 2}, first)
        assert repr((await values_of(saver, second))["m"]) == repr(messages)
        assert repr((await values_of(saver, first))["m"]) != repr(messages)

    @pytest.mark.parametrize("edit", EDITS)
    async def test_an_element_edited_after_it_was_read_is_stored(
        self, saver: Saver, edit: Any
    ) -> None:
        messages = conversation(30)
        for message in messages:
            message.response_metadata.update(number=1, nested={"list": ["one"]})
        first = await put(saver, {"m": messages}, {"m": 1})
        read = (await values_of(saver, first))["m"]
        edit(read[3])
        second = await put(saver, {"m": [*read, HumanMessage("new")]}, {"m": 2}, first)
        assert repr((await values_of(saver, second))["m"][3]) == repr(read[3])

    async def test_an_edited_element_of_plain_data_is_stored(self, saver: Saver) -> None:
        rows: list[Any] = [{"id": n, "deep": [{"text": "x" * 50, "n": 1}]} for n in range(20)]
        first = await put(saver, {"rows": rows}, {"rows": 1})
        rows[2]["deep"][0]["n"] = 1.0
        rows[15]["deep"].append("more")
        second = await put(saver, {"rows": rows}, {"rows": 2}, first)
        assert repr((await values_of(saver, second))["rows"]) == repr(rows)

    async def test_a_list_in_a_dict_is_watched_too(self, saver: Saver) -> None:
        state: dict[str, Any] = {"messages": conversation(20), "n": 1}
        first = await put(saver, {"s": state}, {"s": 1})
        state["messages"][4].content = "edited"
        second = await put(saver, {"s": state}, {"s": 2}, first)
        assert (await values_of(saver, second))["s"] == state

    async def test_an_unchanged_version_keeps_the_parents_value_edited_or_not(
        self, saver: Saver
    ) -> None:
        messages = conversation(12)
        first = await put(saver, {"m": messages, "n": 1}, {"m": 1, "n": 1})
        messages[0].content = "edited"
        second = await put(saver, {"m": messages, "n": 2}, {"m": 1, "n": 2}, first)
        read = await values_of(saver, second)
        assert (read["m"], read["n"]) == (conversation(12), 2)

    @pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 127, 128, 129, 700])
    async def test_lists_of_any_length_come_back(self, saver: Saver, count: int) -> None:
        values = {
            "m": conversation(count),
            "n": list(range(count)),
            "s": ["é" * (n % 90) for n in range(count)],
        }
        at = await put(saver, values, dict.fromkeys(values, 1))
        assert await values_of(saver, at) == values

    async def test_lists_change_anywhere(self, saver: Saver) -> None:
        state, at = conversation(60), None
        states = []
        changes: tuple[Callable[[list[AnyMessage]], list[AnyMessage]], ...] = (
            lambda m: [*m, HumanMessage("z" * 50)],
            lambda m: m[20:],
            lambda m: [*m[:5], HumanMessage("new " + "w" * 60), *m[6:]],
            lambda m: [*m[:9], *m[10:]],
            lambda m: m[::-1],
            lambda _: [],
            lambda _: conversation(30),
            lambda m: m * 3,
        )
        for step, change in enumerate(changes):
            state = change(state)
            at = await put(saver, {"m": state}, {"m": step + 1}, at)
            states.append((at, list(state)))
        for at, expected in states:
            assert (await values_of(saver, at))["m"] == expected

    async def test_two_forks_with_one_version_keep_their_own_values(self, saver: Saver) -> None:
        root = await put(saver, {"m": ["root"]}, {"m": 1})
        one = await put(saver, {"m": ["root", "one" * 30]}, {"m": 2}, root)
        two = await put(saver, {"m": ["root", "two" * 30]}, {"m": 2}, root)
        assert (await values_of(saver, one))["m"] == ["root", "one" * 30]
        assert (await values_of(saver, two))["m"] == ["root", "two" * 30]

    async def test_an_emptied_channel_is_absent_and_keeps_its_version(self, saver: Saver) -> None:
        first = await put(saver, {"a": "x" * 99, "b": 1}, {"a": 1, "b": 1})
        second = await put(saver, {"b": 1}, {"a": 2, "b": 1}, first)
        third = await put(saver, {"b": 1}, {"a": 2, "b": 1}, second)
        for at in (second, third):
            read = (await found(saver, at)).checkpoint
            assert (read["channel_values"], read["channel_versions"]) == (
                {"b": 1},
                {"a": 2, "b": 1},
            )

    async def test_a_checkpoint_comes_back_whole(self, saver: Saver) -> None:
        made = checkpoint(
            {"a": None, "b": b"\x00\xff", "c": {"k": [1.5, True]}},
            {"a": 3, "b": 1, "c": 2, "gone": 3},
            versions_seen={"node": {"a": 3, "elsewhere": 1}, "__input__": {}},
            updated_channels=["c", "a"],
            pending_sends=[["x", 1]],
            unknown={"kept": "y" * 100},
        )
        at = await saver.aput(config(), made, {"source": "input", "step": -1}, {})
        read = (await found(saver, at)).checkpoint
        assert repr(sorted(read.items())) == repr(sorted(made.items()))

    @pytest.mark.parametrize(
        "versions",
        [
            {"a": 1, "b": 7},
            {"a": f"{3:032}.{'5' * 16}", "b": f"{12:032}.0.25"},
            {"a": 1.5, "b": "mine"},
        ],
    )
    async def test_versions_of_every_kind_come_back(
        self, saver: Saver, versions: dict[str, Any]
    ) -> None:
        made = checkpoint({"a": 1}, versions, versions_seen={"n": dict(versions)}, ts="noon")
        at = await saver.aput(config(), made, {}, versions)
        read = (await found(saver, at)).checkpoint
        assert repr(read["channel_versions"]) == repr(versions)
        assert read["versions_seen"] == {"n": versions}
        assert read["ts"] == "noon"

    async def test_what_is_read_is_the_readers_own(self, saver: Saver) -> None:
        values = {"m": conversation(12), "d": {"k": ["v" * 60]}}
        at = await put(saver, values, {"m": 1, "d": 1})
        for _ in range(2):
            read = (await found(saver, at)).checkpoint
            assert read["channel_values"] == values
            read["channel_values"]["m"][0].content = "mine"
            read["channel_values"]["d"]["k"].append("mine")
            read["channel_versions"]["m"] = 9
            read["versions_seen"]["n"] = {"m": 9}

    async def test_writes_are_ordered_by_path_task_and_index(self, saver: Saver) -> None:
        at = await put(saver, {}, {})
        await saver.aput_writes(at, [("c", "b0"), ("c", "b1")], "task-b", "~path, 1")
        await saver.aput_writes(at, [("c", "a0")], "task-a", "~path, 2")
        await saver.aput_writes(at, [("c", "n0")], "task-z")
        pending = (await found(saver, at)).pending_writes
        assert [value for _, _, value in pending or ()] == ["n0", "b0", "b1", "a0"]

    async def test_two_attempts_of_a_task_are_not_mixed(self, saver: Saver) -> None:
        at = await put(saver, {}, {})
        await saver.aput_writes(at, [("__resume__", "r1"), ("c", "first"), ("d", "x" * 99)], "task")
        other = [("c", "zero"), ("c", "other"), ("d", ["two"]), ("e", "y" * 99)]
        await saver.aput_writes(at, other, "task")
        await saver.aput_writes(at, [("__resume__", "r2"), *other], "task")
        await saver.aput_writes(at, other, "another task")
        pending = (await found(saver, at)).pending_writes or []
        assert [(channel, value) for task, channel, value in pending if task == "task"] == [
            ("__resume__", "r2"),
            ("c", "first"),
            ("d", "x" * 99),
        ]
        assert [(channel, value) for task, channel, value in pending if task != "task"] == other

    async def test_a_task_that_repeats_its_writes_may_add_to_them(self, saver: Saver) -> None:
        at = await put(saver, {}, {})
        writes = [("__interrupt__", ["i"]), ("c", "first"), ("d", ["x" * 99, *conversation(3)])]
        await saver.aput_writes(at, writes, "task")
        await saver.aput_writes(at, [*writes, ("e", "y" * 99)], "task")
        await saver.aput_writes(at, [*writes[:2], ("d", "other"), ("e", 1), ("f", 2)], "task")
        pending = (await found(saver, at)).pending_writes or []
        assert [(channel, value) for _, channel, value in pending] == [*writes, ("e", "y" * 99)]

    async def test_writes_of_the_null_task_add_up_index_by_index(self, saver: Saver) -> None:
        at = await put(saver, {}, {})
        await saver.aput_writes(at, [("__resume__", "r1"), ("c", "first")], NULL_TASK)
        await saver.aput_writes(at, [("c", "zero"), ("c", "other"), ("d", ["two"])], NULL_TASK)
        await saver.aput_writes(at, [("c", 0), ("c", 1), ("d", 2), ("e", "x" * 99)], NULL_TASK)
        pending = (await found(saver, at)).pending_writes or []
        assert [(channel, value) for _, channel, value in pending] == [
            ("__resume__", "r1"),
            ("c", "zero"),
            ("c", "first"),
            ("d", ["two"]),
            ("e", "x" * 99),
        ]

    async def test_special_writes_are_replaced_even_beside_regular_ones(self, saver: Saver) -> None:
        at = await put(saver, {}, {})
        await saver.aput_writes(at, [("__resume__", "old"), ("c", "first")], "task")
        await saver.aput_writes(at, [("__resume__", "new"), ("c", "second")], "task")
        await saver.aput_writes(at, [("__error__", "e"), ("__interrupt__", ["i"])], "task")
        pending = (await found(saver, at)).pending_writes or []
        assert [(channel, value) for _, channel, value in pending] == [
            ("__resume__", "new"),
            ("__interrupt__", ["i"]),
            ("__error__", "e"),
            ("c", "first"),
        ]

    async def test_writes_may_come_before_their_checkpoint(self, saver: Saver) -> None:
        made = checkpoint({"m": [1]}, {"m": 1})
        at = config(checkpoint_id=made["id"])
        await saver.aput_writes(at, [("m", conversation(2))], "task")
        assert await saver.aget_tuple(config()) is None
        await saver.aput(config(), made, {"source": "loop", "step": 0}, {"m": 1})
        assert (await found(saver)).pending_writes == [("task", "m", conversation(2))]

    async def test_a_checkpoint_put_again_is_replaced(self, saver: Saver) -> None:
        made = checkpoint({"m": ["one"]}, {"m": 1})
        await saver.aput(config(), made, {"source": "loop", "step": 1}, {"m": 1})
        again = made | {"channel_values": {"m": ["two"]}, "channel_versions": {"m": 2}}
        await saver.aput(config(), again, {"source": "update", "step": 2}, {"m": 2})
        read = await found(saver)
        assert read.checkpoint["channel_values"] == {"m": ["two"]}
        assert read.metadata == {"source": "update", "step": 2}
        assert [one.checkpoint["id"] async for one in saver.alist(config())] == [made["id"]]

    async def test_metadata_comes_back_as_put(self, saver: Saver) -> None:
        said: dict[str, Any] = {
            "source": "fork",
            "step": 2**40,
            "parents": {"": "1"},
            "nul": "a\x00b",
            "when": {1, 2},
            "number": 1.0,
            "writes": None,
        }
        made = checkpoint({}, {})
        at = config(run_id="r", __pregel_x="no", user=7)
        stored = await saver.aput(at, made, said, {})  # type: ignore[arg-type]
        read = (await found(saver, stored)).metadata
        assert read == said | {"run_id": "r", "user": 7}
        assert type(read["number"]) is float  # type: ignore[typeddict-item]

    @pytest.mark.parametrize("said", [{}, {"parents": {}}, {"source": None, "step": True}])
    async def test_sparse_metadata_comes_back_as_put(self, saver: Saver, said: Any) -> None:
        at = await saver.aput(config(), checkpoint({}, {}), said, {})
        assert repr((await found(saver, at)).metadata) == repr(said)

    async def test_filters_mean_json_equality(self, saver: Saver) -> None:
        mores: tuple[dict[str, Any], ...] = (
            {"k": None},
            {"k": True},
            {"k": 1},
            {"k": {"a": 1, "c": 2}},
            {},
            {"o.a": "x", "o": {"a": "x"}},
        )
        for step, more in enumerate(mores):
            await put(saver, {}, {}, step=step, **more)

        async def steps(**wanted: Any) -> list[Any]:
            found = saver.alist(None, filter=wanted)
            return sorted([one.metadata["step"] async for one in found])

        assert await steps(k=None) == [0]
        assert await steps(k=True) == [1]
        assert await steps(k=1.0) == [2]
        assert await steps(k={"a": 1}) == []
        assert await steps(k={"c": 2, "a": 1}) == [3]
        assert await steps(**{"o.a": "x"}) == [5]
        assert await steps(source="loop", step=4) == [4]
        assert await steps(step=True) == []
        assert await steps(parents={}) == [0, 1, 2, 3, 4, 5]
        assert await steps(thread_id="t1") == []

    async def test_a_listing_is_newest_first_across_threads_and_pages(self, saver: Saver) -> None:
        ids = []
        for number in range(230):
            made = checkpoint({"m": ["x" * 50, number]}, {"m": 1})
            at = config(f"t{number % 3}", "" if number % 2 else "child:1")
            await saver.aput(at, made, {"source": "loop", "step": number}, {"m": 1})
            ids.append(made["id"])
        listed = [one async for one in saver.alist(None)]
        assert [one.checkpoint["id"] for one in listed] == ids[::-1]
        assert [one.checkpoint["channel_values"]["m"][1] for one in listed] == list(range(230))[
            ::-1
        ]
        before = config(checkpoint_id=ids[200])
        some = [one.metadata["step"] async for one in saver.alist(None, before=before, limit=120)]
        assert some == list(range(200))[::-1][:120]
        everywhere: RunnableConfig = {"configurable": {"thread_id": "t1"}}
        own = [one.metadata["step"] async for one in saver.alist(everywhere)]
        assert own == [number for number in range(230) if number % 3 == 1][::-1]
        root = [one.metadata["step"] async for one in saver.alist(config("t1"))]
        assert root == [number for number in own if number % 2]

    async def test_tuples_of_one_listing_share_no_container(self, saver: Saver) -> None:
        first = await put(saver, {"m": conversation(9), "r": [{"k": "v" * 60}]}, {"m": 1, "r": 1})
        await put(saver, {"m": conversation(10), "r": [{"k": "v" * 60}]}, {"m": 2, "r": 1}, first)
        one, two = [each.checkpoint["channel_values"] async for each in saver.alist(config())]
        one["m"].clear()
        one["r"][0]["k"] = "mine"
        assert (two["m"], two["r"]) == (conversation(9), [{"k": "v" * 60}])

    async def test_a_value_that_cannot_be_serialized_changes_nothing(self, saver: Saver) -> None:
        head = await put(saver, {"a": ["one"], "b": 1}, {"a": 1, "b": 1})
        with pytest.raises(ValueNotStorableError, match="'b'"):
            await put(saver, {"a": ["two"], "b": [object()]}, {"a": 2, "b": 2}, head)
        with pytest.raises(ValueNotStorableError, match="'b'"):
            await saver.aput_writes(head, [("a", 1), ("b", object())], "task")
        read = await found(saver)
        assert (read.config, read.pending_writes) == (head, [])
        assert read.checkpoint["channel_values"] == {"a": ["one"], "b": 1}

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            ({"channel_versions": {"\ud800": 1}}, "name or version"),
            ({"versions_seen": {"node": {"a": object()}}}, "name or version"),
            ({"ts": "\ud800"}, "name or version"),
            ({"more": object()}, "'more'"),
        ],
    )
    async def test_a_checkpoint_that_cannot_be_packed_is_refused_by_name(
        self, saver: Saver, wrong: dict[str, Any], named: str
    ) -> None:
        head = await put(saver, {"a": ["one"]}, {"a": 1})
        made: Any = checkpoint({"a": ["two"]}, {"a": 2}) | wrong
        with pytest.raises(ValueNotStorableError, match=named):
            await saver.aput(head, made, {"source": "loop", "step": 1}, {"a": 2})
        with pytest.raises(ValueNotStorableError, match="metadata"):
            await put(saver, {"a": ["two"]}, {"a": 2}, head, more=object())
        with pytest.raises(ValueNotStorableError, match="task path"):
            await saver.aput_writes(head, [("a", 1)], "task", "\ud800")
        assert (await found(saver)).config == head

    async def test_metadata_may_say_anything_of_parents(self, saver: Saver) -> None:
        said: list[Any] = ["text", 5, ["list"], {"": ["list"]}, {"": None}, None]
        for parents in said:
            at = await put(saver, {"a": 1}, {"a": 1}, parents=parents)
            read: Any = (await found(saver, at)).metadata
            assert read["parents"] == parents

    async def test_late_writes_do_not_bring_a_deleted_thread_back(self, saver: Saver) -> None:
        head = await put(saver, {"m": conversation(9)}, {"m": 1})
        await saver.adelete_thread("t1")
        with pytest.raises(NotFoundError):
            await saver.aput_writes(head, [("m", "late")], "task")
        with pytest.raises(NotFoundError):
            await put(saver, {"m": conversation(10)}, {"m": 2}, head)
        parent = head["configurable"]["checkpoint_id"]
        with pytest.raises(NotFoundError):
            await saver.aput(
                config(namespace="child"), checkpoint({}, {}), {"parents": {"": parent}}, {}
            )
        assert [one async for one in saver.alist(None)] == []

    async def test_a_deleted_thread_begins_anew(self, saver: Saver) -> None:
        await put(saver, {"m": conversation(9)}, {"m": 1})
        await saver.adelete_thread("t1")
        made = checkpoint({"m": conversation(3)}, {"m": 1})
        await saver.aput_writes(config(checkpoint_id=made["id"]), [("m", "early")], "task")
        head = await saver.aput(config(), made, {"source": "input", "step": -1}, {"m": 1})
        await put(saver, {"m": conversation(4)}, {"m": 2}, head)
        assert (await found(saver, head)).pending_writes == [("task", "m", "early")]
        assert (await values_of(saver))["m"] == conversation(4)

    async def test_a_deleted_thread_begins_anew_whatever_its_ids(self, saver: Saver) -> None:
        for _ in range(2):
            at = config()
            for number in range(3):
                made = checkpoint({"m": conversation(9 + number)}, {"m": number}, id=f"id-{number}")
                at = await saver.aput(at, made, {"source": "loop", "step": number}, {"m": number})
                await saver.aput_writes(at, [("m", "x")], "task")
            assert len([one async for one in saver.alist(config())]) == 3
            await saver.adelete_thread("t1")
        with pytest.raises(NotFoundError):
            await saver.aput_writes(at, [("m", "late")], "task")

    async def test_a_large_value_comes_back(self, saver: Saver) -> None:
        large = "".join(chr(33 + (number * number) % 9000) for number in range(1_500_000))
        at = await put(saver, {"m": [HumanMessage(large)], "s": large}, {"m": 1, "s": 1})
        await saver.aput_writes(at, [("s", large)], "task")
        read = await found(saver, at)
        assert read.checkpoint["channel_values"] == {"m": [HumanMessage(large)], "s": large}
        assert read.pending_writes == [("task", "s", large)]

    async def test_thread_ids_are_text(self, saver: Saver) -> None:
        await saver.aput(config(5), checkpoint({"v": 1}, {"v": 1}), {}, {"v": 1})
        assert (await found(saver, config("5"))).config["configurable"]["thread_id"] == "5"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"configurable": {}},
            {"configurable": {"thread_id": "a\x00b", "checkpoint_ns": ""}},
            {"configurable": {"thread_id": "a", "checkpoint_ns": {"$ne": 1}}},
        ],
    )
    async def test_a_config_that_names_no_thread_is_refused(self, saver: Saver, wrong: Any) -> None:
        with pytest.raises(InvalidRequestError):
            await saver.aget_tuple(wrong)
        with pytest.raises(InvalidRequestError):
            await saver.aput(wrong, checkpoint({}, {}), {}, {})
