"""Times of the stages that run on CPUs and networks in front of and behind the GPUs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infer_cost.checks import finite
from infer_cost.errors import unknown_name


@dataclass(frozen=True, slots=True)
class HostTime:
    """Seconds of one host-side step, with the range that sources give, and where they were read."""

    name: str
    stage: int
    low: float
    typical: float
    high: float
    source: str
    note: str = ""
    weak: bool = False

    @property
    def assumption(self) -> str:
        """The figure in words, for a reader who asks where it's from."""
        word = "assumed" if self.weak else "typical"
        return f"{self.name.replace('_', ' ')} {_words(self.typical)} ({word}; {self.source})"


def _words(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} µs"


@cache
def _known() -> dict[str, HostTime]:
    with (Path(__file__).parent / "data" / "host_times.toml").open("rb") as file:
        return {name: HostTime(name=name, **row) for name, row in tomllib.load(file).items()}


def host_times(overrides: Mapping[str, float] | None = None) -> dict[str, HostTime]:
    """Return all host times by name, the user's own in place of the bundled ones.

    Parameters
    ----------
    overrides : mapping, optional
        Seconds by name; the range shrinks to the value given.

    Raises
    ------
    UnknownNameError
        For a name that no stage has.
    InputError
        For a time that isn't finite and positive or zero.

    Examples
    --------
    >>> host_times({"router": 0.001})["router"].typical
    0.001
    """
    times = dict(_known())
    for name, seconds in (overrides or {}).items():
        key = name.strip().lower().replace("-", "_")
        if key not in times:
            raise unknown_name("stage latency", name, times, field="latency", hint=f"known: {', '.join(times)}")
        value = finite(f"latency {key}", seconds, high=3600.0, unit="s")
        times[key] = HostTime(key, times[key].stage, value, value, value, "yours")
    return times
