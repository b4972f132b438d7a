"""Which requests are one, and that no secret is in what tells."""

from typing import Any

from threadkeep.rules.fingerprint import fingerprint


def of(body: Any = None, *, method: str = "POST", path: str = "/runs", **query: str) -> str:
    return fingerprint(method, path, list(query.items()), body)


def test_the_order_of_keys_and_parameters_does_not_count() -> None:
    assert of({"a": 1, "b": [1, 2]}, x="1", y="2") == of({"b": [1, 2], "a": 1}, y="2", x="1")


def test_everything_else_counts() -> None:
    bodies: list[Any] = [
        None,
        {},
        [],
        {"a": 1},
        {"a": 2},
        {"a": [1, 2]},
        {"a": [2, 1]},
        {"a": None},
        "a",
    ]
    prints = [of(body) for body in bodies]
    prints += [of(path="/threads"), of(method="PUT"), of(x="1"), of(x="2")]
    assert len(set(prints)) == len(prints)
    assert of(method="post") == of()


def test_credentials_of_a_run_are_not_in_it() -> None:
    def run(key: str, model: str = "small") -> dict[str, Any]:
        configurable = {"api_key": key, "langgraph_auth_user": {"t": key}, "model": model}
        return {"config": {"configurable": configurable}, "context": {"password": key}}

    assert of(run("one")) == of(run("two"))
    assert of([run("one")]) == of([run("two")])
    assert of(run("one")) != of(run("one", "large"))


def test_input_is_data_and_counts_whatever_it_is_called() -> None:
    assert of({"input": {"token": 1}}) != of({"input": {"token": 2}})


def test_odd_text_and_large_numbers_are_hashed() -> None:
    assert len(of({"input": ["\ud800", "\0", 2**80]})) == 64
