"""How a plan is printed, and its JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from infer_cost.cli.output import bold, count, dollars, seconds, table, three_digits, wrap

if TYPE_CHECKING:
    from infer_cost.planner.explain import Flip, Share
    from infer_cost.planner.plan import Plans
    from infer_cost.planner.result import Plan, PoolPlan
    from infer_cost.planner.scaling import Scaled
    from infer_cost.planner.traffic import Promise, Traffic

    Placed = tuple[Plans, Traffic]


def print_plans(
    answer: Plans,
    traffic: Traffic,
    promises: Sequence[Promise],
    top: int,
    flags: Sequence[str],
    other: Placed | None = None,
    scaled: Scaled | None = None,
) -> None:
    """Print the plans, why the first one wins, and what would change that."""
    best = answer.best[0]
    print(bold(f"{best.label}: {dollars(best.usd_per_hour)} an hour") + "\n")
    print(_plan_table(answer.best[:top]))
    print()
    _facts(best, traffic)
    print("\nWhy:")
    for line in _reasons(answer, traffic, promises):
        print(wrap(f"- {line}"))
    for line in _asides(answer, traffic, other, scaled):
        print(wrap(f"- {line}"))
    changes = _changes(answer, promises)
    if changes:
        print("\nWhat would change the choice:")
        for flip in changes:
            cost = f" ({dollars(flip.usd_per_hour)} an hour)" if flip.usd_per_hour else ""
            print(wrap(f"- {flip.change}: {flip.winner}{cost}"))
    _commands(best, traffic, flags)
    print("\nAssumed:")
    for line in _assumptions(answer, traffic):
        print(wrap(f"- {line}"))


def _plan_table(plans: Sequence[Plan]) -> str:
    promised = [f"{promise.metric.upper()} p{promise.percentile:g}" for promise in plans[0].promised]
    header = ["plan", "GPUs", "$/hour", "$/M output", *promised, "busy", "headroom"]
    rows: list[list[str]] = []
    for plan in plans:
        # A pool a line: a table cuts long names, and it is the second pool that tells plans apart.
        first, *others = plan.label.split(" + ")
        figures = [
            count(plan.gpus),
            three_digits(plan.usd_per_hour),
            three_digits(plan.usd_per_million_output_tokens),
            *(seconds(value) for value in plan.percentiles_s),
            "/".join(f"{pool.busy:.0%}" for pool in plan.pools),
            f"{plan.headroom - 1.0:+.0%}",
        ]
        rows.append([first, *figures])
        rows += [[f"  + {name}", *[""] * len(figures)] for name in others]
    return table(header, rows)


def _facts(plan: Plan, traffic: Traffic) -> None:
    power = f"{plan.power_w / 1e3:,.1f} kW" if plan.power_w else "-"
    per_watt = (
        f", {count(traffic.output_tokens_per_s / plan.power_w * 1e6)} output tokens/s a megawatt"
        if plan.power_w
        else ""
    )
    rows = [
        ("traffic", f"{three_digits(traffic.rate)} requests/s, {count(traffic.output_tokens_per_s)} output tokens/s"),
        ("a request", dollars(plan.usd_per_request)),
        ("a month of 730 hours", dollars(plan.usd_per_hour * 730.0)),
        ("power", power + per_watt),
    ]
    for name, value in rows:
        print(f"{name:<24}{value}")
    for pool in plan.pools:
        role = {"both": "each engine", "prefill": "each prefill engine", "decode": "each decode engine"}[pool.role]
        flight = f", {pool.in_flight} requests in flight" if pool.role != "prefill" else ""
        spare = f"; {pool.spare} of {pool.engines} are spare" if pool.spare else ""
        print(f"{role:<24}{three_digits(pool.rate)} requests/s{flight}{spare}")


def _reasons(answer: Plans, traffic: Traffic, promises: Sequence[Promise]) -> list[str]:
    from infer_cost.planner.explain import binding, first_token_shares, token_shares

    best = answer.best[0]
    lines = []
    for pool in best.pools:
        role = "" if pool.role == "both" else f"{pool.role} pool: "
        lines.append(f"{role}it binds on {binding(pool, traffic, promises, best.transfer_s).text}")
        for name, shares in (
            ("a first token", first_token_shares(pool, traffic, best.transfer_s)),
            ("an output token", token_shares(pool, traffic)),
        ):
            if shares:
                lines.append(f"{role}{name} takes {_shares(shares)}")
    if len(answer.best) > 1:
        second = answer.best[1]
        dearer = second.usd_per_hour / best.usd_per_hour - 1.0
        lines.append(f"runner-up: {second.label}, {f'{dearer:.0%} dearer' if dearer > 0.0005 else 'at the same cost'}")
    other = next((plan for plan in answer.best if plan.layout != best.layout), None)
    if other is not None:
        name = {"together": "prefill and decode on the same engines", "apart": "pools of their own"}[other.layout]
        lines.append(f"{name} would cost {dollars(other.usd_per_hour)} an hour: {other.label}")
    return lines


def _asides(answer: Plans, traffic: Traffic, other: Placed | None, scaled: Scaled | None) -> list[str]:
    """What another placement of sessions would cost, and what engines that follow the day would."""
    lines = []
    if other is not None:
        plan, asked = other[0].best[0], other[1]
        how = "kept where their cache is" if asked.reuse > traffic.reuse else "spread at random"
        lines.append(
            f"{traffic.reuse:.0%} of the prompt is found cached; with sessions {how} it would be {asked.reuse:.0%}, "
            f"at {dollars(plan.usd_per_hour)} an hour instead of {dollars(answer.best[0].usd_per_hour)}"
        )
    if scaled is not None:
        start = scaled.start
        lines.append(
            f"engines that follow the day, {scaled.fewest} to {scaled.most} of them, cost "
            f"{dollars(scaled.usd_per_day)} a day instead of {dollars(scaled.fixed_usd_per_day)}, "
            f"{scaled.saving:.0%} less; each starts in {seconds(start.total_s)}: "
            f"{seconds(start.load_s)} to load weights ({start.source}), "
            f"{seconds(start.start_s)} for the rest (assumed)"
        )
    return lines


def _shares(shares: Sequence[Share]) -> str:
    whole = sum(share.seconds for share in shares)
    parts = [f"{share.cause} {share.seconds / whole:.0%}" for share in shares if share.seconds > 0.03 * whole]
    return f"{seconds(whole)} on average: {', '.join(parts)}"


def _changes(answer: Plans, promises: Sequence[Promise]) -> list[Flip]:
    from infer_cost.planner.explain import price_flips, promise_flips

    return [*price_flips(answer.best)[:2], *promise_flips(answer.best[0], promises, answer.again)]


def _commands(plan: Plan, traffic: Traffic, flags: Sequence[str]) -> None:
    from infer_cost.planner.flags import engine_flags

    for pool in plan.pools:
        role = "" if pool.role == "both" else f", {pool.role}"
        for engine in flags:
            print(f"\nStart each engine ({engine}{role}):\n  {engine_flags(pool, traffic, engine)}")
    if plan.layout == "together":
        print("\nCheck its means (a first token waits longer in its closed loop):")
        print(f"  {estimate_command(plan.pools[0], traffic)}")


def estimate_command(pool: PoolPlan, traffic: Traffic) -> str:
    """Return the command line that gives the mean times of a pool's engines."""
    from infer_cost.planner.explain import estimate_options

    plan = pool.candidate.engine.deployment
    words = [f"--{name.replace('_', '-')} {value}" for name, value in estimate_options(pool, traffic).items()]
    return f"infer-cost estimate {plan.model.name} --hardware {plan.machine.id} {' '.join(words)}"


