"""A reader who comes back too late gets what is left, and is told that something is missing."""

from pathlib import Path

import httpx

from tests.integration import engine_graphs as made
from tests.integration.http_server import serve

HEADER = "X-Threadkeep-Missed-Events"


def test_events_that_are_gone_are_counted(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'threadkeep.db'}"
    with (
        serve({"steps": made.steps(9)}, database, events_per_run=4) as url,
        httpx.Client(base_url=url, timeout=30) as http,
    ):
        thread_id = http.post("/threads", json={}).json()["thread_id"]
        body = {
            "assistant_id": "steps",
            "input": {"log": []},
            "stream_mode": "updates",
            "stream_resumable": True,
        }
        run = http.post(f"/threads/{thread_id}/runs", json=body).json()
        http.get(f"/threads/{thread_id}/runs/{run['run_id']}/join")
        path = f"/threads/{thread_id}/runs/{run['run_id']}/stream"
        # metadata and nine updates, of which the last four are kept
        for last, missed, ids in (
            ("2", "4", [7, 8, 9, 10]),
            ("-1", "6", [7, 8, 9, 10]),
            ("8", None, [9, 10]),
        ):
            answer = http.get(path, headers={"Last-Event-ID": last})
            assert answer.headers.get(HEADER) == missed
            lines = answer.text.splitlines()
            assert [int(line[4:]) for line in lines if line.startswith("id: ")] == ids
