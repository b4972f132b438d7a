"""``threadkeep dev`` as a user meets it: a process, LangGraph's client, signals, saved files."""

import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.dev import dev_server, eventually, ok, project

ECHO = """
from langgraph.graph import START, MessagesState, StateGraph

def answer(state: MessagesState):
    return {"messages": [("ai", "ANSWER: " + state["messages"][-1].text)]}

builder = StateGraph(MessagesState)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
graph = builder.compile()
"""
# Thinks, then waits for a file beside it before it answers.
PATIENT = """
import time
from pathlib import Path
from langgraph.graph import START, MessagesState, StateGraph

GO = Path(__file__).with_name("go")

def think(state: MessagesState):
    return {"messages": [("ai", "thinking")]}

def answer(state: MessagesState):
    while not GO.exists():
        time.sleep(0.02)
    return {"messages": [("ai", "answered " + str(len(state["messages"])))]}

builder = StateGraph(MessagesState)
builder.add_node("think", think)
builder.add_node("answer", answer)
builder.add_edge(START, "think")
builder.add_edge("think", "answer")
graph = builder.compile()
"""
SLOW_TO_LOAD = (
    """
import time
from pathlib import Path
while not Path(__file__).with_name("loaded").exists():
    time.sleep(0.02)
"""
    + ECHO
)
BROKEN = "import no_such_module_at_all\n"


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def texts(state: Any) -> list[str]:
    return [message["content"] for message in state["messages"]]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    command = [sys.executable, "-m", "threadkeep.cli.main", "new", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_the_example_talks_remembers_and_asks(example: Path) -> None:
    with dev_server(example) as server:
        client = server.client
        assistants = client.assistants.search()
        assert [assistant["graph_id"] for assistant in assistants] == ["chat"]
        monday = client.threads.create()["thread_id"]
        client.runs.wait(monday, "chat", input=said("remember that I like tea"))

        tuesday = client.threads.create()["thread_id"]
        known = client.runs.wait(tuesday, "chat", input=said("what do you know about me?"))
        assert texts(known)[-1] == "I know that I like tea."
        items = client.store.search_items(("facts", "you"))["items"]
        assert [item["value"] for item in items] == [{"fact": "I like tea"}]

        asked = client.runs.wait(tuesday, "chat", input=said("send Ada: see you at noon"))
        assert asked["__interrupt__"][0]["value"]["to"] == "Ada"  # type: ignore[call-overload]
        assert client.threads.get(tuesday)["status"] == "interrupted"
        done = client.runs.wait(tuesday, "chat", command={"resume": {"approved": True}})
        assert texts(done)[-1] == "Sent to Ada: see you at noon"

        words = [
            part.data[0]["content"]
            for part in client.runs.stream(
                tuesday, "chat", input=said("hello"), stream_mode="messages-tuple"
            )
            if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk"
        ]
        assert "".join(words).startswith("You said: hello (message 3 of this thread).")
        assert len(words) > 5
        assert len(client.threads.get_history(tuesday, limit=100)) > 10
        assert server.interrupt() == 0
    assert "Traceback" not in server.log


def test_ok_answers_before_the_graphs_are_loaded_and_runs_wait_for_them(tmp_path: Path) -> None:
    folder = project(tmp_path / "slow", slow=SLOW_TO_LOAD)
    with dev_server(folder) as server:
        assert ok(server.url)
        answers: list[Any] = []
        waiting = threading.Thread(
            target=lambda: answers.append(
                server.client.runs.wait(None, "slow", input=said("hello"))
            )
        )
        waiting.start()
        assert ok(server.url)
        assert server.client.threads.search() == []
        assert answers == []
        (folder / "loaded").touch()
        waiting.join(30)
        assert texts(answers[0]) == ["hello", "ANSWER: hello"]
        assert server.event("graph")["error"] is None


def test_a_graph_that_fails_is_told_while_the_others_serve(tmp_path: Path) -> None:
    folder = project(tmp_path / "mixed", broken=BROKEN, echo=ECHO)
    with dev_server(folder) as server:
        assert "no_such_module_at_all" in server.event("graph", graph_id="broken")["error"]
        client = server.client
        assert texts(client.runs.wait(None, "echo", input=said("a"))) == ["a", "ANSWER: a"]
        with pytest.raises(Exception, match="no_such_module_at_all"):
            client.runs.wait(None, "broken", input=said("a"))


def test_killed_in_the_middle_of_a_run_the_thread_goes_on_after_a_restart(tmp_path: Path) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with dev_server(folder, "--no-reload") as server:
        client = server.client
        thread_id = client.threads.create()["thread_id"]
        client.runs.create(thread_id, "patient", input=said("one"))
        eventually(lambda: client.threads.get_state(thread_id)["next"], ["answer"])
        assert client.threads.get(thread_id)["status"] == "busy"
        server.kill()
    with dev_server(folder, "--no-reload") as server:
        client = server.client
        # Its owner was a process of this host, so nobody waits for the lease of 30 seconds.
        eventually(lambda: client.threads.get(thread_id)["status"], "error", within_seconds=10)
        (run,) = client.runs.list(thread_id)
        assert run["status"] == "error"
        assert texts(client.threads.get_state(thread_id)["values"]) == ["one", "thinking"]
        history = client.threads.get_history(thread_id)
        assert [len(state["values"].get("messages", [])) for state in history] == [2, 1, 0]  # type: ignore[union-attr]
        (folder / "go").touch()
        done = client.runs.wait(thread_id, "patient", input=said("two"))
        assert texts(done) == ["one", "thinking", "two", "thinking", "answered 4"]
        assert client.threads.get(thread_id)["status"] == "idle"


def test_a_second_process_beside_the_first_leaves_its_runs_alone(tmp_path: Path) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with dev_server(folder) as first, dev_server(folder, THREADKEEP_LEASE_SECONDS="1") as second:
        thread_id = first.client.threads.create()["thread_id"]
        run = first.client.runs.create(thread_id, "patient", input=said("one"))
        eventually(lambda: second.client.threads.get_state(thread_id)["next"], ["answer"])
        second.kill()
        with dev_server(folder, THREADKEEP_LEASE_SECONDS="1") as third:
            third.event("graph", error=None)
            assert third.client.threads.get(thread_id)["status"] == "busy"
            waiting = threading.Thread(
                target=lambda: third.client.runs.join(thread_id, run["run_id"])
            )
            waiting.start()
            (folder / "go").touch()
            waiting.join(20)
            assert third.client.runs.get(thread_id, run["run_id"])["status"] == "success"
            again = third.client.runs.wait(thread_id, "patient", input=said("two"))
            assert texts(again)[-1] == "answered 5"
        assert texts(first.client.threads.get_state(thread_id)["values"])[-1] == "answered 5"


def test_a_saved_file_is_taken_over_and_everything_stored_stays(tmp_path: Path) -> None:
    folder = project(tmp_path / "echo", echo=ECHO)
    with dev_server(folder, THREADKEEP_DATABASE_URL="memory://") as server:
        client = server.client
        thread_id = client.threads.create()["thread_id"]
        client.store.put_item(("n",), "k", {"v": 1})
        client.runs.wait(thread_id, "echo", input=said("a"))

        def answer() -> str:
            return texts(client.runs.wait(None, "echo", input=said("b")))[-1]

        (folder / "echo.py").write_text(ECHO.replace("ANSWER", "REPLY!"))
        eventually(answer, "REPLY!: b")
        done = client.runs.wait(thread_id, "echo", input=said("c"))
        assert texts(done) == ["a", "ANSWER: a", "c", "REPLY!: c"]
        assert client.store.get_item(("n",), "k")["value"] == {"v": 1}

        (folder / "echo.py").write_text("syntax error")
        while server.wait().get("error") is None:
            pass
        (folder / "second.py").write_text(ECHO)
        (folder / "echo.py").write_text(ECHO)
        graphs = {"graphs": {"echo": "./echo.py:graph", "second": "./second.py:graph"}}
        (folder / "langgraph.json").write_text(json.dumps(graphs))
        server.event("graph", graph_id="second")
        assert texts(client.runs.wait(None, "second", input=said("d")))[-1] == "ANSWER: d"
        assert answer() == "ANSWER: b"

        (folder / "langgraph.json").write_text("{")
        assert "not JSON" in server.event("mistake")["message"]
        assert answer() == "ANSWER: b"


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    folder = project(tmp_path / "echo", echo=ECHO)
    with dev_server(folder, "--no-reload") as server:
        port = str(httpx.URL(server.url).port)
        command = [sys.executable, "-m", "threadkeep.cli.main", "dev", "--port", port]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    told = f"threadkeep: port {port} on 127.0.0.1 is in use; stop what uses it"
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


def test_ctrl_c_waits_for_what_is_under_way(tmp_path: Path) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with dev_server(folder, "--no-reload") as server:
        client = server.client
        thread_id = client.threads.create()["thread_id"]
        client.runs.create(thread_id, "patient", input=said("one"))
        eventually(lambda: client.threads.get_state(thread_id)["next"], ["answer"])
        (folder / "go").touch()
        assert server.interrupt() == 0
    with dev_server(folder, "--no-reload") as server:
        assert texts(server.client.threads.get_state(thread_id)["values"])[-1] == "answered 2"
        assert server.client.threads.get(thread_id)["status"] == "idle"


def test_a_run_that_the_end_of_the_server_stops_answers_who_waits_for_it(tmp_path: Path) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with dev_server(folder, "--no-reload") as server, ThreadPoolExecutor() as others:
        client = server.client
        thread_id = client.threads.create()["thread_id"]
        waiting = others.submit(client.runs.wait, thread_id, "patient", input=said("one"))
        eventually(lambda: client.threads.get_state(thread_id)["next"], ["answer"])
        assert server.interrupt() == 0
        assert texts(waiting.result(5)) == ["one", "thinking"]
    with dev_server(folder, "--no-reload") as server:
        assert server.client.threads.get(thread_id)["status"] == "idle"
        assert server.client.runs.list(thread_id)[0]["status"] == "interrupted"


def test_a_second_ctrl_c_waits_for_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with dev_server(folder, "--no-reload") as server:
        client = server.client
        thread_id = client.threads.create()["thread_id"]
        client.runs.create(thread_id, "patient", input=said("one"))
        eventually(lambda: client.threads.get_state(thread_id)["next"], ["answer"])
        server.process.send_signal(signal.SIGINT)
        server.event("stopping")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(5) == 1


def test_a_database_that_cannot_be_opened_ends_it_with_one_line(tmp_path: Path) -> None:
    folder = project(tmp_path / "echo", echo=ECHO)
    (folder / "file").touch()
    with dev_server(folder, THREADKEEP_DATABASE_URL="sqlite:///file/x.db") as server:
        assert server.process.wait(60) == 1
    last = json.loads(server.log.splitlines()[-1])
    assert last["error"] in ("storage", "unavailable")
