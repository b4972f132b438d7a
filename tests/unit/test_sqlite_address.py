"""What a sqlite:// address says."""

from pathlib import Path

import pytest

from threadkeep.drivers.sqlite.address import Address, parse
from threadkeep.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///agents.db", Address(Path("agents.db"))),
        ("sqlite:///folder/agents.db", Address(Path("folder/agents.db"))),
        ("sqlite:////var/agents.db", Address(Path("/var/agents.db"))),
        ("sqlite:///with%20space.db", Address(Path("with space.db"))),
        ("sqlite:///a.db?synchronous=normal", Address(Path("a.db"))),
        ("sqlite:///a.db?synchronous=FULL", Address(Path("a.db"), "full")),
    ],
)
def test_an_address_names_a_file_and_how_commits_wait(url: str, expected: Address) -> None:
    assert parse(url) == expected


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "memory://"),
        ("sqlite:///", "memory://"),
        ("sqlite://:memory:", "memory://"),
        ("sqlite:///:memory:", "memory://"),
        ("sqlite://agents.db", "names a file"),
        ("sqlite://folder/agents.db", "three slashes"),
        ("sqlite:///a.db?mode=ro", "no setting mode"),
        ("sqlite:///a%00b.db", "no NUL"),
        ("sqlite:///\ud800.db", "cannot be"),
        ("sqlite:///a.db?synchronous=", "normal or full"),
        ("sqlite:///a.db?synchronous=off", "normal or full"),
    ],
)
def test_an_address_that_is_wrong_is_refused_with_the_remedy(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse(url)
