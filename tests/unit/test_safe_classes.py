"""Which classes LangGraph restores without being asked: ours are at least the newest release's."""

from dataclasses import dataclass

from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES

from threadkeep.savers.serde import SafeSerializer
from threadkeep.savers.typed.classes import LANGGRAPHS_OWN
from threadkeep.savers.typed.placeholders import Unrestored


@dataclass
class Kept:
    """A class of a user."""

    number: int = 1


def test_langgraphs_own_classes_are_restored_by_default() -> None:
    assert set() == SAFE_MSGPACK_TYPES - LANGGRAPHS_OWN


def test_a_serializer_with_an_allow_list_restores_what_is_added_to_it() -> None:
    strict = SafeSerializer(allowed_msgpack_modules=None)
    stored = strict.dumps_typed(Kept())
    assert isinstance(strict.loads_typed(stored), Unrestored)
    for extra in (Kept, (Kept.__module__, "Kept")):
        assert isinstance(strict.with_msgpack_allowlist([extra]).loads_typed(stored), Kept)
        assert isinstance(SafeSerializer(allowed_msgpack_modules=[extra]).loads_typed(stored), Kept)
    assert strict.with_msgpack_allowlist([]) is strict
    free = SafeSerializer()
    assert free.with_msgpack_allowlist([Kept]) is free
