"""A graph's own types, allowed for that graph: a view of the saver that shares all it knows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import NotFoundError
from threadkeep.savers.serde import SafeSerializer
from threadkeep.testing.saver_steps import checkpoint, config, conversation


@dataclass
class Money:
    amount: int
    currency: str


def put(saver: DocumentCheckpointSaver, values: dict[str, Any], at: Any, version: int) -> Any:
    made = checkpoint(values, dict.fromkeys(values, version))
    return saver.put(at, made, {"source": "loop", "step": version}, {})


@pytest.mark.parametrize("driver", ["memory", "sqlite"])
def test_a_view_with_an_allowlist_reads_its_types_and_shares_the_rest(
    driver: str, tmp_path: Path
) -> None:
    url = "memory://" if driver == "memory" else f"sqlite:///{tmp_path}/s.db"
    strict = SafeSerializer(allowed_msgpack_modules=[("no", "such")])
    with DocumentCheckpointSaver.from_url(url, serde=strict) as saver:
        view = saver.with_allowlist([(Money.__module__, Money.__name__)])
        assert type(view) is DocumentCheckpointSaver
        assert saver.with_allowlist([("no", "such")]) is saver
        head = put(view, {"price": Money(5, "EUR"), "m": conversation(9)}, config(), 1)
        head = put(saver, {"price": Money(5, "EUR"), "m": conversation(10)}, head, 2)
        for one in (view, view.staged()):
            found = one.get_tuple(config())
            assert found is not None
            assert found.checkpoint["channel_values"]["price"] == Money(5, "EUR")
        plain = saver.get_tuple(config())
        assert plain is not None
        assert type(plain.checkpoint["channel_values"]["price"]) is not Money
        with saver.lease("t1") as lease:
            put(view, {"m": conversation(11)}, head, 3)
            assert lease.token > 0
        view.delete_thread("t1")
        with pytest.raises(NotFoundError, match="no thread"):
            put(saver, {"m": conversation(12)}, head, 4)
