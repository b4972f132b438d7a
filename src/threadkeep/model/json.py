"""The shape of JSON values."""

from collections.abc import Mapping
from typing import Any

Json = Any  # None | bool | int | float | str | list[Json] | dict[str, Json]
JsonObject = Mapping[str, Any]
