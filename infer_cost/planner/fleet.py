"""Several services on one fleet: each planned by itself or with others on the same model, whichever is cheaper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from infer_cost.checks import finite
from infer_cost.errors import InputError, unknown_name
from infer_cost.model_specs.catalog import model as find_model
from infer_cost.planner.candidates import Choice
from infer_cost.planner.demand import rate_of
from infer_cost.planner.plan import plans
from infer_cost.planner.result import Plan
from infer_cost.planner.sessions import session, session_traffic
from infer_cost.planner.traffic import Lengths, Promise, Traffic, promise, traffic
from infer_cost.units import parse


@dataclass(frozen=True, slots=True)
class Service:
    """Requests of one kind for one model, and what is promised about them."""

    name: str
    model: str
    traffic: Traffic
    promises: tuple[Promise, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the fleet: the services that share its engines, and the plan for them."""

    services: tuple[Service, ...]
    plan: Plan

    @property
    def output_tokens_per_s(self) -> float:
        """Output tokens a second of its services."""
        return sum(service.traffic.output_tokens_per_s for service in self.services)


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The whole fleet."""

    shares: tuple[Share, ...]
    unrouted_usd_per_hour: float | None
    """What it would cost if nothing were routed to a smaller model; None when nothing is."""

    @property
    def usd_per_hour(self) -> float:
        """Of all engines."""
        return sum(share.plan.usd_per_hour for share in self.shares)

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return sum(share.plan.gpus for share in self.shares)

    @property
    def power_w(self) -> float | None:
        """Power in all; None when a machine's isn't known."""
        powers = [share.plan.power_w for share in self.shares]
        return None if None in powers else sum(power for power in powers if power)

    @property
    def tokens_per_s_per_megawatt(self) -> float | None:
        """Output tokens a second for each megawatt."""
        power = self.power_w
        return sum(share.output_tokens_per_s for share in self.shares) / power * 1e6 if power else None


@dataclass(frozen=True, slots=True)
class _Row:
    """One ``[[service]]`` of a file, as it is written."""

    name: str
    model: str
    requests: str | float
    input_tokens: float = 1024.0
    output_tokens: float = 256.0
    input_variation: float = 0.0
    output_variation: float = 0.0
    prefix_reuse: str | float = 0.0
    burstiness: float = 1.0
    turns: int = 1
    reasoning_tokens: float = 0.0
    ttft: str | Sequence[str] = ()
    tpot: str | Sequence[str] = ()
    small_model: str | None = None
    small_share: str | float = 0.0
    """Share of the requests that the router sends to the small model."""


def read_fleet(path: Path) -> tuple[tuple[Service, ...], tuple[Service, ...]]:
    """Return the services of a TOML file, as the router divides them, and as they would be without it.

    Each ``[[service]]`` has a name, a model and a rate of ``requests``; lengths, ``prefix_reuse``, ``turns``,
    ``reasoning_tokens``, promises (``ttft``, ``tpot``), and ``small_model`` with ``small_share``.

    Raises
    ------
    InputError
        For a file that can't be read or holds what can't be.
    """
    from infer_cost.files import read_toml

    rows = read_toml(path, field="fleet", what="a fleet in TOML").get("service")
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path} has no [[service]]", field="fleet", allowed="one [[service]] or more")
    routed: list[Service] = []
    whole: list[Service] = []
    for number, raw in enumerate(rows, start=1):
        row = _row(raw, number)
        service = _service(row)
        whole.append(service)
        routed += _route(service, row)
    return tuple(routed), tuple(whole)


def _row(raw: Any, number: int) -> _Row:
    names = [field.name for field in fields(_Row)]
    if not isinstance(raw, Mapping):
        raise InputError(f"service {number} is no table", field="service", allowed="[[service]]")
    for name in raw:
        if name not in names:
            raise unknown_name(f"field of service {number}", name, names, field=name, hint=", ".join(names))
    for name in ("name", "model", "requests"):
        if name not in raw:
            raise InputError(f"service {number} has no {name}", field=name, allowed=f'{name} = "..."')
    return _Row(**raw)


def _service(row: _Row) -> Service:
    turn = traffic(
        rate_of(requests=str(row.requests)),
        _number(row, "input_tokens"),
        _number(row, "output_tokens"),
        input_variation=_number(row, "input_variation"),
        output_variation=_number(row, "output_variation"),
        reuse=parse(row.prefix_reuse, "ratio", field="prefix_reuse"),
        burstiness=_number(row, "burstiness"),
    )
    kept = session_traffic(turn, session(row.turns, _number(row, "reasoning_tokens")))
    return Service(row.name, row.model, kept, (*_promises("ttft", row.ttft), *_promises("tpot", row.tpot)))


def _number(row: _Row, name: str) -> float:
    return float(parse(getattr(row, name), "ratio", field=name))


def _promises(metric: Any, texts: str | Sequence[str]) -> list[Promise]:
    return [promise(metric, text) for text in ([texts] if isinstance(texts, str) else texts)]


def _route(service: Service, row: _Row) -> list[Service]:
    """Divide a service between its model and a smaller one."""
    share = finite("small_share", parse(row.small_share, "ratio", field="small_share"), high=1.0)
    if row.small_model is None or share == 0.0:
        return [service]
    small = replace(
        service,
        name=f"{service.name}, routed",
        model=row.small_model,
        traffic=replace(service.traffic, rate=service.traffic.rate * share),
    )
    if share == 1.0:
        return [small]
    return [replace(service, traffic=replace(service.traffic, rate=service.traffic.rate * (1.0 - share))), small]


def plan_fleet(
    services: Sequence[Service], choice: Choice, *, whole: Sequence[Service] = (), spare: int = 0
) -> FleetPlan:
    """Plan every service; those of one model share engines when that is cheaper than engines of their own.

    Parameters
    ----------
    services : sequence of Service
        As the router divides them.
    choice : Choice
        Machines, formats and cuts to choose between.
    whole : sequence of Service
        The same without the router, to see what it saves; none when there is none.
    spare : int
        Engines for failures, in each pool of each plan.

    Raises
    ------
    CannotBeMetError
        Naming the promise that fails.
    """
    names = list(dict.fromkeys(service.model for service in services))
    shares = [share for name in names for share in _one_model([s for s in services if s.model == name], choice, spare)]
    unrouted = None
    if whole and len(whole) < len(services):
        unrouted = plan_fleet(whole, choice, spare=spare).usd_per_hour
    return FleetPlan(tuple(shares), unrouted)


def _one_model(services: Sequence[Service], choice: Choice, spare: int) -> list[Share]:
    apart = [Share((service,), _cheapest([service], choice, spare)) for service in services]
    if len(services) == 1:
        return apart
    together = Share(tuple(services), _cheapest(services, choice, spare))
    return [together] if together.plan.usd_per_hour <= sum(share.plan.usd_per_hour for share in apart) else apart


def _cheapest(services: Sequence[Service], choice: Choice, spare: int) -> Plan:
    promises = dict.fromkeys(line for service in services for line in service.promises)
    asked = merged([service.traffic for service in services])
    return plans(find_model(services[0].model), asked, _strictest(list(promises)), choice, spare=spare, keep=2).best[0]


def _strictest(promises: Sequence[Promise]) -> list[Promise]:
    """One promise for each metric and percentile: the strictest, for engines don't tell services apart."""
    limits: dict[tuple[str, float], Promise] = {}
    for line in sorted(promises, key=lambda line: -line.limit_s):
        limits[line.metric, line.percentile] = line
    return list(limits.values())


