"""What of a configuration may be shown again."""

import pytest

from threadkeep.rules.redaction import is_shown, redact_config


@pytest.mark.parametrize(
    "key",
    ["api_key", "OPENAI_API_KEY", "apiKey", "x-api-key", "token", "access_token", "accessToken",
     "password", "db_passwd", "client_secret", "Authorization", "auth", "cookie", "credentials",
     "private_key", "jwt", "langgraph_auth_user", "__pregel_store"],
)  # fmt: skip
def test_a_credential_is_not_shown(key: str) -> None:
    assert not is_shown(key)


@pytest.mark.parametrize(
    "key", ["user_id", "model", "max_tokens", "author", "thread_id", "tokenizer", "key", "language"]
)
def test_anything_else_is_shown(key: str) -> None:
    assert is_shown(key)


def test_a_config_keeps_its_other_parts() -> None:
    config = {"tags": ["a"], "configurable": {"a": 1, "token": "x"}, "metadata": {"secret": 1}}
    assert redact_config(config) == {"tags": ["a"], "configurable": {"a": 1}, "metadata": {}}
