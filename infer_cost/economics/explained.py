"""Your own price of a token explained: from the GPU-hour over a request to a million tokens."""

from __future__ import annotations

from collections.abc import Iterator

from infer_cost.economics.own import OwnCost
from infer_cost.steps import Chain, Input, Step


def own_cost_chain(cost: OwnCost) -> Chain:
    """Return the steps from the price of a GPU-hour to that of a token and of a successful request.

    Parameters
    ----------
    cost : OwnCost
        What they lead to

    Returns
    -------
    Chain
        With the expected values of ``cost``
    """
    option = "your option, or its default"
    inputs = (
        Input("GPU-hour p", cost.gpu_hour.usd, "USD/h", f"{cost.gpu_hour.tier}: {cost.gpu_hour.source}"),
        Input("GPUs", cost.gpus, "GPU", option),
        Input("input tokens I", cost.input_tokens, "token", option),
        Input("output tokens O", cost.output_tokens, "token", option),
        Input("utilization u", cost.utilization, "ratio", option),
        Input("output tokens a second", cost.output_tokens_per_s, "token/s", "the estimate's, all GPUs, expected"),
    )
    return Chain(f"{cost.gpus} x {cost.hardware}", (*_hour(cost), *_tokens(cost)), inputs)


def _hour(cost: OwnCost) -> Iterator[Step]:
    """Parts of an owned GPU's hour; a rent has none."""
    if cost.gpu_hour.cost is None:
        return
    for name, amount in cost.gpu_hour.cost.parts().items():
        yield Step(f"GPU-hour: {name}", "by the cost of ownership", amount, "USD/h")
    yield Step("GPU-hour p", "Σ of the above", cost.gpu_hour.usd, "USD/h")


def _tokens(cost: OwnCost) -> Iterator[Step]:
    request = cost.usd_per_request.expected
    prompt = cost.usd_per_mtok_input.expected * cost.input_tokens / 1e6
    yield Step("requests a second", "output tokens a second / O", cost.requests_per_s, "request/s")
    yield Step("a request", "GPUs · p / 3600 / requests a second / u", request, "USD")
    yield Step("of it prefill", "prefill's share of the GPU-seconds", prompt, "USD")
    yield Step("of it decode", "the rest", request - prompt, "USD")
    yield Step("a million input tokens", "prefill / I · 10⁶", cost.usd_per_mtok_input.expected, "USD/Mtok")
    yield Step("a million output tokens", "decode / O · 10⁶", cost.usd_per_mtok_output.expected, "USD/Mtok")
    failed = Input("share of requests that fail f", cost.failure_share, "ratio", "your option, or its default")
    again = "a request · (1 + f / (1 − f))"
    yield Step("a successful request", again, cost.usd_per_successful_request, "USD", (failed,))