def _assumptions(answer: Plans, traffic: Traffic) -> list[str]:
    best = answer.best[0]
    said = [
        f"{pool.candidate.machine.id}: ${pool.candidate.price.usd_per_hour:g} a GPU-hour, "
        f"{pool.candidate.price.tier}: {pool.candidate.price.source}"
        for pool in {pool.candidate.machine.id: pool for pool in best.pools}.values()
    ]
    for lengths, name in ((traffic.inputs, "input"), (traffic.outputs, "output")):
        kind = f"log-normal, coefficient of variation {lengths.variation:.2g}" if lengths.variation else "all alike"
        said.append(f"{name} {lengths.mean:,.0f} tokens on average, {kind}")
    arrivals = (
        "independent of each other" if traffic.burstiness == 1.0 else f"Gamma, {traffic.burstiness:g} times as bursty"
    )
    said.append(f"arrivals {arrivals}, divided over the engines at random")
    if best.methods:
        how = {"formula": "queueing formulas", "simulation": "a simulation, for the formulas don't hold here"}
        said.append(f"percentiles from {' and '.join(how[method] for method in dict.fromkeys(best.methods))}")
    else:
        said.append("nothing is promised about latency: every engine is kept full")
    promised = {promise.metric for promise in best.promised}
    if promised == {"tpot"}:
        said.append("nothing is promised about the first token, which may wait long; --ttft 2s promises it")
    elif promised == {"ttft"}:
        said.append("nothing is promised about the tokens after the first, which may be slow; --tpot 50ms promises it")
    if len(best.pools) > 1 and "ttft" in promised:
        said.append(
            "two pools: first tokens of published runs take some 40 % longer than predicted; "
            "--layout together plans without them"
        )
    if any(dict(pool.candidate.settings).get("weights") for pool in best.pools):
        said.append(
            "weights in another format than the checkpoint's; whether the answers stay good enough is yours to test"
        )
    if answer.unpriced:
        said.append(f"left out without a price: {', '.join(answer.unpriced)}")
    said.append(f"{count(answer.looked_at)} engines were considered")
    return said


