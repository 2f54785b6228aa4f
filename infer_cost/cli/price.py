"""``infer-cost price``: an API call's bill, conversations, tasks and blends, providers side by side."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

import typer

from infer_cost.errors import InputError

if TYPE_CHECKING:
    from infer_cost.pricing.blending import TrafficMix
    from infer_cost.pricing.rates import Rates
    from infer_cost.pricing.usage import Usage


def command(
    providers: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROVIDER/MODEL...", help="One, or several to compare; split at the first slash."),
    ] = None,
    input_tokens: Annotated[int, typer.Option(help="All input, cached and written parts included.")] = 0,
    output_tokens: Annotated[int, typer.Option(help="All output, reasoning included.")] = 0,
    cached_tokens: Annotated[int, typer.Option(help="Part of the input read from a cache.")] = 0,
    cache_write_5m_tokens: Annotated[
        int, typer.Option("--cache-write-5m-tokens", help="Part of the input written for five minutes.")
    ] = 0,
    cache_write_1h_tokens: Annotated[
        int, typer.Option("--cache-write-1h-tokens", help="Part of the input written for an hour.")
    ] = 0,
    reasoning_tokens: Annotated[int, typer.Option(help="Part of the output that is reasoning.")] = 0,
    input_audio_tokens: Annotated[int, typer.Option(help="Part of the input that is audio.")] = 0,
    output_audio_tokens: Annotated[int, typer.Option(help="Part of the output that is audio.")] = 0,
    input_image_tokens: Annotated[int, typer.Option(help="Part of the input that is images.")] = 0,
    output_image_tokens: Annotated[int, typer.Option(help="Part of the output that is images.")] = 0,
    web_searches: Annotated[int, typer.Option(help="Searches that the call made.")] = 0,
    service: Annotated[str, typer.Option(help="standard, batch, flex, priority or fast.")] = "standard",
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When: an ISO date or time, UTC. Now by default.")
    ] = None,
    prices: Annotated[str | None, typer.Option(metavar="FILE.toml", help="Your own price rows; they go first.")] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=USD", help="A price per million tokens; together they replace every list."),
    ] = None,
    questions: Annotated[int, typer.Option(min=0, help="Ask so often about one prefix: with and without a cache.")] = 0,
    prefix_tokens: Annotated[int, typer.Option(help="Part of the input that every question repeats.")] = 0,
    grows: Annotated[
        bool, typer.Option("--grows", help="Each question carries the earlier ones and their answers.")
    ] = False,
    ttl: Annotated[str, typer.Option(help="How long the cache keeps: 5m or 1h.")] = "5m",
    gap_minutes: Annotated[float, typer.Option(help="Time between questions.")] = 0.0,
    agent_steps: Annotated[
        int, typer.Option(min=0, help="A task in so many steps, each resending what came before.")
    ] = 0,
    tool_tokens: Annotated[int, typer.Option(help="What a tool's answer adds to the next step.")] = 0,
    retries: Annotated[int, typer.Option(help="Steps that are repeated.")] = 0,
    reloads: Annotated[int, typer.Option(help="Steps that find the cache lost.")] = 0,
    blend: Annotated[
        str | None, typer.Option(metavar="IN:OUT", help="One $/Mtok of a mix of traffic, such as 3:1.")
    ] = None,
    hit_rate: Annotated[str, typer.Option(help="Share of the blend's input read from a cache.")] = "0",
    write_share: Annotated[str, typer.Option(help="Share of the blend's input written to one.")] = "0",
    batch_share: Annotated[str, typer.Option(help="Share of the blend sent as batch.")] = "0",
    rows: Annotated[
        bool,
        typer.Option("--rows", help="List every price row of a model; the models of a provider; or the providers."),
    ] = False,
    reveal: Annotated[bool, typer.Option("--reveal", help="What the list gives away about how it is served.")] = False,
    hardware: Annotated[str | None, typer.Option(help="With --reveal: the machine to hold the prices against.")] = None,
    active_parameters: Annotated[
        str | None, typer.Option(metavar="LOW..HIGH", help="With --reveal: parameters at work for a token.")
    ] = None,
    choose: Annotated[
        str | None, typer.Option(metavar="FILE.toml", help="Rank providers by ten criteria that you filled in.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="With --choose: voice-agent, nightly-batch, autonomous-agent, regulated-enterprise, balanced."
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="The arithmetic, the row and its source.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Bill an API call at a provider's list price, exactly, at any date.

    With --questions, --agent-steps or --blend: a conversation, an agent's task or a mix of traffic instead.
    With several names: side by side, cheapest first.

    Example: infer-cost price openai/gpt-5 anthropic/claude-sonnet-4-5 --input-tokens 30k --output-tokens 500
    """
    from infer_cost.cli import price_insight_views as insight
    from infer_cost.cli import price_traffic_views as traffic
    from infer_cost.cli import price_views as views
    from infer_cost.pricing.book import find_rates, known_names, list_rows
    from infer_cost.pricing.rates import parse_time
    from infer_cost.pricing.usage import Usage

    show = views.Show(as_json, explain)
    moment = parse_time(at) if at else None
    own = _rates(rate or [])

    def find(name: str, how: str = service) -> Rates:
        return find_rates(name, service=how, at=moment, user_file=prices, rates=own)

    if choose is not None:
        insight.show_choice(choose, workload, show)
    elif rows and not (providers and "/" in providers[0]):
        views.show_names(known_names(*(providers or [])[:1], user_file=prices), show)
    elif not providers:
        raise InputError(
            "which provider?",
            field="provider",
            allowed="PROVIDER/MODEL, such as anthropic/claude-sonnet-4-5",
            hint="infer-cost price --rows lists the providers",
        )
    elif rows:
        views.show_rows(list_rows(providers[0], user_file=prices), show)
    elif reveal:
        insight.show_reveal(find(providers[0]), hardware, active_parameters, show)
    elif blend is not None:
        traffic.show_blends(providers, find, _mix(blend, hit_rate, write_share), batch_share, show)
    elif questions:
        from infer_cost.pricing.conversations import Conversation

        _refuse_parts(cached_tokens, cache_write_5m_tokens, cache_write_1h_tokens)
        new = input_tokens - prefix_tokens
        if new < 0 or not prefix_tokens:
            raise InputError(
                f"prefix-tokens is {prefix_tokens} of {input_tokens} input tokens",
                field="prefix_tokens",
                value=prefix_tokens,
                allowed=f"1 to {input_tokens}: the part of the input that every question repeats",
            )
        asked = Conversation(
            prefix_tokens, new, output_tokens, questions, grows, traffic.ttl_of(ttl), gap_minutes * 60.0
        )
        traffic.show_conversations(providers, find, asked, show)
    elif agent_steps:
        from infer_cost.pricing.tasks import AgentTask

        _refuse_parts(cached_tokens, cache_write_5m_tokens, cache_write_1h_tokens)
        task = AgentTask(input_tokens, agent_steps, output_tokens, tool_tokens, retries, reloads)
        traffic.show_tasks(providers, find, task, show)
    else:
        usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=cached_tokens,
            cache_write_5m_tokens=cache_write_5m_tokens,
            cache_write_1h_tokens=cache_write_1h_tokens,
            reasoning_tokens=reasoning_tokens,
            input_audio_tokens=input_audio_tokens,
            output_audio_tokens=output_audio_tokens,
            input_image_tokens=input_image_tokens,
            output_image_tokens=output_image_tokens,
            web_searches=web_searches,
        )
        _refuse_nothing(usage)
        views.show_bills(providers, find, usage, moment, show)


