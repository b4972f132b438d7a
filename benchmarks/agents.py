"""Agents that others wrote, with a scripted model: a supervisor, a swarm and one with a tool.

Each turn is a question, a hand-over where there are two, a tool call and its result, an answer.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import create_react_agent
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from benchmarks.chat import prose

QUESTION_BYTES = 300
RESULT_BYTES = 1000
ANSWER_BYTES = 500

Build = Callable[[BaseCheckpointSaver[Any]], Any]


class Scripted(BaseChatModel):
    """Says the lines of its script in turn, and from the first again."""

    script: Sequence[str]
    said: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Take any tools: the script says which are called."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        line = self.script[self.said % len(self.script)]
        self.said += 1
        message = AIMessage(prose(f"answer {line} {self.said}", ANSWER_BYTES))
        if line != "answer":
            arguments = {"query": f"{self.said}"} if line == "search" else {}
            call = ToolCall(name=line, args=arguments, id=f"call-{self.said}")
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def search(query: str) -> str:
    """Find something."""
    return prose(query, RESULT_BYTES)


def _agent(name: str, *script: str, tools: Sequence[Any] = ()) -> Any:
    with catch_warnings():
        simplefilter("ignore")
        return create_react_agent(Scripted(script=script), [search, *tools], name=name)


def agent(saver: BaseCheckpointSaver[Any]) -> Any:
    """Compile an agent with a tool; its own graph, no subgraph."""
    with catch_warnings():
        simplefilter("ignore")
        model = Scripted(script=("search", "answer"))
        return create_react_agent(model, [search], checkpointer=saver)


def supervisor(saver: BaseCheckpointSaver[Any]) -> Any:
    """Compile a supervisor of one agent, which is given the conversation each time."""
    model = Scripted(script=("transfer_to_agent", "answer"))
    with catch_warnings():
        simplefilter("ignore")
        made = create_supervisor([_agent("agent", "search", "answer")], model=model)
    return made.compile(checkpointer=saver)


def swarm(saver: BaseCheckpointSaver[Any]) -> Any:
    """Compile a swarm of two agents; the first hands each question to the second."""
    alice = _agent("alice", "transfer_to_bob", tools=[create_handoff_tool(agent_name="bob")])
    bob = _agent("bob", "search", "answer", tools=[create_handoff_tool(agent_name="alice")])
    return create_swarm([alice, bob], default_active_agent="alice").compile(checkpointer=saver)


BUILDS: dict[str, Build] = {"agent": agent, "supervisor": supervisor, "swarm": swarm}


def turns(count: int) -> Iterator[dict[str, Any]]:
    """Give the input of each turn; the swarm begins each with the same agent."""
    for turn in range(count):
        question = HumanMessage(prose(f"question {turn}", QUESTION_BYTES), id=f"q{turn}")
        yield {"messages": [question], "active_agent": "alice"}
