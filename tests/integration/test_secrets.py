"""No secret is in any byte that is stored, wherever it stood."""

import dataclasses
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic.v1 import BaseModel as OldModel
from pydantic.v1 import SecretStr as OldSecret

from tests.pains import saver_factories
from threadkeep.errors import SecretNotStoredError
from threadkeep.savers.serde import SafeSerializer
from threadkeep.savers.typed.placeholders import Redacted, RedactedBytes, RedactedStr
from threadkeep.testing.saver_steps import checkpoint, config

SECRET = "s3cr3t-of-this-test-"
NAMES = ["api_key", "OPENAI_API_KEY", "accessToken", "x-authorization", "db_password", "passwd",
         "clientSecret", "private_key", "Cookie", "credentials", "token",
         "internal_code"]  # fmt: skip


class Login(BaseModel):
    user: str
    password: SecretStr
    more: dict[str, Any] = {}


class OldLogin(OldModel):
    password: OldSecret


@dataclasses.dataclass
class Account:
    key: SecretBytes
    held: Any = None


def secret_values(text: str) -> st.SearchStrategy[Any]:
    """Values that hold a secret somewhere."""
    made = st.sampled_from(
        [
            SecretStr(text),
            SecretBytes(text.encode()),
            Secret[int](7),
            Login(user="ada", password=SecretStr(text), more={"s": (SecretStr(text),)}),
            OldLogin(password=OldSecret(text)),
            Account(SecretBytes(text.encode()), [SecretStr(text)]),
            HumanMessage("hi", additional_kwargs={"login": SecretStr(text)}),
        ]
    )
    return st.recursive(
        made,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3),
            st.tuples(inner, st.integers()),
            st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3),
            inner.map(lambda value: Account(SecretBytes(text.encode()), value)),
        ),
        max_leaves=4,
    )


metadata_values = st.recursive(
    st.sampled_from(NAMES).map(lambda name: {name: SECRET}),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2), st.fixed_dictionaries({"inside": inner})
    ),
    max_leaves=3,
)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    name = uuid.uuid4().hex
    factory = getattr(saver_factories, f"{request.param}_saver")
    if request.param == "postgres":
        saver_factories.keep_in(name, request.getfixturevalue("postgres_module_url"))
    with factory(name) as saver:
        yield name, saver
    saver_factories.drop(name)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    value=secret_values(SECRET),
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    nested=metadata_values,
)
def test_no_secret_is_stored(
    storage: tuple[str, Any], value: Any, names: list[str], nested: Any
) -> None:
    name, saver = storage
    saver._secret_keys = frozenset(["INTERNAL_CODE"])
    secrets = dict.fromkeys(names, SECRET)
    at = config(uuid.uuid4().hex, **secrets)
    at["metadata"] = {**secrets, "nested": nested, "user": "ada"}
    made = checkpoint({"v": value, "m": [value], "d": {"k": [value]}}, {"v": 1, "m": 1, "d": 1})
    said = {"source": "loop", "step": 0, "parents": {}, "nested": nested, **secrets}
    head = saver.put(at, made, said, {})
    saver.put_writes(head, [("v", value), ("__interrupt__", [value]), ("m", [value])], "task")
    assert SECRET.encode() not in saver_factories.raw_bytes(name)
    found = saver.get_tuple(head)
    assert SECRET not in repr(found)
    assert found.metadata["user"] == "ada"
    assert all(found.metadata[key] == "[redacted]" for key in names)


def test_a_restored_secret_says_that_it_was_not_stored() -> None:
    serde = SafeSerializer()
    value = [SecretStr("x"), SecretBytes(b"x"), Secret[int](7), OldSecret("x")]
    stored = serde.dumps_typed(value)
    found = serde.loads_typed(stored)
    assert [type(one) for one in found] == [RedactedStr, RedactedBytes, Redacted, Redacted]
    assert isinstance(found[0], SecretStr)
    for one in found:
        assert "[redacted]" in repr(one)
        assert one == serde.loads_typed(stored)[found.index(one)]
        assert len({one, one}) == 1
        with pytest.raises(SecretNotStoredError, match="give it with the new run's config"):
            one.get_secret_value()
    for one in found[:2]:
        with pytest.raises(SecretNotStoredError):
            len(one)
    assert serde.dumps_typed(found) == stored
