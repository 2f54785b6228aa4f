"""``infer-cost plan``: the cheapest deployment that keeps a service level under some traffic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import Explain, Json, Option, with_options

if TYPE_CHECKING:
    from infer_cost.planner.candidates import Choice
    from infer_cost.planner.traffic import Traffic

_TEXT = str | None
_INT = int | None
_NUMBER = float | None

_TRAFFIC = (
    Option("requests", _TEXT, None, "Requests: 20/s, 100k/d; or a number, with --within.", "RATE"),
    Option("output_rate", _TEXT, None, "Output tokens instead: 1B/d.", "RATE"),
    Option("within", _TEXT, None, "A batch: so many --requests, done in this time (8 h).", "TIME"),
    Option("input_tokens", str, "1024", "Prompt tokens of the mean request (100k).", "N"),
    Option("output_tokens", str, "256", "Output tokens of the mean request.", "N"),
    Option("input_variation", float, 0.0, "Standard deviation of the prompt lengths over their mean.", "RATIO"),
    Option("output_variation", float, 0.0, "The same of the output lengths.", "RATIO"),
    Option("prefix_reuse", str, "0", "Share of the prompt found in the prefix cache (90%).", "SHARE"),
    Option("turns", int, 1, "Requests of a conversation; each brings all that was said before.", "N"),
    Option("reasoning_tokens", str, "0", "Tokens generated before each answer.", "N"),
    Option("placement", str, "cache-aware", "Where a session's next turn goes: cache-aware or random.", "HOW"),
    Option("burstiness", float, 1.0, "1 for independent users; 4 for bursts twice as wide.", "RATIO"),
    Option("peak_factor", float, 1.0, "Peak over mean traffic, when the rate is a mean.", "RATIO"),
    Option("growth", str, "0", "Growth to plan for on top (50%).", "SHARE"),
    Option("context", _INT, None, "Tokens of the longest request to be accepted.", "N"),
)
_LEVEL = (
    Option("ttft", list[str], [], "Promised time to first token: p99=500ms; a bare time is meant at p99.", "PROMISE"),
    Option("tpot", list[str], [], "Promised time per output token: p99=30ms.", "PROMISE"),
)
_CHOICE = (
    Option("hardware", list[str], [], "Machines to choose from; all with a price by default.", "NAMES"),
    Option("weights", _TEXT, None, "Weight formats to choose from.", "FORMATS"),
    Option("kv", _TEXT, None, "KV-cache formats to choose from.", "FORMATS"),
    Option("tp", _TEXT, None, "Tensor-parallel sizes to choose from.", "SIZES"),
    Option("pp", _TEXT, None, "Pipeline stages to choose from.", "SIZES"),
    Option("dp", _TEXT, None, "Attention-data-parallel sizes to choose from.", "SIZES"),
    Option("ep", _TEXT, None, "Expert-parallel sizes to choose from.", "SIZES"),
    Option("engine", str, "generic", "vllm, sglang, trtllm, ... or generic.", "NAME"),
    Option("speculative", _TEXT, None, "Speculation to choose from: none, mtp, eagle, draft.", "METHODS"),
    Option("layout", str, "any", "together, apart (pools for prefill and decode), or any.", "LAYOUT"),
    Option("price_per_gpu_hour", list[str], [], "Your price: 2.50 for all, h100-sxm=2.50 for one.", "USD"),
    Option("price_tier", _TEXT, None, "A price tier of the catalog.", "TIER"),
)
_BUDGET = (
    Option("daily_swing", float | None, None, "Peak over trough of a day: what engines that follow it cost.", "RATIO"),
    Option("weights_from", str, "disk", "Where a starting engine loads from: disk, dram or peer.", "PLACE"),
    Option("spare", int, 0, "Engines kept for failures, in each pool.", "N"),
    Option("max_cost_per_hour", _TEXT, None, "Budget an hour.", "USD"),
    Option("max_gpus", _INT, None, "GPUs at most.", "N"),
    Option("max_power", _TEXT, None, "Power at most (100 kW).", "WATT"),
)


@with_options(_TRAFFIC, _LEVEL, _CHOICE, _BUDGET)
def command(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A catalog name, a config.json, or a Hugging Face id.")
    ] = None,
    fleet: Annotated[
        Path | None, typer.Option(help="Several services instead: a TOML file of [[service]] tables.", metavar="FILE")
    ] = None,
    top: Annotated[int, typer.Option(help="Plans to show.", metavar="N")] = 5,
    flags: Annotated[str, typer.Option(help="Command lines for: vllm, sglang, trtllm.", metavar="ENGINES")] = "vllm",
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Find the cheapest deployment that keeps a service level: engines, replicas, pools, formats, and why.

    Example: infer-cost plan llama-3.1-70b --requests 20/s --input-tokens 1500 --output-tokens 300 --ttft p99=500ms
    --tpot 30ms
    """
    from infer_cost.checks import whole

    whole("top", top, high=1000)
    engines = [name.strip() for name in flags.split(",") if name.strip()]
    _check_flags(engines)
    if (model is None) == (fleet is None):
        from infer_cost.errors import InputError

        raise InputError("say what is served", field="model", allowed="a MODEL, or --fleet FILE")
    if fleet is not None:
        _fleet(fleet, options, as_json, explain)
    else:
        _single(str(model), options, top, engines, as_json, explain)


