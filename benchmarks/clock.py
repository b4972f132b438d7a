"""How long calls take: by the clock on the wall, and of the processor."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

Figures = dict[str, float]
Sample = tuple[float, float]  # seconds of one call: by the clock, and of the processor


class Clock:
    """How long something took, each time it was done.

    Attributes:
        samples: Of the processor only the calling thread counts: hardly longer on a busy machine.
    """

    def __init__(self) -> None:
        self.samples: list[Sample] = []

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that each call is timed."""

        @wraps(call)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            started, cpu_started = time.perf_counter(), time.thread_time()
            try:
                return call(*arguments, **options)
            finally:
                cpu = time.thread_time() - cpu_started
                self.samples.append((time.perf_counter() - started, cpu))

        return wrapped

    def clear(self) -> None:
        """Begin anew."""
        self.samples.clear()


def spread(name: str, samples: Sequence[Sample]) -> Figures:
    """Say what many short calls took."""
    ordered = sorted(seconds for seconds, _ in samples)
    half, most = (ordered[math.ceil(part * len(ordered)) - 1] for part in (0.5, 0.95))
    return {
        f"{name}_p50_ms": milliseconds(half),
        f"{name}_p95_ms": milliseconds(most),
        f"{name}_mean_ms": milliseconds(statistics.mean(ordered)),
        f"{name}_cpu_p50_ms": milliseconds(statistics.median(cpu for _, cpu in samples)),
        f"{name}_cpu_mean_ms": milliseconds(statistics.mean(cpu for _, cpu in samples)),
    }


def middle(name: str, samples: Sequence[Sample]) -> Figures:
    """Say what a few long calls took."""
    return {
        f"{name}_ms": milliseconds(statistics.median(seconds for seconds, _ in samples)),
        f"{name}_cpu_ms": milliseconds(statistics.median(cpu for _, cpu in samples)),
    }


def milliseconds(seconds: float) -> float:
    """Give a time to the microsecond."""
    return round(1000 * seconds, 3)
