"""Which names are those of credentials."""

from typing import Any

import pytest

from threadkeep.rules.credentials import REDACTED, is_credential, without_credentials


@pytest.mark.parametrize(
    "name",
    ["api_key", "apikey", "apiKey", "API_KEY", "OPENAI_API_KEY", "openaiApiKey", "x-api-key",
     "X-API-Key", "api key", "openai.api_key", "api_key_2", "apiKey2", "apikeys", "API_KEYS",
     "token", "Token", "access_token", "accessToken", "accesstoken", "refresh-token", "tokenValue",
     "authToken", "token_secret", "GITHUB_TOKEN", "tokenV2", "access_tokens", "sessionTokens",
     "secret", "clientSecret", "client_secret", "clientsecret", "SECRETS", "secret_value",
     "password", "db_password", "userPassword", "dbpassword", "passwd", "PASSWD", "pwd",
     "authorization", "Authorization", "X-Authorization", "credential", "credentials",
     "aws_credentials", "private_key", "privateKey", "PRIVATE-KEY", "privatekey", "ssh_private_key",
     "cookie", "Set-Cookie", "cookies", "bearer", "jwt", "auth", "langgraph_auth_user",
     "accessKey", "AWS_SECRET_ACCESS_KEY", "signing_key", "passphrase", "secret_key"],
)  # fmt: skip
def test_a_name_of_a_credential(name: str) -> None:
    assert is_credential(name)


@pytest.mark.parametrize(
    "name",
    ["tokens_used", "max_tokens", "maxTokens", "tokens", "token_count", "tokenCount", "token_limit",
     "token_usage", "input_tokens", "total_tokens", "output_tokens_details", "tokenizer",
     "token_type", "tokenize", "user_id", "thread_id", "run_id", "model", "author", "authored_by",
     "key", "keys", "primary_key", "keyboard", "language", "secretary", "passport", "bypass",
     "compass", "cookbook", "passenger", "", "_", "source", "step", "monkey", "api", "apis"],
)  # fmt: skip
def test_a_name_of_something_else(name: str) -> None:
    assert not is_credential(name)


def test_further_names_are_credentials_in_any_case() -> None:
    assert not is_credential("x_internal")
    assert is_credential("X_Internal", ["x_internal"])


def test_metadata_keeps_all_but_credentials_at_every_depth() -> None:
    said: dict[str, Any] = {
        "api_key": "k",
        "source": "loop",
        "nested": {"a": [{"password": "p", "b": (1, {"token": 2})}]},
        "parents": {"token_agent:1": "id"},
        "counters_since_delta_snapshot": {"token": (1, 2)},
        "x": {"y": 1},
    }
    assert without_credentials(said) == said | {
        "api_key": REDACTED,
        "nested": {"a": [{"password": REDACTED, "b": (1, {"token": REDACTED})}]},
    }
    assert without_credentials(said)["x"] is said["x"]
    assert without_credentials({"x": 1}, ["X"]) == {"x": REDACTED}