def _single(model: str, options: dict[str, Any], top: int, engines: list[str], as_json: bool, explain: bool) -> None:
    from infer_cost.cli.explanation import emit_explained, print_chains
    from infer_cost.cli.plan_views import document, print_plans
    from infer_cost.model_specs.catalog import model as find_model
    from infer_cost.planner.placement import PLACEMENTS, placed
    from infer_cost.planner.plan import Plans, plans
    from infer_cost.planner.scaling import follow
    from infer_cost.planner.sessions import session
    from infer_cost.planner.traffic import promise
    from infer_cost.units import parse

    promises = [promise("ttft", text) for text in options["ttft"]] + [promise("tpot", text) for text in options["tpot"]]
    found, choice, budgets, layouts = (
        find_model(model),
        _choice(options),
        _budgets(options),
        _layouts(options["layout"]),
    )
    spare = _whole("spare", options["spare"])
    kind = session(options["turns"], parse(options["reasoning_tokens"], "token", field="reasoning_tokens"))
    turn = _traffic(options)

    def plan_for(asked: Traffic) -> Plans:
        return plans(found, asked, promises, choice, budgets=budgets, spare=spare, layouts=layouts)

    placement = _one_of("placement", options["placement"], PLACEMENTS)
    answer, traffic = placed(plan_for, turn, kind, placement)
    other = None
    if kind.turns > 1:
        other = placed(plan_for, turn, kind, "random" if placement == "cache-aware" else "cache-aware")
    scaled = None
    if options["daily_swing"] is not None:
        source = _one_of("weights_from", options["weights_from"], ("disk", "dram", "peer"), "place")
        scaled = follow(answer.best[0], options["daily_swing"], source)
    told = None
    if explain:
        from infer_cost.planner.explained_plan import plan_chains

        told = plan_chains(answer.best[0], traffic)
    if as_json:
        emit_explained(document(answer, traffic, promises, top, engines, other, scaled), told)
        return
    print_plans(answer, traffic, promises, top, engines, other, scaled)
    if told:
        print_chains(told, "How the cheapest plan was worked out")


def _fleet(path: Path, options: dict[str, Any], as_json: bool, explain: bool) -> None:
    from infer_cost.cli.explanation import emit_explained, print_chains
    from infer_cost.cli.fleet_views import document, print_fleet
    from infer_cost.planner.fleet import plan_fleet, read_fleet

    routed, whole = read_fleet(path)
    answer = plan_fleet(routed, _choice(options), whole=whole, spare=_whole("spare", options["spare"]))
    told = None
    if explain:
        from infer_cost.planner.explained_plan import fleet_chains

        told = fleet_chains(answer)
    if as_json:
        emit_explained(document(answer), told)
        return
    print_fleet(answer)
    if told:
        print_chains(told)


def _whole(field: str, value: int) -> int:
    from infer_cost.checks import whole

    return whole(field, value, low=0, high=1000)


def _one_of(field: str, name: str, known: Sequence[str], kind: str = "") -> Any:
    from infer_cost.errors import unknown_name

    if name not in known:
        raise unknown_name(kind or field, name, known, field=field, hint=", ".join(known))
    return name


def _check_flags(engines: list[str]) -> None:
    from infer_cost.planner.flags import ENGINES

    for name in engines:
        _one_of("flags", name, ENGINES, "engine")


def _traffic(options: dict[str, Any]) -> Traffic:
    from infer_cost.planner.demand import rate_of
    from infer_cost.planner.traffic import traffic
    from infer_cost.units import parse

    prompt, answer = (parse(options[name], "token", field=name) for name in ("input_tokens", "output_tokens"))
    return traffic(
        rate_of(
            requests=options["requests"],
            output_rate=options["output_rate"],
            within=options["within"],
            output_tokens=max(answer, 1.0),
            peak_factor=options["peak_factor"],
            growth=options["growth"],
        ),
        prompt,
        answer,
        input_variation=options["input_variation"],
        output_variation=options["output_variation"],
        reuse=parse(options["prefix_reuse"], "ratio", field="prefix_reuse"),
        burstiness=options["burstiness"],
        context=options["context"],
    )


def _choice(options: dict[str, Any]) -> Choice:
    from infer_cost.hardware_specs.catalog import hardware
    from infer_cost.planner.axes import axis
    from infer_cost.planner.candidates import Choice, default_machines
    from infer_cost.planner.demand import prices_of

    names = [name.strip() for text in options["hardware"] for name in text.split(",") if name.strip()]
    sizes: dict[str, Any] = {
        name: tuple(axis(name, options[name], "int")) for name in ("tp", "pp", "dp", "ep") if options[name]
    }
    texts: dict[str, Any] = {
        name: tuple(axis(name, options[name], "str")) for name in ("weights", "kv", "speculative") if options[name]
    }
    return Choice(
        tuple(hardware(name) for name in names or default_machines()),
        engine=options["engine"],
        prices=prices_of(options["price_per_gpu_hour"]),
        price_tier=options["price_tier"],
        **sizes,
        **texts,
    )


def _budgets(options: dict[str, Any]) -> Any:
    from infer_cost.planner.plan import Budgets
    from infer_cost.units import parse

    money, power = options["max_cost_per_hour"], options["max_power"]
    return Budgets(
        parse(money, "USD/h", field="max_cost_per_hour") if money else None,
        options["max_gpus"],
        parse(power, "W", field="max_power") if power else None,
    )


def _layouts(name: str) -> tuple[Any, ...]:
    layouts = ("together", "apart")
    return layouts if _one_of("layout", name, ("any", *layouts)) == "any" else (name,)
