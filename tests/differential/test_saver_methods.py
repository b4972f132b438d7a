"""Every method of savers in random order: memory beside SQLite beside PostgreSQL, the same answers.

The three are handed the same calls, with the same checkpoint ids; an error of one is an error of
all, of the same kind. What they hold is compared in the middle and in the end.
"""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base.id import uuid6

from tests.differential.test_savers import place, plain
from tests.postgres_savers import opened_saver
from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import ThreadkeepError
from threadkeep.testing.saver_steps import checkpoint

THREADS = ("a", "b", "c")
NAMESPACES = ("", "sub", "sub:1", "sub:1|deep")
RUNS = ("r1", "r2")
COUNTERS = "counters_since_delta_snapshot"

threads = st.sampled_from(THREADS)
namespaces = st.sampled_from(NAMESPACES)
places = st.integers(0, 12)  # of a checkpoint among those that were put, the newest first
scalars = st.sampled_from([None, True, 7, 2.5, "é\0", "long " * 300, b"bytes", {"k": [1]}])


def message(number: int) -> Any:
    kind = HumanMessage if number % 2 else AIMessage
    return kind(f"{number} " + "word " * (number % 40), id=f"m{number}")


Made = tuple[str, str, str]  # thread, namespace and id of a checkpoint


class ThreeSavers(RuleBasedStateMachine):
    """Does the same with all savers and compares what they answer."""

    def open_postgres(self, stack: ExitStack) -> DocumentCheckpointSaver:
        raise NotImplementedError

    @initialize()
    def open_all(self) -> None:
        self.stack = ExitStack()
        folder = self.stack.enter_context(TemporaryDirectory())
        urls = ("memory://", f"sqlite:///{folder}/s.db")
        opened = (DocumentCheckpointSaver.from_url(url) for url in urls)
        self.savers: list[DocumentCheckpointSaver] = [
            *(self.stack.enter_context(each) for each in opened),
            self.open_postgres(self.stack),
        ]
        self.made: list[Made] = []
        self.written: list[Made] = []  # of checkpoints that may have come meanwhile
        self.number = 0
        for thread_id, namespace in ("a", ""), ("a", "sub:1"), ("b", ""):
            for parent in range(3):
                options: dict[str, Any] = {"new": {"m", "d"}, "run": RUNS[parent % 2]}
                self.put(thread_id, namespace, 0, 9, None, **options, delta=False, waiting=False)

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.compare()
            self.stack.close()

    def all_do(self, call: Callable[[DocumentCheckpointSaver], Any]) -> Any:
        """Call all of them; their answers, or the kinds of their errors, are the same."""
        answers = [self.answer(call, saver) for saver in self.savers]
        assert answers[0] == answers[1] == answers[2]
        return answers[0]

    def answer(
        self, call: Callable[[DocumentCheckpointSaver], Any], saver: DocumentCheckpointSaver
    ) -> Any:
        try:
            return call(saver)
        except ThreadkeepError as error:
            return type(error)

    def config(self, made: Made | None, thread_id: str = "", namespace: str = "") -> RunnableConfig:
        """Name a checkpoint, or the newest of a namespace."""
        if made is None:
            return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}
        names = dict(zip(("thread_id", "checkpoint_ns", "checkpoint_id"), made, strict=True))
        return {"configurable": names}

    def at(self, number: int) -> Made | None:
        """Pick one of the checkpoints that were put, the newest ones more often."""
        return self.made[-1 - number % len(self.made)] if self.made else None

    def values(self, count: int, scalar: Any) -> dict[str, Any]:
        self.number += 1
        return {
            "m": [message(number) for number in range(count)],
            "x": scalar,
            "d": {"rows": [message(count)], "n": count},
        }

    @rule(
        thread_id=threads,
        namespace=namespaces,
        parent=places,
        count=st.integers(0, 30),
        scalar=scalars,
        new=st.sets(st.sampled_from(["m", "x", "d"])),
        run=st.sampled_from(RUNS),
        delta=st.booleans(),
        waiting=st.booleans(),
    )
    def put(
        self,
        thread_id: str,
        namespace: str,
        parent: int,
        count: int,
        scalar: Any,
        new: set[str],
        run: str,
        delta: bool,
        waiting: bool,
    ) -> None:
        before = self.at(parent)
        after = before if before and before[:2] == (thread_id, namespace) else None
        values = self.values(count, scalar)
        versions = {name: self.number if name in new else 1 for name in values}
        said: dict[str, Any] = {"source": "loop", "step": count, "run_id": run, "parents": {}}
        if before and after is None and before[0] == thread_id:
            said["parents"] = {before[1]: before[2]}
        if delta:
            versions["log"] = self.number
            said[COUNTERS] = {"log": (1, 1)}
        ident = str(uuid6())
        if waiting and self.written:
            thread_id, namespace, ident = self.written.pop()
            after = None
        config = self.config(after, thread_id, namespace)

        def put(saver: DocumentCheckpointSaver) -> Any:
            done = checkpoint(self.copied(values), versions, id=ident)
            return place(saver.put(config, done, dict(said), dict(versions)))  # type: ignore[arg-type]

        if isinstance(self.all_do(put), list):
            self.made.append((thread_id, namespace, ident))

    def copied(self, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "m": [one.model_copy() for one in values["m"]]}

    @rule(at=places, count=st.integers(0, 9))
    def put_again(self, at: int, count: int) -> None:
        made = self.at(at)
        if made is None:
            return
        values = self.values(count, None)
        versions: dict[str, Any] = dict.fromkeys(values, self.number)

        def put(saver: DocumentCheckpointSaver) -> Any:
            done = checkpoint(self.copied(values), versions, id=made[2])
            said: Any = {"source": "fork", "step": count, "parents": {}}
            return place(saver.put(self.config(None, *made[:2]), done, said, dict(versions)))

        self.all_do(put)

    @rule(
        thread_id=threads,
        namespace=namespaces,
        at=places,
        early=st.booleans(),
        task=st.sampled_from(["t1", "t2"]),
        channels=st.lists(st.sampled_from(["m", "log", "__error__", "__interrupt__"]), max_size=4),
        count=st.integers(0, 20),
    )
    def put_writes(
        self,
        thread_id: str,
        namespace: str,
        at: int,
        early: bool,
        task: str,
        channels: list[str],
        count: int,
    ) -> None:
        made = (thread_id, namespace, str(uuid6())) if early else self.at(at)
        if made is None:
            return
        if early:
            self.written.append(made)
        writes = [(name, [message(count + each)]) for each, name in enumerate(channels)]
        self.all_do(lambda saver: saver.put_writes(self.config(made), list(writes), task, "p"))

    @rule(thread_id=threads, namespace=namespaces, at=places, newest=st.booleans())
    def get_tuple(self, thread_id: str, namespace: str, at: int, newest: bool) -> None:
        config = self.config(None if newest else self.at(at), thread_id, namespace)
        self.all_do(lambda saver: told(saver.get_tuple(config)))

    @rule(
        thread_id=st.none() | threads,
        namespace=st.none() | namespaces,
        before=st.none() | places,
        limit=st.none() | st.integers(0, 4),
        asked=st.sampled_from([None, {"source": "loop"}, {"run_id": "r1"}, {"step": 3}]),
    )
    def list_some(
        self,
        thread_id: str | None,
        namespace: str | None,
        before: int | None,
        limit: int | None,
        asked: dict[str, Any] | None,
    ) -> None:
        config = None
        if thread_id is not None:
            config = self.config(None, thread_id, namespace or "")
            if namespace is None:
                del config["configurable"]["checkpoint_ns"]
        made = None if before is None else self.at(before)
        limits: dict[str, Any] = {"filter": asked, "limit": limit}
        limits["before"] = None if made is None else self.config(made)
        self.all_do(lambda saver: [told(one) for one in saver.list(config, **limits)])

    @rule(at=places)
    def delta_history(self, at: int) -> None:
        made = self.at(at)
        if made is not None:
            config, channels = self.config(made), ["log", "m", "none"]
            self.all_do(
                lambda saver: plain(
                    saver.get_delta_channel_history(config=config, channels=channels)
                )
            )

    @rule(source=threads, other=threads)
    def copy_thread(self, source: str, other: str) -> None:
        self.all_do(lambda saver: saver.copy_thread(source, other))
        self.made += [(other, ns, ident) for thread, ns, ident in self.made if thread == source]

    @rule(thread_id=threads)
    def delete_thread(self, thread_id: str) -> None:
        self.all_do(lambda saver: saver.delete_thread(thread_id))

    @rule(run=st.sampled_from(RUNS))
    def delete_for_runs(self, run: str) -> None:
        self.all_do(lambda saver: saver.delete_for_runs([run, "unknown"]))

    @rule(
        asked=st.lists(threads, max_size=2),
        strategy=st.sampled_from(["keep_latest", "keep_latest", "keep_latest", "delete"]),
        keep_last=st.integers(1, 3),
        young=st.booleans(),
    )
    def prune(self, asked: list[str], strategy: str, keep_last: int, young: bool) -> None:
        limits: dict[str, Any] = {"strategy": strategy}
        if strategy != "delete":
            age = timedelta(days=1) if young else None
            limits |= {"keep_last": keep_last, "older_than": age}
        self.all_do(lambda saver: saver.prune(asked, **limits))

    @rule(all_of_them=st.booleans())
    def sweep(self, all_of_them: bool) -> None:
        age = timedelta(seconds=-60) if all_of_them else timedelta(days=1)
        self.all_do(lambda saver: saver.sweep(older_than=age))

    @rule(thread_id=threads, count=st.integers(0, 9), stale=st.booleans())
    def put_under_a_lease(self, thread_id: str, count: int, stale: bool) -> None:
        values, ident = self.values(count, None), str(uuid6())
        versions: dict[str, Any] = dict.fromkeys(values, self.number)

        def put(saver: DocumentCheckpointSaver) -> Any:
            other = DocumentCheckpointSaver(
                saver._documents,
                namespace=saver._scope.namespace,
                agent_id=saver._scope.agent_id,
            )
            with saver.lease(thread_id, seconds=0.001 if stale else 60):
                if stale:
                    take(other, thread_id)
                done = checkpoint(self.copied(values), versions, id=ident)
                said: Any = {"source": "loop", "step": count, "parents": {}}
                return place(saver.put(self.config(None, thread_id), done, said, dict(versions)))

        if isinstance(self.all_do(put), list):
            self.made.append((thread_id, "", ident))

    @rule()
    def compare(self) -> None:
        """Compare all there is, with savers that know nothing yet and on the other face."""
        everything = self.all_do(lambda saver: [told(one) for one in saver.list(None)])
        assert isinstance(everything, list)

        def anew(saver: DocumentCheckpointSaver) -> Any:
            other = DocumentCheckpointSaver(
                saver._documents,
                namespace=saver._scope.namespace,
                agent_id=saver._scope.agent_id,
            )
            return [told(one) for one in other.list(None)]

        assert self.all_do(anew) == everything

    @rule(at=places, count=st.integers(0, 9))
    def go_on_awaiting(self, at: int, count: int) -> None:
        """Read a checkpoint and put one after it on the awaiting face, on a loop of its own."""
        made = self.at(at)
        if made is None:
            return
        values, ident = self.values(count, None), str(uuid6())
        versions: dict[str, Any] = dict.fromkeys(values, self.number)

        async def go_on(saver: DocumentCheckpointSaver) -> Any:
            read = await saver.aget_tuple(self.config(made))
            done = checkpoint(self.copied(values), versions, id=ident)
            said: Any = {"source": "loop", "step": count, "parents": {}}
            put = place(await saver.aput(self.config(made), done, said, dict(versions)))
            await saver.aput_writes(self.config(made), [("m", values["m"])], "awaited")
            return told(read), put

        if isinstance(self.all_do(lambda saver: asyncio.run(go_on(saver))), tuple):
            self.made.append((*made[:2], ident))


