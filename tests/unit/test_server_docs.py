"""``docs/http.md`` and the code say the same."""

import re
from pathlib import Path

from threadkeep.server import bodies
from threadkeep.server.errors import STATUS
from threadkeep.server.routes import ROUTES
from threadkeep.server.thread_streams import SUBSCRIPTION

TEXT = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
ROUTE = re.compile(r"^\| `([A-Z]+) (/[^`]*)` \|(.*)$", re.MULTILINE)
ERROR_ROW = re.compile(r"^\| (\d{3}) \| ([^|]*) \|", re.MULTILINE)

TABLES = {
    "POST /threads/{thread_id}/stream/events": SUBSCRIPTION,
    "POST /assistants": bodies.ASSISTANT_CREATE,
    "PATCH /assistants/{assistant_id}": bodies.ASSISTANT_UPDATE,
    "POST /assistants/{assistant_id}/versions": bodies.VERSION_SEARCH,
    "POST /assistants/{assistant_id}/latest": bodies.VERSION_CHOICE,
    "POST /threads/prune": bodies.THREAD_PRUNE,
    "POST /runs/search": bodies.RUN_SEARCH,
    "POST /runs/crons/search": bodies.CRON_SEARCH,
    "POST /runs/crons/count": bodies.CRON_COUNT,
    "POST /assistants/search": bodies.ASSISTANT_SEARCH,
    "POST /assistants/count": bodies.ASSISTANT_COUNT,
    "POST /threads/count": bodies.THREAD_COUNT,
    "PATCH /threads/{thread_id}": bodies.THREAD_UPDATE,
    "POST /threads/{thread_id}/state": bodies.STATE_UPDATE,
    "POST /threads/{thread_id}/state/checkpoint": bodies.STATE_AT,
    "POST /threads/{thread_id}/history": bodies.HISTORY,
    "POST /runs/cancel": bodies.RUNS_CANCEL,
    "PUT /store/items": bodies.ITEM_PUT,
    "DELETE /store/items": bodies.ITEM_DELETE,
    "POST /store/items/search": bodies.ITEM_SEARCH,
    "POST /store/namespaces": bodies.NAMESPACE_LISTING,
}


def test_every_route_is_described_once_and_no_other() -> None:
    described = [f"{method} {path}" for method, path, _ in ROUTE.findall(TEXT)]
    assert sorted(described) == sorted(f"{route.method} {route.path}" for route in ROUTES)


def test_every_field_of_a_body_is_described_with_its_route() -> None:
    rows = {f"{method} {path}": rest for method, path, rest in ROUTE.findall(TEXT)}
    missing = [
        f"{route}: {field.name}"
        for route, fields in TABLES.items()
        for field in fields
        if f"`{field.name}`" not in rows[route]
    ]
    assert missing == []


def test_every_field_of_a_run_and_of_a_thread_is_described() -> None:
    fields = (
        *bodies.RUN_CREATE,
        *bodies.THREAD_CREATE,
        *bodies.THREAD_SEARCH,
        *bodies.CRON_CREATE,
        *bodies.CRON_UPDATE,
    )
    assert [field.name for field in fields if f"`{field.name}`" not in TEXT] == []


def test_every_code_is_described_with_its_status() -> None:
    described = {
        code: int(status)
        for status, codes in ERROR_ROW.findall(TEXT)
        for code in re.findall(r"`(\w+)`", codes)
    }
    wrong = {
        kind.code: status
        for kind, status in STATUS.items()
        if kind.code in described and described[kind.code] != status
    }
    assert wrong == {}
