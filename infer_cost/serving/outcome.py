"""From the times of a request to its throughput and its cost, step by step."""

from __future__ import annotations

import math

from infer_cost.serving.estimate import gpu_seconds_per_request, money, prefill_share
from infer_cost.serving.scenario import Scenario
from infer_cost.serving.steady import SteadyState
from infer_cost.steps import Input, Step


def outcome(question: Scenario, state: SteadyState) -> tuple[Step, ...]:
    """Return the steps from TTFT and TPOT to tokens a second and, where there is a price, to dollars a token.

    Parameters
    ----------
    question : Scenario
        The deployment, its workload and its price
    state : SteadyState
        Its times

    Returns
    -------
    tuple of Step
        The last one is the price of output tokens, as the estimate has it; the rate of a GPU without a price
    """
    requests = question.requests
    ttft, tpot, residence = float(state.ttft_s), float(state.tpot_s), float(state.residence_s)
    produced = requests.output_tokens * requests.concurrency
    option = "your option, or its default"
    whole = ttft + (requests.output_tokens - 1) * tpot
    steps = [Step("end to end", "TTFT + (O − 1)·TPOT", whole, "s", _loads(question, option))]
    if not math.isclose(residence, whole, rel_tol=1e-9):
        steps.append(Step("residence T", "from arrival to the last token in the engine", residence, "s"))
    time = "end to end" if len(steps) == 1 else "T"
    steps += [
        Step("output tokens a user", "1 / TPOT", 1.0 / tpot, "token/s"),
        Step("output tokens a GPU", f"O·C / (GPUs · {time})", produced / question.gpus / residence, "token/s"),
    ]
    return (*steps, *_costs(question, state, time, option))


def _loads(question: Scenario, option: str) -> tuple[Input, ...]:
    requests = question.requests
    return (
        Input("input tokens I", requests.input_tokens, "token", option),
        Input("output tokens O", requests.output_tokens, "token", option),
        Input("concurrency C", requests.concurrency, "request", option),
        Input("GPUs", question.gpus, "GPU", option),
    )


def _costs(question: Scenario, state: SteadyState, time: str, option: str) -> tuple[Step, ...]:
    prompt, answer, request = money(question, state)
    if question.price is None or prompt is None or answer is None or request is None:
        return ()
    share = "prefill GPUs / GPUs" if question.prefill_pool else f"its engine time · C / (dp·{time}), at most 1"
    used = Input("utilization u", question.utilization, "ratio", option)
    price = Input("price_per_gpu_hour p", question.price.usd_per_hour, "USD/h", question.price.source)
    seconds = float(gpu_seconds_per_request(question, state))
    return (
        Step("GPU-seconds a request", f"GPUs · {time} / C", seconds, "s"),
        Step("cost of a request", "p / 3600 · GPU-seconds / u", float(request), "USD", (price, used)),
        Step("prefill's share of it", share, float(prefill_share(question, state)), "ratio"),
        Step("a million input tokens", "cost · share / I · 10⁶", float(prompt), "USD/Mtok"),
        Step("a million output tokens", "cost · (1 − share) / O · 10⁶", float(answer), "USD/Mtok"),
    )
