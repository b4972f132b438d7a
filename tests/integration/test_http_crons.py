"""Crons over HTTP, as LangGraph's client sees them: made, found, changed; nothing fires here."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx
import pytest
from langgraph_sdk import errors
from langgraph_sdk.client import SyncLangGraphClient

KEYS = {
    "cron_id", "assistant_id", "thread_id", "user_id", "end_time", "schedule", "timezone",
    "payload", "next_run_date", "metadata", "on_run_completed", "enabled", "created_at",
    "updated_at",
}  # fmt: skip
NEVER = "0 0 29 2 *"  # no test is running then


def when(cron: Any) -> datetime:
    return datetime.fromisoformat(cron["next_run_date"])


def test_a_cron_is_made_and_reads_back(
    client: SyncLangGraphClient, http: httpx.Client, label: dict[str, str]
) -> None:
    made: Any = client.crons.create(
        "echo",
        schedule="0 9 * * *",
        timezone="Europe/Berlin",
        input={"tag": "x"},
        metadata=label,
        enabled=False,
    )
    assert set(made) == KEYS
    assert (made["thread_id"], made["on_run_completed"]) == (None, "delete")
    assert made["payload"]["input"] == {"tag": "x"}
    assert made["payload"]["config"] == {"configurable": {"cron_id": made["cron_id"]}}
    assert when(made).astimezone(ZoneInfo("Europe/Berlin")).hour == 9
    assert http.get(f"/runs/crons/{made['cron_id']}").json() == made
    assert client.crons.search(metadata=label) == [made]
    client.crons.delete(made["cron_id"])
    with pytest.raises(errors.NotFoundError):
        client.crons.delete(made["cron_id"])


def test_crons_of_a_thread_are_found_and_go_with_it(client: SyncLangGraphClient) -> None:
    thread_id = client.threads.create()["thread_id"]
    made: Any = [
        client.crons.create_for_thread(thread_id, "echo", schedule=NEVER, input={"tag": tag})
        for tag in "ab"
    ]
    assert [cron["thread_id"] for cron in made] == [thread_id, thread_id]
    assert client.crons.count(thread_id=thread_id) == 2
    found: Any = client.crons.search(thread_id=thread_id, limit=1, select=["cron_id"])
    assert found == [{"cron_id": made[1]["cron_id"]}]
    assert client.crons.count(thread_id=thread_id, assistant_id="echo") == 2
    client.threads.delete(thread_id)
    assert client.crons.count(thread_id=thread_id) == 0
    with pytest.raises(errors.NotFoundError):
        client.crons.create_for_thread(str(uuid4()), "echo", schedule=NEVER)


def test_a_changed_cron_is_planned_anew(client: SyncLangGraphClient) -> None:
    end = datetime.now(UTC) + timedelta(days=3650)
    made: Any = client.crons.create("echo", schedule=NEVER, input={"tag": "a"}, end_time=end)
    cron_id = made["cron_id"]
    changed: Any = client.crons.update(
        cron_id, schedule="30 4 * * *", timezone="Asia/Tokyo", input={"tag": "b"}, enabled=False
    )
    assert when(changed).astimezone(ZoneInfo("Asia/Tokyo")).strftime("%H:%M") == "04:30"
    assert (changed["enabled"], changed["payload"]["input"]) == (False, {"tag": "b"})
    assert datetime.fromisoformat(changed["end_time"]) == end
    soon = client.crons.update(cron_id, end_time=datetime.now(UTC))
    assert soon["next_run_date"] is None
    cleared = client.crons.update(cron_id, end_time=None)
    assert (cleared["end_time"], cleared["next_run_date"]) == (None, changed["next_run_date"])
    client.crons.delete(cron_id)
    with pytest.raises(errors.NotFoundError):
        client.crons.update(cron_id, enabled=True)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"schedule": "99 99 * * *"}, 422),
        ({"schedule": NEVER, "timezone": "Mars/Base"}, 422),
        ({"schedule": NEVER, "end_time": "tomorrow"}, 422),
        ({"schedule": NEVER, "config": {"configurable": {"api_key": "sk-1"}}}, 422),
        ({"schedule": NEVER, "assistant_id": "unheard-of"}, 422),
        ({"schedule": NEVER, "assistant_id": str(uuid4())}, 404),
        ({}, 422),
    ],
)
def test_a_cron_that_cannot_be_is_refused(http: httpx.Client, body: Any, status: int) -> None:
    refused = http.post("/runs/crons", json={"assistant_id": "echo", **body})
    assert refused.status_code == status
    assert "sk-1" not in refused.text
