"""Choosing a provider: ten weighted criteria, hard requirements, and how firm the ranking is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infer_cost.errors import CannotBeMetError, InputError, unknown_name

CRITERIA = (
    "latency",
    "cost",
    "reliability",
    "throughput",
    "compliance",
    "residency",
    "determinism",
    "coverage",
    "deployment",
    "portability",
)
"""Latency is the p99 time of an answer, cost the blended price, reliability the functional availability."""

PRESETS: Mapping[str, tuple[float, ...]] = {
    "balanced": (1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "voice-agent": (5, 2, 4, 2, 1, 1, 1, 1, 1, 1),
    "nightly-batch": (0, 6, 1, 3, 1, 1, 1, 1, 1, 1),
    "autonomous-agent": (2, 4, 3, 4, 1, 1, 2, 1, 1, 1),
    "regulated-enterprise": (1, 1, 3, 1, 5, 5, 3, 1, 3, 1),
}
"""Weights in the order of the criteria. They are a judgement to start from, not a measurement."""


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of one provider: three measurements and seven scores from 0 to 10."""

    name: str
    p99_ttft_ms: float
    p99_itl_ms: float
    usd_per_mtok: float
    functional_availability: float
    """Share of calls answered in time, unrefused, by the model that was asked for."""
    scores: Mapping[str, float]
    has: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a provider must have to be considered."""

    max_p99_ttft_ms: float | None = None
    max_p99_itl_ms: float | None = None
    max_usd_per_mtok: float | None = None
    min_functional_availability: float | None = None
    has: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A provider's points, 0 to 10, by criterion and in all."""

    provider: Provider
    points: Mapping[str, float]
    total: float


