"""Webhooks: one for each run that asks, until it arrives, and only where one may be sent."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from tests.integration.receiver import Received, is_signed, receiving
from threadkeep.background.courier import MOST_ATTEMPTS, Courier
from threadkeep.errors import InvalidRequestError
from threadkeep.model.deliveries import Delivery
from threadkeep.model.queries import DeliveryQuery
from threadkeep.model.requests import RunRequest
from threadkeep.ports.clock import SystemClock
from threadkeep.rules.webhook_payloads import LEFT_OUT
from threadkeep.services.webhooks import WebhookPolicy, Webhooks

__all__ = ["backend"]
pytestmark = pytest.mark.anyio

SECRET = "a-secret-of-the-two"
KEPT_SECONDS = 7_200.0
OPEN = WebhookPolicy(disable_loopback=False, secret=SECRET, headers={"X-Ours": "yes"})
GATE = made.Gate()
GRAPHS = {
    "steps": made.steps(1),
    "failing": made.failing(ValueError("it broke")),
    "waiting": made.waiting(GATE),
    "questions": made.two_questions(),
}


@pytest.fixture
def told() -> Iterator[Received]:
    with receiving() as received:
        yield received


@asynccontextmanager
async def running(backend: Backend, policy: WebhookPolicy = OPEN) -> AsyncIterator[Deployment]:
    async with deployed(
        GRAPHS, backend.resources, backend.saver, store_on(backend), policy=policy
    ) as site:
        yield site


def courier_of(site: Deployment, policy: WebhookPolicy = OPEN) -> Courier:
    return Courier(
        site.resources.deliveries,
        site.executor.outbox,
        Webhooks(policy),
        SystemClock(),
        kept_seconds=KEPT_SECONDS,
    )


async def sent(site: Deployment, *, status: str = "delivered") -> Delivery:
    """Send what is due until the newest delivery is as it should be."""
    courier = courier_of(site)
    while True:
        await courier.look()
        await asyncio.sleep(0.02)
        rows = (await site.resources.deliveries.search(DeliveryQuery())).rows
        if rows and rows[0].status == status:
            return rows[0]


async def test_a_run_that_ends_is_told_of_once_and_signed(backend: Backend, told: Received) -> None:
    async with running(backend) as site:
        thread_id = await site.new_thread("t")
        config = {"configurable": {"api_key": "hidden-1"}}
        request = RunRequest("steps", thread_id, input={"log": []}, webhook=told.url, config=config)
        run = (await site.runs.wait(request)).run
        delivery = await sent(site)
        assert (delivery.attempt, delivery.payload) == (1, None)
        assert delivery.expires_at == delivery.updated_at + timedelta(seconds=KEPT_SECONDS)
    assert len(told.calls) == 1
    path, headers, body = told.calls[0]
    assert path == "/told"
    assert headers["X-Threadkeep-Delivery"] == delivery.delivery_id
    assert (headers["X-Threadkeep-Attempt"], headers["X-Ours"]) == ("1", "yes")
    assert is_signed(headers, body, SECRET)
    assert not is_signed(headers, body + b" ", SECRET)
    (said,) = told.bodies()
    assert (said["run_id"], said["status"], said["values"]) == (
        *(run.run_id, "success"),
        {"log": [0]},
    )
    assert b"hidden-1" not in body


@pytest.mark.parametrize(("graph", "status"), [("failing", "error"), ("questions", "interrupted")])
async def test_every_end_is_told_of(
    backend: Backend, told: Received, graph: str, status: str
) -> None:
    async with running(backend) as site:
        thread_id = await site.new_thread("t")
        request = RunRequest(graph, thread_id, input={"log": []}, webhook=told.url)
        await site.runs.wait(request)
        await sent(site)
    (said,) = told.bodies()
    assert said["status"] == status
    if status == "error":
        assert said["error"] == {"error": "ValueError", "message": "it broke"}
    else:
        assert len(said["values"]["__interrupt__"]) == 2


async def test_a_stateless_run_is_told_of_though_it_leaves_nothing(
    backend: Backend, told: Received
) -> None:
    async with running(backend) as site:
        result = await site.runs.wait(RunRequest("steps", input={"log": []}, webhook=told.url))
        await sent(site)
        assert await site.resources.threads.get(result.run.thread_id) is None
    assert told.bodies()[0]["run_id"] == result.run.run_id


async def test_a_failed_call_is_made_again_under_the_same_id_and_given_up_in_the_end(
    backend: Backend, told: Received
) -> None:
    told.statuses = [500] * MOST_ATTEMPTS
    async with running(backend) as site:
        courier, deliveries = courier_of(site), site.resources.deliveries
        thread_id = await site.new_thread("t")
        request = RunRequest("steps", thread_id, input={"log": []}, webhook=told.url)
        await site.runs.wait(request)
        (row,) = (await deliveries.search(DeliveryQuery())).rows
        pauses = []
        for number in range(1, MOST_ATTEMPTS + 1):
            before = SystemClock().now()
            await courier.attempt(row)
            tried = await deliveries.get(row.delivery_id)
            assert tried
            assert (tried.attempt, tried.last_error) == (number, "answered 500")
            if number < MOST_ATTEMPTS:
                pauses.append(round((tried.next_attempt_at - before).total_seconds()))
                await deliveries.replay(row.delivery_id)
                (row,) = await deliveries.claim(lease_seconds=15, limit=1)
        assert tried
        assert (tried.status, tried.payload is not None) == ("dead", True)
    assert pauses == [2**number for number in range(MOST_ATTEMPTS - 1)]
    assert len(set(told.headers("X-Threadkeep-Delivery"))) == 1
    assert told.headers("X-Threadkeep-Attempt") == [str(n) for n in range(1, MOST_ATTEMPTS + 1)]


async def test_what_a_dead_process_left_is_sent_by_another(
    backend: Backend, told: Received
) -> None:
    async with running(backend) as site:
        thread_id = await site.new_thread("t")
        request = RunRequest("steps", thread_id, input={"log": []}, webhook=told.url)
        await site.runs.wait(request)
        site.executor.outbox.take(1)  # it died before its first attempt
        (row,) = (await site.resources.deliveries.search(DeliveryQuery())).rows
        assert row.status == "delivering"
        await site.resources.deliveries.replay(row.delivery_id)  # as when its lease is over
        assert (await sent(site)).delivery_id == row.delivery_id
    assert told.headers("X-Threadkeep-Attempt") == ["2"]


async def test_a_cut_off_run_is_told_of(backend: Backend, told: Received) -> None:
    async with running(backend) as site:
        thread_id = await site.new_thread("t")
        later = RunRequest("steps", thread_id, input={}, webhook=told.url)
        new = await site.runs.admitting.plan("11111111-1111-7111-8111-111111111111", later)
        gone = replace(site.executor.claim, owner="gone", lease_seconds=0.01)
        await site.resources.runs.admit(new, claim=gone)
        await asyncio.sleep(0.05)
        await site.leases.beat()
        await sent(site)
    (said,) = told.bodies()
    assert (said["status"], said["reason"]) == ("error", "server_restarted")


async def test_redirects_are_not_followed(backend: Backend, told: Received) -> None:
    told.statuses = [307]
    async with running(backend) as site:
        thread_id = await site.new_thread("t")
        request = RunRequest("steps", thread_id, input={"log": []}, webhook=told.url)
        await site.runs.wait(request)
        delivery = await sent(site, status="pending")
    assert delivery.last_error == "answered 307: redirects are not followed"
    assert [path for path, _, _ in told.calls] == ["/told"]


async def test_a_receiver_that_hangs_costs_its_time_out_only(
    backend: Backend, told: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkeep.services.webhooks.TIMEOUT_SECONDS", 0.2)
    told.held.clear()
    async with running(backend) as site:
        thread_id = await site.new_thread("t")
        request = RunRequest("steps", thread_id, input={"log": []}, webhook=told.url)
        await site.runs.wait(request)
        delivery = await sent(site, status="pending")
    assert delivery.last_error is not None
    assert delivery.last_error.startswith("no answer within 0.2")


async def test_what_is_too_large_is_left_out(backend: Backend, told: Received) -> None:
    async with running(backend) as site:
        thread_id = await site.new_thread("t")
        large = {"log": ["x" * 300_000]}
        await site.runs.wait(RunRequest("steps", thread_id, input=large, webhook=told.url))
        delivery = await sent(site)
    assert delivery.is_truncated
    (said,) = told.bodies()
    assert (said["values"], said["kwargs"], said["status"]) == (LEFT_OUT, LEFT_OUT, "success")


REFUSED = [
    "http://127.0.0.1/",
    "http://localhost:8000/",
    "http://api.localhost/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://0.0.0.0/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fe80::1]/",
    "ftp://example.com/",
    "/on/this/server",
    "http://user:password@example.com/",
    "http:///nothing",
    "http://" + "a" * 5000,
]


@pytest.mark.parametrize("url", REFUSED)
async def test_addresses_that_may_not_be_called_are_refused_with_the_run(url: str) -> None:
    with pytest.raises(InvalidRequestError, match="the webhook is"):
        Webhooks(WebhookPolicy()).checked(url)


@pytest.mark.parametrize("url", ["https://example.com/told", "http://10.0.0.7:8080/"])
async def test_other_addresses_may_be_called(url: str) -> None:
    assert Webhooks(WebhookPolicy()).checked(url) == url


async def test_a_policy_narrows_what_may_be_called() -> None:
    narrow = Webhooks(
        WebhookPolicy(
            require_https=True,
            allowed_domains=("*.example.com", "one.test"),
            allowed_ports=(443, 8443),
        )
    )
    assert narrow.checked("https://a.example.com/")
    assert narrow.checked("https://one.test:8443/")
    for url in ("http://one.test/", "https://example.com/", "https://one.test:444/"):
        with pytest.raises(InvalidRequestError):
            narrow.checked(url)
    assert Webhooks(WebhookPolicy(is_enabled=False)).checked("http://127.0.0.1/") is None


async def test_a_name_that_means_this_machine_when_it_is_called_is_refused(
    backend: Backend, told: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rebound(host: str, port: int, **_: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    closed = Webhooks(WebhookPolicy())
    url = told.url.replace("127.0.0.1", "rebinding.test")
    assert closed.checked(url) == url
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", rebound, raising=False)
    now = SystemClock().now()
    delivery = Delivery(
        *("d", "r", "t", url, {}, False, "success", "delivering"),
        *(1, now + timedelta(seconds=15), None, now, now, None),
    )
    error = await closed.send(delivery)
    assert error is not None
    assert "this machine itself" in error
    assert not told.calls
    assert await Webhooks(OPEN).send(delivery) is None
    assert told.headers("Host") == [url.removeprefix("http://").removesuffix("/told")]
