"""An agent that remembers: a profile that is kept up to date, and facts that are looked up.

Two patterns of long-term memory. A *profile* is one item, put again as it changes. A *collection*
is one item for each fact, searched by what the user says now. Both outlive the thread. The model
here is a few rules, so that the example runs without a key; put yours in its place.
"""

import re
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store
from langgraph.graph import END, START, MessagesState, StateGraph

FOUND = 3  # facts that an answer may rest on
LIKE = 0.3  # cosine above which a fact has to do with what was said


def _user(config: RunnableConfig) -> str:
    """Return whose memory it is: the authenticated caller's, or the one that is named."""
    configurable = config.get("configurable", {})
    named = configurable.get("langgraph_auth_user_id") or configurable.get("user_id")
    return str(named or "anybody").replace(".", "_")


async def learn(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    """Keep what the user says: a name in the profile, anything else that is told as a fact."""
    said, user, store = str(state["messages"][-1].content), _user(config), get_store()
    name = re.search(r"\bmy name is (\w+)", said, re.IGNORECASE)
    if name:
        profile = await store.aget(("profiles", user), "profile")
        known = profile.value if profile else {}
        await store.aput(("profiles", user), "profile", {**known, "name": name[1]}, index=False)
    elif not said.rstrip().endswith("?"):
        await store.aput(("facts", user), uuid4().hex, {"text": said})
    return {}


async def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    """Answer from the profile and from the facts that are closest to what was said."""
    said, user, store = str(state["messages"][-1].content), _user(config), get_store()
    profile = await store.aget(("profiles", user), "profile")
    greeting = f"{profile.value['name']}, " if profile else ""
    if not said.rstrip().endswith("?"):
        return {"messages": [("assistant", f"{greeting}noted.")]}
    found = await store.asearch(("facts", user), query=said, limit=FOUND)
    facts = [item.value["text"] for item in found if (item.score or 0) >= LIKE]
    told = "; ".join(facts) or "nothing about that yet"
    return {"messages": [("assistant", f"{greeting}you told me: {told}")]}


graph = (
    StateGraph(MessagesState)
    .add_node(learn)
    .add_node(answer)
    .add_edge(START, "learn")
    .add_edge("learn", "answer")
    .add_edge("answer", END)
    .compile()
)
