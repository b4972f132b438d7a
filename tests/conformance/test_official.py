"""LangGraph's own conformance package: every case, through both faces."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from tests.postgres_savers import aopened_saver
from threadkeep import DocumentCheckpointSaver
from threadkeep.testing.blocking_face import BlockingFace

CASES = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "copy_thread": 8,
    "delete_for_runs": 7,
    "prune": 8,
}

Saver = BaseCheckpointSaver[Any]


FACES = pytest.mark.parametrize(
    "face", [lambda saver: saver, BlockingFace], ids=["async", "blocking"]
)


@FACES
@pytest.mark.parametrize("driver", ["memory", "sqlite"])
def test_every_case_of_langgraphs_package_passes(
    driver: str, face: Callable[[Saver], Saver], tmp_path: Path
) -> None:
    made = 0

    def opened() -> AbstractAsyncContextManager[DocumentCheckpointSaver]:
        nonlocal made
        made += 1
        url = "memory://" if driver == "memory" else f"sqlite:///{tmp_path}/{made}.db"
        return DocumentCheckpointSaver.from_url(url)

    check(opened, face)


@FACES
def test_every_case_passes_on_postgresql(
    face: Callable[[Saver], Saver], postgres_module_url: str
) -> None:
    check(lambda: aopened_saver(postgres_module_url), face)


def check(
    opened: Callable[[], AbstractAsyncContextManager[DocumentCheckpointSaver]],
    face: Callable[[Saver], Saver],
) -> None:
    @checkpointer_test(name="threadkeep")
    async def savers() -> AsyncGenerator[Saver, None]:
        async with opened() as saver:
            yield face(saver)

    results = asyncio.run(validate(savers)).results
    assert {name: result.failures for name, result in results.items() if result.failures} == {}
    assert {name: result.tests_passed for name, result in results.items()} == CASES
