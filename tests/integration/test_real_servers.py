"""The servers that tests run against are real, and can do what threadkeep asks of them."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nats
import psycopg
import pytest
from nats.aio.msg import Msg
from redis.asyncio import Redis

from tests.servers.nats import nats_server
from tests.servers.postgres import Databases, postgres_server
from tests.servers.process import POLL_SECONDS, accepts
from tests.servers.valkey import valkey_server

pytestmark = pytest.mark.anyio


# Starts a server, says where, and dies without a chance to clean up.
KILLED = """
import os, signal
from tests.servers.nats import nats_server
with nats_server() as url:
    print(url, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
ROOT = Path(__file__).parents[2]
GONE_SECONDS = 20.0


def unique(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex}"


def test_postgres_answers_a_nearest_neighbour_query(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("drop extension vector")
        connection.execute("create extension vector")
        connection.execute("create table items (key text primary key, embedding vector(3))")
        connection.execute(
            "insert into items values ('x', '[1,0,0]'), ('y', '[0,1,0]'), ('xy', '[1,1,0]')"
        )
        connection.execute("create index on items using hnsw (embedding vector_cosine_ops)")
        nearest = connection.execute(
            "select key from items order by embedding <=> '[0.9,0.1,0]' limit 2"
        ).fetchall()
    assert nearest == [("x",), ("xy",)]


def test_each_postgres_database_is_fresh_and_has_pgvector(postgres_databases: Databases) -> None:
    with postgres_databases.new() as url, psycopg.connect(url) as connection:
        connection.execute("create table mine (id int)")
    with postgres_databases.new() as url, psycopg.connect(url) as connection:
        tables = connection.execute("select to_regclass('mine')").fetchone()
        extensions = connection.execute("select extname from pg_extension").fetchall()
    assert tables == (None,)
    assert ("vector",) in extensions


async def test_nats_answers_a_request(nats_url: str) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(message.data.upper())

    client = await nats.connect(nats_url)
    subject = unique("echo")
    await client.subscribe(subject, cb=answer)
    reply = await client.request(subject, b"hello", timeout=5)
    await client.close()
    assert reply.data == b"HELLO"


async def test_nats_refuses_to_create_a_key_twice(nats_url: str) -> None:
    client = await nats.connect(nats_url)
    bucket: Any = await client.jetstream().create_key_value(bucket=unique("bucket"))
    await bucket.create("key", b"first")
    with pytest.raises(nats.js.errors.KeyWrongLastSequenceError):
        await bucket.create("key", b"second")
    entry = await bucket.get("key")
    await client.close()
    assert entry.value == b"first"


async def test_valkey_keeps_values_and_streams(redis_url: str) -> None:
    client: Redis = Redis.from_url(redis_url)
    key, stream = unique("key"), unique("stream")
    await client.set(key, "value", ex=60)
    await client.xadd(stream, {"data": "event"})
    value = await client.get(key)
    entries: Any = await client.xrange(stream)
    await client.delete(key, stream)
    await client.aclose()
    assert value == b"value"
    assert [fields for _, fields in entries] == [{b"data": b"event"}]


def test_a_server_that_the_environment_names_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_TEST_NATS_URL", "nats://elsewhere:4222")
    monkeypatch.setenv("THREADKEEP_TEST_REDIS_URL", "redis://elsewhere:6379")
    with nats_server() as nats_url, valkey_server() as redis_url:
        assert nats_url == "nats://elsewhere:4222"
        assert redis_url == "redis://elsewhere:6379"


def test_databases_are_made_on_the_postgres_that_the_environment_names(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THREADKEEP_TEST_POSTGRES_URL", postgres_url)
    with postgres_server() as databases, databases.new() as url:
        assert urlsplit(url).netloc == urlsplit(postgres_url).netloc
        with psycopg.connect(url) as connection:
            connection.execute("select '[1]'::vector")


def test_a_server_ends_with_the_tests_that_were_killed() -> None:
    inside = {name: value for name, value in os.environ.items() if "_TEST_" not in name}
    command = [sys.executable, "-c", KILLED]
    done = subprocess.run(command, cwd=ROOT, env=inside, capture_output=True, text=True)
    port = urlsplit(done.stdout.strip()).port
    assert port is not None, done.stderr
    deadline = time.monotonic() + GONE_SECONDS
    while accepts(port) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    assert not accepts(port)