@dataclass(frozen=True, slots=True)
class Tipping:
    """The weight at which another provider takes the lead, the other weights as they are."""

    criterion: str
    weight: float
    leader_at: float
    new_leader: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The ranking, who was filtered out and why, and what would change it."""

    ranking: tuple[Ranked, ...]
    excluded: tuple[tuple[str, str], ...]
    weights: Mapping[str, float]
    tipping_points: tuple[Tipping, ...]


def choose(
    providers: Sequence[Provider],
    weights: Mapping[str, float],
    require: Requirements | None = None,
    *,
    output_tokens: int = 300,
) -> Choice:
    r"""Rank providers by weighted points.

    .. math:: P_j = \frac{\sum_i w_i p_{ij}}{\sum_i w_i}

    Parameters
    ----------
    providers : sequence of Provider
        Measurements and scores.
    weights : mapping
        Weight of each criterion, not negative; missing ones are zero.
    require : Requirements, optional
        Hard requirements.
    output_tokens : int
        Length of the answer whose p99 time counts as latency [token].

    Returns
    -------
    Choice
        Ranking, exclusions and tipping points.

    Raises
    ------
    CannotBeMetError
        If no provider meets the requirements.

    Notes
    -----
    A measured criterion gives ``10 · best / value``: twice as slow, dear or unreliable is half the points. The time
    of an answer is ``TTFT + (output - 1) · ITL`` at p99, an upper bound, since both tails rarely come together.

    Examples
    --------
    >>> scores = dict.fromkeys(CRITERIA[3:], 5.0)
    >>> fast = Provider("fast", 120, 1, 0.6, 0.999, scores)
    >>> cheap = Provider("cheap", 500, 20, 0.2, 0.998, scores)
    >>> [one.provider.name for one in choose([fast, cheap], {"latency": 3, "cost": 1}).ranking]
    ['fast', 'cheap']
    >>> choose([fast, cheap], {"latency": 1, "cost": 3}).ranking[0].provider.name
    'cheap'
    """
    full = {name: float(weights.get(name, 0.0)) for name in CRITERIA}
    if sum(full.values()) <= 0:
        raise InputError("all weights are zero", field="weights", allowed="at least one above zero")
    fit, excluded = _filtered(providers, require or Requirements())
    if not fit:
        raise CannotBeMetError(
            f"none of {len(providers)} providers meets the requirements",
            field="require",
            hint="; ".join(f"{name}: {why}" for name, why in excluded[:3]),
        )
    points = [_points(one, fit, output_tokens) for one in fit]
    ranking = tuple(
        sorted(
            (Ranked(one, mine, _total(mine, full)) for one, mine in zip(fit, points, strict=True)),
            key=lambda ranked: (-ranked.total, ranked.provider.name),
        )
    )
    return Choice(ranking, tuple(excluded), full, _tipping_points(ranking, full))


def choose_from_file(path: str | Path, workload: str | None = None) -> Choice:
    """Rank the providers of a TOML file that the user filled in; ``workload`` replaces the file's.

    Raises
    ------
    InputError
        If the file can't be read, or a key or value is wrong.
    """
    from infer_cost.economics.choice_schema import read_choice
    from infer_cost.files import read_toml

    document = read_toml(path, field="choose")
    file = read_choice(document, str(path))
    name = workload or file.workload
    if name not in PRESETS:
        raise unknown_name("workload", name, PRESETS, field="workload", hint=f"known: {', '.join(PRESETS)}")
    weights: dict[str, float] = dict(zip(CRITERIA, PRESETS[name], strict=True))
    weights.update({str(criterion): weight for criterion, weight in file.weights.items()})
    need = file.require
    providers = [
        Provider(
            one.name,
            one.p99_ttft_ms,
            one.p99_itl_ms,
            one.usd_per_mtok,
            one.functional_availability,
            {str(criterion): score for criterion, score in one.scores.items()},
            frozenset(one.has),
        )
        for one in file.provider
    ]
    require = Requirements(
        need.max_p99_ttft_ms,
        need.max_p99_itl_ms,
        need.max_usd_per_mtok,
        need.min_functional_availability,
        frozenset(need.has),
    )
    return choose(providers, weights, require, output_tokens=file.output_tokens)


def _filtered(providers: Sequence[Provider], require: Requirements) -> tuple[list[Provider], list[tuple[str, str]]]:
    fit: list[Provider] = []
    excluded: list[tuple[str, str]] = []
    for one in providers:
        reason = _reason_against(one, require)
        if reason:
            excluded.append((one.name, reason))
        else:
            fit.append(one)
    return fit, excluded


def _reason_against(one: Provider, require: Requirements) -> str:
    limits = (
        ("p99 TTFT", one.p99_ttft_ms, require.max_p99_ttft_ms, "ms"),
        ("p99 ITL", one.p99_itl_ms, require.max_p99_itl_ms, "ms"),
        ("blended price", one.usd_per_mtok, require.max_usd_per_mtok, "$/Mtok"),
    )
    for name, value, limit, unit in limits:
        if limit is not None and value > limit:
            return f"{name} {value:g} {unit}, {limit:g} at most"
    least = require.min_functional_availability
    if least is not None and one.functional_availability < least:
        return f"functional availability {one.functional_availability:.3%}, {least:.3%} at least"
    missing = sorted(require.has - one.has)
    return f"lacks {', '.join(missing)}" if missing else ""


def _points(one: Provider, all_fit: Sequence[Provider], output_tokens: int) -> dict[str, float]:
    def relative(value: float, values: list[float]) -> float:
        return 10.0 * min(values) / value if value > 0 else 10.0

    times = [answer_time_ms(other, output_tokens) for other in all_fit]
    # A provider that never failed is rated as if it failed once in a million calls.
    failures = [max(1e-6, 1.0 - other.functional_availability) for other in all_fit]
    measured = {
        "latency": relative(answer_time_ms(one, output_tokens), times),
        "cost": relative(one.usd_per_mtok, [other.usd_per_mtok for other in all_fit]),
        "reliability": relative(max(1e-6, 1.0 - one.functional_availability), failures),
    }
    return {name: measured.get(name, one.scores.get(name, 0.0)) for name in CRITERIA}


def answer_time_ms(one: Provider, output_tokens: int) -> float:
    """Return the p99 time of an answer [ms]: ``TTFT + (output - 1) · ITL``.

    >>> answer_time_ms(Provider("a", 400.0, 20.0, 1.0, 1.0, {}), 101)
    2400.0
    """
    return one.p99_ttft_ms + (output_tokens - 1) * one.p99_itl_ms


def _total(points: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(points[name] * weight for name, weight in weights.items()) / sum(weights.values())


def _tipping_points(ranking: Sequence[Ranked], weights: Mapping[str, float]) -> tuple[Tipping, ...]:
    """Return, for each criterion, the nearest weight at which the leader changes; the lead is linear in it."""
    leader = ranking[0]
    found = []
    for name in CRITERIA:
        candidates = []
        for other in ranking[1:]:
            lead = sum(
                weight * (leader.points[key] - other.points[key]) for key, weight in weights.items() if key != name
            )
            slope = leader.points[name] - other.points[name]
            if slope and -lead / slope >= 0:
                candidates.append((abs(-lead / slope - weights[name]), -lead / slope, other.provider.name))
        if candidates:
            _, at, new = min(candidates)
            found.append(Tipping(name, weights[name], at, new))
    return tuple(sorted(found, key=lambda tip: abs(tip.leader_at - tip.weight)))