def merged(parts: Sequence[Traffic]) -> Traffic:
    """Return several streams as one: rates add, lengths mix, reuse is by token.

    >>> one = traffic(1.0, 1000, 100)
    >>> both = merged([one, traffic(3.0, 200, 100)])
    >>> both.rate, both.inputs.mean, round(both.inputs.variation, 2)
    (4.0, 400.0, 0.87)
    """
    rate = sum(part.rate for part in parts)
    weights = [part.rate / rate for part in parts]
    inputs = _mixed([(weight, part.inputs) for weight, part in zip(weights, parts, strict=True)])
    outputs = _mixed([(weight, part.outputs) for weight, part in zip(weights, parts, strict=True)])
    reused = sum(w * part.reuse * part.inputs.mean for w, part in zip(weights, parts, strict=True)) / inputs.mean
    bursts = sum(w * part.burstiness for w, part in zip(weights, parts, strict=True))
    contexts = [part.context for part in parts if part.context]
    return Traffic(rate, inputs, outputs, min(reused, 1.0), bursts, max(contexts, default=None))


def _mixed(parts: Sequence[tuple[float, Lengths]]) -> Lengths:
    mean = sum(weight * lengths.mean for weight, lengths in parts)
    square = sum(weight * lengths.mean**2 * (1.0 + lengths.variation**2) for weight, lengths in parts)
    return Lengths(mean, math.sqrt(max(square / mean**2 - 1.0, 0.0)))
