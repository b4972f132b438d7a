"""``threadkeep up`` on PostgreSQL: one process, several, and one that is killed."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.acceptance.dev import DevServer, clean_environment, dev_server, eventually, project
from tests.acceptance.test_dev_server import ECHO, PATIENT, said, texts


def up(folder: Path, url: str, *words: str) -> AbstractContextManager[DevServer]:
    return dev_server(folder, *words, command="up", THREADKEEP_DATABASE_URL=url)


def begun(server: DevServer) -> str:
    """Start a run that waits for the file ``go``, and return its thread."""
    thread_id: str = server.client.threads.create()["thread_id"]
    server.client.runs.create(thread_id, "patient", input=said("one"))
    state = server.client.threads.get_state
    eventually(lambda: state(thread_id)["next"], ["answer"])
    return thread_id


def test_a_project_is_served_and_everything_stays(tmp_path: Path, postgres_url: str) -> None:
    folder = project(tmp_path / "echo", echo=ECHO)
    with up(folder, postgres_url) as server:
        thread_id = server.client.threads.create(metadata={"user": "ada"})["thread_id"]
        done = server.client.runs.wait(thread_id, "echo", input=said("a"))
        assert texts(done) == ["a", "ANSWER: a"]
        server.client.store.put_item(("n",), "k", {"v": 1})
        assert server.interrupt() == 0
    with up(folder, postgres_url) as server:
        (thread,) = server.client.threads.search(metadata={"user": "ada"})
        assert thread["thread_id"] == thread_id
        assert server.client.store.get_item(("n",), "k")["value"] == {"v": 1}
        again = server.client.runs.wait(thread_id, "echo", input=said("b"))
        assert texts(again) == ["a", "ANSWER: a", "b", "ANSWER: b"]
    assert "Traceback" not in server.log


def test_killed_in_the_middle_of_a_run_another_process_takes_its_thread_over(
    tmp_path: Path, postgres_url: str
) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with up(folder, postgres_url) as first, up(folder, postgres_url) as second:
        thread_id = begun(first)
        client = second.client
        assert client.threads.get(thread_id)["status"] == "busy"
        first.kill()
        eventually(lambda: client.threads.get(thread_id)["status"], "error", within_seconds=20)
        (run,) = client.runs.list(thread_id)
        assert run["status"] == "error"
        assert texts(client.threads.get_state(thread_id)["values"]) == ["one", "thinking"]
        (folder / "go").touch()
        done = client.runs.wait(thread_id, "patient", input=said("two"))
        assert texts(done) == ["one", "thinking", "two", "thinking", "answered 4"]
        assert client.threads.get(thread_id)["status"] == "idle"


def test_a_run_that_waits_when_its_process_is_killed_is_executed_by_another(
    tmp_path: Path, postgres_url: str
) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with up(folder, postgres_url, "--n-jobs-per-worker", "1") as first:
        held = begun(first)
        thread_id = first.client.threads.create()["thread_id"]
        waiting = first.client.runs.create(thread_id, "patient", input=said("later"))
        assert first.client.runs.get(thread_id, waiting["run_id"])["status"] == "pending"
        with up(folder, postgres_url, "--n-jobs-per-worker", "1") as second:
            client = second.client
            eventually(lambda: client.runs.get(thread_id, waiting["run_id"])["status"], "running")
            first.kill()
            (folder / "go").touch()
            client.runs.join(thread_id, waiting["run_id"])
            assert texts(client.threads.get_state(thread_id)["values"])[-1] == "answered 2"
            eventually(lambda: client.threads.get(held)["status"], "error")


def test_a_process_leaves_the_runs_of_another_alone(tmp_path: Path, postgres_url: str) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with up(folder, postgres_url) as first:
        thread_id = begun(first)
        with up(folder, postgres_url) as second:
            second.event("graph", error=None)
            waiting = threading.Thread(
                target=second.client.runs.wait,
                args=(thread_id, "patient"),
                kwargs={"input": said("two"), "multitask_strategy": "enqueue"},
            )
            waiting.start()
            (folder / "go").touch()
            waiting.join(30)
            states = texts(second.client.threads.get_state(thread_id)["values"])
        assert states == ["one", "thinking", "answered 2", "two", "thinking", "answered 5"]


def test_told_to_stop_it_lets_runs_end_and_answers_who_waits(
    tmp_path: Path, postgres_url: str
) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with up(folder, postgres_url) as server, ThreadPoolExecutor() as others:
        client = server.client
        thread_id = client.threads.create()["thread_id"]
        waiting = others.submit(client.runs.wait, thread_id, "patient", input=said("one"))
        eventually(lambda: client.threads.get_state(thread_id)["next"], ["answer"])
        server.process.send_signal(signal.SIGTERM)
        server.event("stopping")
        (folder / "go").touch()
        assert texts(waiting.result(30))[-1] == "answered 2"
        assert server.process.wait(20) == 0


def test_runs_that_do_not_end_in_time_are_stopped(tmp_path: Path, postgres_url: str) -> None:
    folder = project(tmp_path / "patient", patient=PATIENT)
    with up(folder, postgres_url, "--drain-seconds", "0.2") as server:
        thread_id = begun(server)
        assert server.interrupt() == 0
    with up(folder, postgres_url) as server:
        assert server.client.runs.list(thread_id)[0]["status"] == "interrupted"
        assert server.client.threads.get(thread_id)["status"] == "idle"


@pytest.mark.parametrize(
    ("address", "told"),
    [("", "no database is named; set THREADKEEP_DATABASE_URL"), ("memory://", "keeps nothing")],
)
def test_a_database_that_keeps_what_is_served_must_be_named(
    tmp_path: Path, address: str, told: str
) -> None:
    folder = project(tmp_path / "echo", echo=ECHO)
    environment = {"THREADKEEP_DATABASE_URL": address} if address else {}
    done = subprocess.run(
        [sys.executable, "-m", "threadkeep.cli.main", "up", "--port", "0"],
        cwd=folder,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / ".threadkeep").exists()