def take(saver: DocumentCheckpointSaver, thread_id: str) -> None:
    """Take a lease as soon as the one before is over, and give it back."""
    while True:
        try:
            with saver.lease(thread_id, seconds=60):
                return
        except ThreadkeepError:
            continue


def told(found: Any) -> Any:
    """Take a tuple apart so that it compares."""
    if found is None:
        return None
    named = place(found.config), place(found.parent_config)
    return named, plain(found.checkpoint), plain(found.metadata), plain(found.pending_writes)


@pytest.fixture(scope="module")
def machine(postgres_module_url: str) -> type[ThreeSavers]:
    schemas = itertools.count()

    class OnThree(ThreeSavers):
        def open_postgres(self, stack: ExitStack) -> DocumentCheckpointSaver:
            url = f"{postgres_module_url}?schema=m{next(schemas)}"
            return stack.enter_context(opened_saver(url))

    return OnThree


def compare(machine: type[ThreeSavers], examples: int, *, seeded: bool) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            derandomize=seeded,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.timeout(300)
def test_three_drivers_answer_every_method_alike(machine: type[ThreeSavers]) -> None:
    compare(machine, 20, seeded=True)


@pytest.mark.soak
def test_three_drivers_answer_every_method_alike_for_minutes(machine: type[ThreeSavers]) -> None:
    compare(machine, 400, seeded=False)
