"""The suite that holds an event bus to its port.

Subclass ``EventBusSuite`` and override ``make_bus``. Its tests are coroutines marked ``anyio``.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import pytest

from threadkeep.model.events import Event
from threadkeep.ports.bus import EventBus, Subscription

DEADLINE_SECONDS = 10.0


class MakeBus(Protocol):
    """Makes an empty bus with these bounds."""

    def __call__(self, *, events_per_run: int = 100, finished_runs: int = 10) -> EventBus: ...


async def burst(listening: Subscription) -> list[Event]:
    """Return the next burst, soon."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        return await anext(listening)


async def rest(listening: Subscription) -> list[Event]:
    """Return every event up to the end, which must come soon."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        return [event async for events in listening for event in events]


async def first(listening: Subscription, count: int) -> list[Event]:
    """Return the next events, at least so many of them."""
    found: list[Event] = []
    while len(found) < count:
        found += await burst(listening)
    return found


def publish_numbers(bus: EventBus, run_id: str, count: int) -> None:
    """Publish ``values`` events whose data is their number, from 1."""
    for number in range(1, count + 1):
        bus.publish(run_id, "values", str(number).encode())


def numbers(events: list[Event]) -> list[int]:
    """Return where each event stands in its run."""
    return [event.seq for event in events]


@pytest.mark.anyio
class EventBusSuite:
    """What every event bus does."""

    @pytest.fixture
    def make_bus(self) -> MakeBus:
        raise NotImplementedError

    @pytest.fixture
    def bus(self, make_bus: Callable[[], EventBus]) -> EventBus:
        return make_bus()

    async def test_a_listener_gets_events_in_order_with_their_numbers(self, bus: EventBus) -> None:
        listening = bus.subscribe("run")
        bus.publish("run", "metadata", b"{}")
        bus.publish("run", "values", b"[1]")
        bus.close("run")
        assert await rest(listening) == [
            Event(1, "metadata", b"{}"),
            Event(2, "values", b"[1]"),
        ]

    async def test_listening_starts_with_the_call_and_not_with_the_first_await(
        self, bus: EventBus
    ) -> None:
        listening = bus.subscribe("run")
        publish_numbers(bus, "run", 3)
        assert numbers(await first(listening, 3)) == [1, 2, 3]

    async def test_what_is_published_together_comes_as_one_burst(self, bus: EventBus) -> None:
        listening = bus.subscribe("run")
        waiting = asyncio.ensure_future(burst(listening))
        await asyncio.sleep(0)
        publish_numbers(bus, "run", 5)
        assert numbers(await waiting) == [1, 2, 3, 4, 5]

    async def test_every_listener_gets_every_event(self, bus: EventBus) -> None:
        one, two = bus.subscribe("run"), bus.subscribe("run")
        publish_numbers(bus, "run", 4)
        bus.close("run")
        assert numbers(await rest(one)) == [1, 2, 3, 4]
        assert numbers(await rest(two)) == [1, 2, 3, 4]

    async def test_runs_do_not_hear_each_other(self, bus: EventBus) -> None:
        listening = bus.subscribe("mine")
        publish_numbers(bus, "yours", 3)
        bus.close("mine")
        assert await rest(listening) == []

    async def test_nobody_wants_the_events_of_a_run_without_listeners(self, bus: EventBus) -> None:
        bus.open("run", keep=False)
        assert not bus.wanted("run")

    async def test_events_are_wanted_while_somebody_listens(self, bus: EventBus) -> None:
        listening = bus.subscribe("run")
        assert bus.wanted("run")
        await listening.aclose()
        assert not bus.wanted("run")

    async def test_events_that_are_kept_are_wanted_without_listeners(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        assert bus.wanted("run")
        bus.close("run")
        assert not bus.wanted("run")

    async def test_events_that_are_not_kept_are_gone_for_who_comes_later(
        self, bus: EventBus
    ) -> None:
        bus.open("run", keep=False)
        present = bus.subscribe("run")
        publish_numbers(bus, "run", 2)
        await first(present, 2)
        late = bus.subscribe("run", after=0)
        bus.publish("run", "values", b"3")
        assert numbers(await first(late, 1)) == [3]

    async def test_kept_events_are_replayed_from_the_beginning(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 3)
        assert numbers(await first(bus.subscribe("run", after=0), 3)) == [1, 2, 3]

    async def test_kept_events_are_replayed_behind_a_number(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 5)
        assert numbers(await first(bus.subscribe("run", after=3), 2)) == [4, 5]

    async def test_without_a_number_only_new_events_come(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 5)
        listening = bus.subscribe("run")
        bus.publish("run", "values", b"6")
        assert numbers(await first(listening, 1)) == [6]

    async def test_a_number_from_the_future_means_new_events(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 2)
        listening = bus.subscribe("run", after=1_000)
        bus.publish("run", "values", b"3")
        assert numbers(await first(listening, 1)) == [3]

    async def test_the_kept_events_of_a_closed_run_are_replayed_and_end(
        self, bus: EventBus
    ) -> None:
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 3)
        bus.close("run")
        assert numbers(await rest(bus.subscribe("run", after=1))) == [2, 3]

    async def test_a_closed_run_whose_events_were_not_kept_ends_at_once(
        self, bus: EventBus
    ) -> None:
        bus.open("run", keep=False)
        bus.close("run")
        assert await rest(bus.subscribe("run", after=0)) == []

    async def test_a_run_closed_before_anybody_heard_of_it_ends_at_once(
        self, bus: EventBus
    ) -> None:
        bus.close("run")
        assert await rest(bus.subscribe("run", after=0)) == []

    async def test_closing_ends_a_listener_that_waits(self, bus: EventBus) -> None:
        waiting = asyncio.ensure_future(rest(bus.subscribe("run")))
        await asyncio.sleep(0)
        bus.close("run")
        assert await waiting == []

    async def test_closing_twice_is_closing(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 1)
        bus.close("run")
        bus.close("run")
        assert numbers(await rest(bus.subscribe("run", after=0))) == [1]

    async def test_events_after_the_end_are_dropped(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        bus.close("run")
        bus.publish("run", "values", b"1")
        assert await rest(bus.subscribe("run", after=0)) == []

    async def test_a_forgotten_run_has_no_events(self, bus: EventBus) -> None:
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 3)
        bus.forget("run")
        assert await rest(bus.subscribe("run", after=0)) == []

    async def test_forgetting_ends_a_listener_that_waits(self, bus: EventBus) -> None:
        waiting = asyncio.ensure_future(rest(bus.subscribe("run")))
        await asyncio.sleep(0)
        bus.forget("run")
        assert await waiting == []

    async def test_a_listener_that_closes_while_it_waits_is_ended(self, bus: EventBus) -> None:
        listening = bus.subscribe("run")
        waiting = asyncio.ensure_future(rest(listening))
        await asyncio.sleep(0)
        await listening.aclose()
        assert await waiting == []

    async def test_the_newest_events_are_kept_up_to_the_bound(self, make_bus: MakeBus) -> None:
        bus = make_bus(events_per_run=10)
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 25)
        bus.close("run")
        assert numbers(await rest(bus.subscribe("run", after=0))) == list(range(16, 26))

    async def test_a_listener_that_is_too_slow_is_ended(self, make_bus: MakeBus) -> None:
        bus = make_bus(events_per_run=10)
        slow = bus.subscribe("run")
        bus.publish("run", "values", b"1")
        assert numbers(await burst(slow)) == [1]
        publish_numbers(bus, "run", 20)
        assert await rest(slow) == []

    async def test_a_listener_that_was_too_slow_may_come_back(self, make_bus: MakeBus) -> None:
        bus = make_bus(events_per_run=10)
        bus.open("run", keep=True)
        publish_numbers(bus, "run", 25)
        bus.close("run")
        assert numbers(await rest(bus.subscribe("run", after=5)))[0] == 16

    async def test_only_the_last_closed_runs_keep_their_events(self, make_bus: MakeBus) -> None:
        bus = make_bus(finished_runs=2)
        for run_id in ("one", "two", "three"):
            bus.open(run_id, keep=True)
            publish_numbers(bus, run_id, 1)
            bus.close(run_id)
        kept = {
            run_id: numbers(await rest(bus.subscribe(run_id, after=0)))
            for run_id in ("one", "two", "three")
        }
        assert kept == {"one": [], "two": [1], "three": [1]}