def _mix(blend: str, hit_rate: str, write_share: str) -> TrafficMix:
    from infer_cost.pricing.blending import TrafficMix, parse_fraction, parse_ratio

    return TrafficMix(
        *parse_ratio(blend), parse_fraction(hit_rate, "hit_rate"), parse_fraction(write_share, "write_share")
    )


def _rates(pairs: list[str]) -> dict[str, Decimal] | None:
    rates: dict[str, Decimal] = {}
    for pair in pairs:
        name, _, amount = pair.partition("=")
        try:
            rates[name.strip().replace("-", "_")] = Decimal(amount)
        except InvalidOperation:
            raise InputError(
                f"can't read the rate {pair[:40]!r}",
                field="rate",
                value=pair,
                allowed="NAME=USD, such as input=3 or cache_read=0.30",
            ) from None
    return rates or None


def _refuse_parts(*counts: int) -> None:
    if any(counts):
        raise InputError(
            "cached and written tokens follow from the conversation or task",
            field="cached_tokens",
            hint="leave --cached-tokens and --cache-write-... away; see --prefix-tokens, --ttl, --reloads",
        )


def _refuse_nothing(usage: Usage) -> None:
    if not (usage.input_tokens or usage.output_tokens or usage.web_searches):
        raise InputError(
            "the call uses nothing",
            field="input_tokens",
            allowed="--input-tokens N, --output-tokens N, --questions N, --agent-steps N or --blend IN:OUT",
        )
