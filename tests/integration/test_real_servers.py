"""The servers that tests run against are real, and can do what threadkeep asks of them."""

import uuid
from typing import Any

import nats
import psycopg
import pytest
from nats.aio.msg import Msg
from redis.asyncio import Redis

from tests.servers.postgres import Databases

pytestmark = pytest.mark.anyio


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
