"""A saver of a graph restores the classes that its schemas name, those of functions too."""

import dataclasses
import enum
from operator import add
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import pytest
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import ValueNotStorableError
from threadkeep.savers.graph_classes import classes_of
from threadkeep.savers.typed.placeholders import Unrestored
from threadkeep.testing.saver_steps import config


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/s.db"


class Made(NamedTuple):
    """A graph, and classes that exist in one call of a function only."""

    builder: Any
    price: Any
    classes: dict[str, type[Any]]


def make() -> Made:
    class Currency(enum.Enum):
        EUR = "EUR"

    @dataclasses.dataclass
    class Price:
        amount: int
        currency: Currency

    class Line(BaseModel):
        prices: dict[str, list[Price | None]]

    class Context(BaseModel):
        user: str

    class Name(str):
        pass

    class State(TypedDict):
        lines: Annotated[list[Line], add]
        name: NotRequired[Name]
        kind: Literal["a"]

    def node(state: State) -> dict[str, Any]:
        price = Price(1, Currency.EUR)
        return {"lines": [Line(prices={"a": [price, None]})], "name": Name("x")}

    builder = StateGraph(State, context_schema=Context)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    kinds: list[type[Any]] = [Currency, Price, Line, Context, Name]
    classes = {kind.__name__: kind for kind in kinds}
    return Made(builder, Price(1, Currency.EUR), classes)


def test_the_classes_of_all_schemas_are_found() -> None:
    made = make()
    wanted = set(made.classes.values())
    assert classes_of(made.builder) == wanted
    assert classes_of(made.builder.compile()) >= wanted
    outer = StateGraph(dict)  # type: ignore[type-var]
    outer.add_node("inner", made.builder.compile())
    outer.add_edge(START, "inner")
    assert classes_of(outer) >= wanted <= classes_of(outer.compile())


def test_the_classes_of_an_entrypoint_are_found() -> None:
    price = make().classes["Price"]

    def work(value: Any) -> Any:
        return value

    work.__annotations__ = {"value": price, "return": price}
    assert price in classes_of(entrypoint()(work))


def test_a_run_keeps_them_and_another_process_shows_what_it_lacks(url: str) -> None:
    made = make()
    with DocumentCheckpointSaver.from_url(url) as saver:
        with pytest.raises(
            ValueNotStorableError, match=r"channel 'lines' of thread 't1'.*for_graph"
        ):
            made.builder.compile(checkpointer=saver).invoke({}, config())
        view = saver.for_graph(made.builder)
        assert type(view) is DocumentCheckpointSaver
        made.builder.compile(checkpointer=view).invoke({}, config("t2"))
        state = made.builder.compile(checkpointer=view).get_state(config("t2")).values
        assert type(state["lines"][0]) is made.classes["Line"]
        assert state["lines"][0].prices == {"a": [made.price, None]}
        assert type(state["name"]) is made.classes["Name"]
    again = make()
    with DocumentCheckpointSaver.from_url(url) as saver:
        graph = again.builder.compile(checkpointer=saver.for_graph(again.builder))
        state = graph.get_state(config("t2")).values
        assert type(state["lines"][0]) is again.classes["Line"]
        found = saver.get_tuple(config("t2"))
        assert found is not None
        lost = found.checkpoint["channel_values"]["lines"][0]
        assert isinstance(lost, Unrestored)
        assert "EUR" in repr(lost)
