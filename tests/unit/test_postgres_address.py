"""What an address of a PostgreSQL database says, and what is refused without repeating it."""

import sys

import pytest

from threadkeep.drivers import postgres
from threadkeep.drivers.postgres.address import DIRECT_URL, Address, parse
from threadkeep.errors import ConfigError
from threadkeep.ports.drivers import DriverOptions

URL = "postgresql://user:pass%20word@host:5433/name"


def test_our_settings_are_taken_out_of_what_libpq_reads() -> None:
    found = parse(
        f"{URL}?sslmode=require&schema=agents&pool_max_size=3&prepared_statements=on"
        "&options=-c%20statement_timeout%3D5s",
        {},
    )
    conninfo = f"{URL}?sslmode=require&options=-c%20statement_timeout%3D5s"
    assert found == Address(conninfo, conninfo, "agents", 3, prepared_statements=True)
    assert found.prefix == '"agents".'


def test_an_address_without_settings_stands_as_it_is() -> None:
    for url in (URL, "postgres://host/name", "postgresql://", "postgresql:///name?host=/run"):
        found = parse(url, {})
        assert (found.conninfo, found.direct, found.schema, found.prefix) == (url, url, None, "")


def test_the_direct_address_is_for_migrations_and_leaves_the_schema_alone() -> None:
    direct = "postgresql://direct/name?schema=other&sslmode=require"
    found = parse(f"{URL}?schema=agents", {DIRECT_URL: direct})
    assert found == Address(URL, "postgresql://direct/name?sslmode=require", "agents")


def test_a_quote_in_a_schema_stays_within_it() -> None:
    assert parse(URL + "?schema=a%22b", {}).prefix == '"a""b".'


@pytest.mark.parametrize(
    "settings",
    [
        "schema=",
        "schema=a%00b",
        "schema=" + "x" * 64,
        "pool_max_size=0",
        "pool_max_size=-1",
        "pool_max_size=many",
        "prepared_statements=yes",
        "unknown_setting=1",
        "sslmode=require&bad",
    ],
)
def test_a_wrong_setting_is_refused(settings: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(f"{URL}?{settings}", {})
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://user:se%cret@host/name", "postgresql://[se/cret"])
def test_a_broken_address_is_refused_without_its_password(url: str) -> None:
    for given, environment in ((url, {}), (URL, {DIRECT_URL: url})):
        with pytest.raises(ConfigError) as caught:
            parse(given, environment)
        assert "cret" not in f"{caught.value} {caught.value.__cause__}"


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("threadkeep.drivers.postgres.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r'pip install "threadkeep\[postgres\]"'):
        postgres.open(URL, DriverOptions())
