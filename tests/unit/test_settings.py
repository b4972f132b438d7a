"""The environment, read: defaults, precedence, and mistakes named."""

from pathlib import Path

import pytest

from threadkeep.config.settings import Settings, read_settings, variables
from threadkeep.errors import ConfigError
from threadkeep.ports.drivers import DATABASE_VARIABLES

FOLDER = Path("/project")


def read(**environment: str) -> Settings:
    return read_settings(environment, folder=FOLDER)


def test_without_any_variable_the_defaults_hold() -> None:
    settings = read()
    assert settings.database_url == "sqlite:////project/.threadkeep/threadkeep.db"
    assert settings.max_page_size == 1000
    assert settings.max_body_bytes == 32 * 1024 * 1024
    assert settings.events_per_run == 10_000
    assert settings.finished_runs_kept == 50
    assert settings.events_kept_seconds == 3600
    assert settings.deliveries_kept_seconds == 24 * 3600
    assert settings.heartbeat_seconds == 15
    assert settings.lease_seconds == 30
    assert settings.run_timeout_seconds is None
    assert settings.jobs == 10
    assert settings.warnings == ()


def test_a_folder_may_have_any_name() -> None:
    settings = read_settings({}, folder=Path("/my project?/100%"))
    path = "/my%20project%3F/100%25/.threadkeep/threadkeep.db"
    assert settings.database_url == f"sqlite:///{path}"


def test_the_first_of_the_three_database_variables_wins() -> None:
    names = {"POSTGRES_URI": "sqlite:///c.db", "DATABASE_URI": "sqlite:///b.db"}
    assert read(**names, THREADKEEP_DATABASE_URL="sqlite:///a.db").database_url == "sqlite:///a.db"
    assert read(**names).database_url == "sqlite:///b.db"
    assert read(POSTGRES_URI="sqlite:///c.db").database_url == "sqlite:///c.db"


@pytest.mark.parametrize("name", DATABASE_VARIABLES)
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("paper://user:hidden@host/db", "that begin with paper://"),
        ("paper+pen://user:hidden@host/db", "that begin with paper+pen://"),
        ("user:hidden@host://db", "a storage address begins with memory:// or "),
        ("host=there password=hidden", "a storage address begins with memory:// or "),
        ("agents.db", "e.g. sqlite:///agents.db"),
    ],
)
def test_an_address_that_no_driver_serves_names_its_variable_and_no_secret(
    name: str, address: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: ") as caught:
        read(**{name: address})
    assert told in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_given_address_is_taken_whatever_the_environment_says() -> None:
    environment = dict.fromkeys(DATABASE_VARIABLES, "paper://a")
    settings = read_settings(environment, folder=FOLDER, database="sqlite:///mine.db")
    assert settings.database_url == "sqlite:///mine.db"


def test_an_empty_variable_counts_as_absent() -> None:
    settings = read(THREADKEEP_DATABASE_URL="", THREADKEEP_JOBS="", POSTGRES_URI="memory://")
    assert (settings.database_url, settings.jobs) == ("memory://", 10)


@pytest.mark.parametrize("text", ["0", "-1", "ten", "1.5", "inf", "999999999"])
def test_a_wrong_count_names_variable_value_and_what_is_expected(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(THREADKEEP_JOBS=text)
    wanted = "expected a whole number from 1 to 10000"
    assert str(caught.value) == f"THREADKEEP_JOBS: found {text!r}; {wanted}"


@pytest.mark.parametrize("text", ["0", "nan", "inf", "soon", "-3", "1e300"])
def test_a_wrong_time_names_its_unit(text: str) -> None:
    with pytest.raises(ConfigError, match=r"expected a number of seconds from 0\.5"):
        read(THREADKEEP_LEASE_SECONDS=text)


def test_every_setting_with_a_variable_can_be_set() -> None:
    for name, (variable, default) in variables().items():
        settings = read(**{variable.name: "7"})
        assert getattr(settings, name) == 7 != default


def test_a_database_that_is_no_address_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError) as caught:
        read(DATABASE_URI="user:secret@host")
    assert "DATABASE_URI" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_key_of_secrets_is_read_and_never_shown() -> None:
    settings = read(THREADKEEP_SECRET_KEY="0123456789abcdef")
    assert settings.secret_key == "0123456789abcdef"
    assert "0123456789abcdef" not in repr(settings)
    assert settings.warnings == ()
    assert read().secret_key is None


@pytest.mark.parametrize("name", ["THREADKEEP_READ_THROUGH_URL"])
def test_a_protection_that_is_not_there_is_refused_rather_than_ignored(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        read(**{name: "x"})


def test_what_has_no_effect_is_said() -> None:
    settings = read(THREADKEEP_REDIS_URL="redis://x", THREADKEEP_LEASE_SECOND="1")
    assert settings.warnings == (
        "THREADKEEP_REDIS_URL is not served yet and has no effect",
        "THREADKEEP_LEASE_SECOND is no setting of threadkeep "
        "(did you mean 'THREADKEEP_LEASE_SECONDS'?)",
    )


def test_the_variables_of_the_tests_are_not_taken_for_mistakes() -> None:
    assert read(THREADKEEP_TEST_POSTGRES_URL="postgresql://x").warnings == ()
