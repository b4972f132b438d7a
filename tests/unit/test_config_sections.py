"""The sections of langgraph.json that say how runs are kept, told of and guarded."""

import json
from pathlib import Path
from typing import Any

import pytest

from threadkeep.config.langgraph_json import Project, read_project
from threadkeep.config.sections import Checkpointer, Lifetimes
from threadkeep.errors import ConfigError
from threadkeep.services.webhooks import WebhookPolicy


def read(folder: Path, **keys: Any) -> Project:
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": {"a": "./a.py:graph"}, **keys}))
    return read_project(file)


@pytest.mark.parametrize("given", [{}, {"checkpointer": "default"}, {"checkpointer": None}])
def test_the_saver_is_ours_unless_another_is_named(tmp_path: Path, given: Any) -> None:
    project = read(tmp_path, **given)
    assert project.checkpointer == Checkpointer()
    assert project.warnings == ()


def test_a_saver_its_types_and_lifetimes_are_read(tmp_path: Path) -> None:
    ttl = {
        "strategy": "keep_latest",
        "default_ttl": 5,
        "sweep_interval_minutes": 0.5,
        "sweep_limit": 1000,
    }
    serde = {"allowed_msgpack_modules": [["app.models", "State"]], "pickle_fallback": False}
    asked = {"path": "./s.py:saver", "ttl": ttl, "serde": serde}
    assert read(tmp_path, checkpointer=asked).checkpointer == Checkpointer(
        path="./s.py:saver",
        types=(("app.models", "State"),),
        lifetimes=Lifetimes(5, "keep_latest", 30.0, 100),
    )


def test_webhooks_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LG_WEBHOOK_KEY", "k1")
    url = {
        "require_https": True,
        "allowed_domains": ["*.example.com"],
        "allowed_ports": [443],
        "max_url_length": 100,
        "disable_loopback": False,
    }
    headers = {"Authorization": "Bearer ${{ env.LG_WEBHOOK_KEY }}"}
    project = read(
        tmp_path, webhooks={"url": url, "headers": headers}, http={"disable_webhooks": True}
    )
    assert WebhookPolicy(**project.webhooks) == WebhookPolicy(
        is_enabled=False,
        require_https=True,
        allowed_domains=("*.example.com",),
        allowed_ports=(443,),
        max_url_length=100,
        disable_loopback=False,
        headers={"Authorization": "Bearer k1"},
    )


def test_routes_and_headers_are_read(tmp_path: Path) -> None:
    http = {
        "disable_store": True,
        "disable_crons": True,
        "configurable_headers": {"includes": ["X-Team-*", "authorization"]},
    }
    project = read(tmp_path, http=http)
    assert project.disabled == {"store", "crons"}
    given = {"X-Team-Id": "7", "Authorization": "Bearer s", "Accept": "*/*"}
    assert project.configurable_headers.passed_on(given) == {"x-team-id": "7"}


@pytest.mark.parametrize(
    ("section", "value", "says"),
    [
        ("checkpointer", "mine", 'checkpointer: found "mine"; expected an object, or "default"'),
        ("checkpointer", {"path": "saver"}, "checkpointer.path"),
        ("checkpointer", {"ttl": {"strategy": "keep"}}, "checkpointer.ttl.strategy"),
        ("checkpointer", {"ttl": {"default_ttl": 0}}, "checkpointer.ttl.default_ttl"),
        ("checkpointer", {"ttl": {"sweep_limit": 1.5}}, "checkpointer.ttl.sweep_limit"),
        ("checkpointer", {"ttl": {"sweep_interval_minutes": True}}, "sweep_interval_minutes"),
        ("checkpointer", {"ttl": 5}, "checkpointer.ttl: found 5"),
        ("checkpointer", {"serde": {"pickle_fallback": True}}, "nothing is ever unpickled"),
        ("checkpointer", {"serde": {"allowed_json_modules": True}}, "never all of them"),
        ("webhooks", [], "webhooks: found []"),
        ("webhooks", {"url": {"require_https": "yes"}}, "webhooks.url.require_https"),
        ("webhooks", {"url": {"allowed_domains": "a"}}, "webhooks.url.allowed_domains"),
        ("webhooks", {"url": {"allowed_ports": [0]}}, "webhooks.url.allowed_ports"),
        ("webhooks", {"url": {"max_url_length": 0}}, "webhooks.url.max_url_length"),
        ("webhooks", {"env_prefix": ""}, "webhooks.env_prefix"),
        ("webhooks", {"headers": {"a b": "c"}}, "the name of a header"),
        ("webhooks", {"headers": {"a": "b\r\nc: d"}}, "one line"),
        ("webhooks", {"headers": {"a": "${{ env.PATH }}"}}, "does not begin with"),
        ("webhooks", {"headers": {"a": "${{ env.LG_WEBHOOK_NONE }}"}}, "which is not set"),
        ("http", {"disable_store": 1}, "http.disable_store"),
        ("http", {"configurable_headers": {"includes": "x"}}, "configurable_headers.includes"),
    ],
)
def test_each_mistake_names_file_key_and_what_is_expected(
    tmp_path: Path, section: str, value: Any, says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, **{section: value})
    text = str(caught.value)
    assert text.startswith("langgraph.json: ")
    assert says in text