def document(
    answer: Plans,
    traffic: Traffic,
    promises: Sequence[Promise],
    top: int,
    flags: Sequence[str],
    other: Placed | None = None,
    scaled: Scaled | None = None,
) -> dict[str, Any]:
    """Return the answer as what JSON knows."""
    return {
        "plans": [_plan_document(plan, traffic) for plan in answer.best[:top]],
        "promises": [
            {"metric": promise.metric, "percentile": promise.percentile, "limit_s": promise.limit_s}
            for promise in promises
        ],
        "requests_per_s": traffic.rate,
        "output_tokens_per_s": traffic.output_tokens_per_s,
        "input_tokens": traffic.inputs.mean,
        "cached_share": traffic.reuse,
        "other_placement": None
        if other is None
        else {"cached_share": other[1].reuse, "usd_per_hour": other[0].best[0].usd_per_hour},
        "following_the_day": None
        if scaled is None
        else {
            "usd_per_day": scaled.usd_per_day,
            "fixed_usd_per_day": scaled.fixed_usd_per_day,
            "fewest_engines": scaled.fewest,
            "most_engines": scaled.most,
            "cold_start_s": scaled.start.total_s,
        },
        "why": _reasons(answer, traffic, promises),
        "flips": [
            {"change": flip.change, "winner": flip.winner, "usd_per_hour": flip.usd_per_hour}
            for flip in _changes(answer, promises)
        ],
        "commands": _command_lines(answer.best[0], traffic, flags),
        "assumptions": _assumptions(answer, traffic),
        "engines_considered": answer.looked_at,
    }


def _command_lines(plan: Plan, traffic: Traffic, flags: Sequence[str]) -> list[dict[str, str]]:
    from infer_cost.planner.flags import engine_flags

    return [
        {"role": pool.role, "engine": engine, "command": engine_flags(pool, traffic, engine)}
        for pool in plan.pools
        for engine in flags
    ]


def _plan_document(plan: Plan, traffic: Traffic) -> dict[str, Any]:
    return {
        "label": plan.label,
        "layout": plan.layout,
        "gpus": plan.gpus,
        "usd_per_hour": plan.usd_per_hour,
        "cost_per_million_output_tokens_usd": plan.usd_per_million_output_tokens,
        "cost_usd": plan.usd_per_request,
        "power_w": plan.power_w,
        "headroom": plan.headroom,
        "percentiles": [
            {"metric": promise.metric, "percentile": promise.percentile, "seconds": value, "method": method}
            for promise, value, method in zip(plan.promised, plan.percentiles_s, plan.methods, strict=True)
        ],
        "kv_transfer_s": plan.transfer_s,
        "pools": [_pool_document(pool, traffic) for pool in plan.pools],
    }


def _pool_document(pool: PoolPlan, traffic: Traffic) -> dict[str, Any]:
    from infer_cost.planner.explain import estimate_options

    return {
        "role": pool.role,
        "hardware": pool.candidate.machine.id,
        "settings": dict(pool.candidate.settings),
        "gpus_per_engine": pool.candidate.gpus,
        "engines": pool.engines,
        "spare": pool.spare,
        "requests_per_s_per_engine": pool.rate,
        "most_requests_per_s_per_engine": pool.most,
        "busy": pool.busy,
        "prefill_busy": pool.point.prefill_busy,
        "in_flight": pool.in_flight,
        "cache_full_share": pool.full,
        "tpot_mean_s": pool.point.token_s,
        "price_per_gpu_hour_usd": pool.candidate.price.usd_per_hour,
        "estimate": estimate_options(pool, traffic),
    }
