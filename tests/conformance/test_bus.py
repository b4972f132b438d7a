import asyncio

import pytest

from threadkeep.drivers.memory.bus import MemoryEventBus
from threadkeep.ports.bus import EventBus
from threadkeep.testing.bus import EventBusSuite, MakeBus, publish_numbers, rest


class TestMemoryEventBus(EventBusSuite):
    @pytest.fixture
    def make_bus(self) -> MakeBus:
        def make(*, events_per_run: int = 100, finished_runs: int = 10) -> EventBus:
            return MemoryEventBus(events_per_run=events_per_run, finished_runs=finished_runs)

        return make

    async def test_huge_events_are_bounded_by_their_bytes(self) -> None:
        bus = MemoryEventBus(bytes_per_run=1_000)
        bus.open("run", keep=True)
        for _ in range(10):
            bus.publish("run", "values", b"x" * 300)
        bus.close("run")
        assert len(await rest(bus.subscribe("run", after=0))) == 3

    async def test_a_closed_run_keeps_its_events_for_a_time(self) -> None:
        bus = MemoryEventBus(kept_seconds=0.01)
        for run_id in ("one", "two"):
            bus.open(run_id, keep=True)
            publish_numbers(bus, run_id, 3)
            bus.close(run_id)
        held = bus._finished["one"]
        async with asyncio.timeout(10):
            while True:
                await asyncio.sleep(0)
                if not bus._finished:
                    break
        assert await rest(bus.subscribe("one", after=0)) == []
        assert len(held.events) == 0

    async def test_a_listener_that_was_dropped_without_a_word_is_not_waited_for(self) -> None:
        bus = MemoryEventBus()
        listening = bus.subscribe("run")
        assert bus.wanted("run")
        del listening
        assert not bus.wanted("run")
        publish_numbers(bus, "run", 3)
        assert len(bus._live["run"].events) == 0
