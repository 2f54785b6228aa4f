"""What an agent's task costs: loops that resend a growing context, tool results, retries, lost caches."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from infer_cost.checks import whole
from infer_cost.pricing.billing import bill, total_cost
from infer_cost.pricing.rates import Rates
from infer_cost.pricing.usage import Usage


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A task that an agent solves in steps, each a call with all that came before.

    Parameters
    ----------
    context_tokens : int
        Instructions, tool descriptions and the task, in the first call [tokens].
    steps : int
        Calls without the repeated ones.
    output_tokens : int
        Output of a step: reasoning, tool calls, text [tokens].
    tool_tokens : int
        What a tool's answer adds to the next call [tokens].
    retries : int
        Steps that are repeated, spread evenly.
    reloads : int
        Steps that find no cache (another replica, an expired entry), spread evenly.
    cached : bool
        Whether steps read what the step before sent from a prompt cache.
    """

    context_tokens: int
    steps: int
    output_tokens: int
    tool_tokens: int = 0
    retries: int = 0
    reloads: int = 0
    cached: bool = True

    def __post_init__(self) -> None:
        """Refuse a task that can't be."""
        for name in ("context_tokens", "output_tokens", "tool_tokens"):
            whole(name, getattr(self, name), low=0)
        whole("steps", self.steps, high=10_000)
        whole("retries", self.retries, low=0, high=self.steps)
        whole("reloads", self.reloads, low=0, high=self.steps)

    def calls(self, *, charged_writes: bool) -> tuple[Usage, ...]:
        """Return the usage of every call, repeated ones included."""
        cold = _spread(self.reloads, self.steps)
        calls = [self._step(index, index in cold, charged_writes) for index in range(self.steps)]
        again = [self._step(index, False, charged_writes) for index in sorted(_spread(self.retries, self.steps))]
        return (*calls, *again)

    def _step(self, index: int, cold: bool, charged_writes: bool) -> Usage:
        grown = self.output_tokens + self.tool_tokens
        total = self.context_tokens + index * grown
        if not self.cached:
            return Usage(input_tokens=total, output_tokens=self.output_tokens)
        read = 0 if cold or not index else total - grown
        return Usage(
            input_tokens=total,
            cached_tokens=read,
            cache_write_5m_tokens=total - read if charged_writes else 0,
            output_tokens=self.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class TaskCost:
    """An agent's task against one plain call with the same first context and a single answer."""

    rates: Rates
    task_usd: Decimal
    single_call_usd: Decimal
    calls: int
    task_tokens: int
    single_call_tokens: int

    @property
    def token_ratio(self) -> float:
        """Tokens of the task for each token of the single call."""
        return self.task_tokens / self.single_call_tokens if self.single_call_tokens else 0.0

    @property
    def cost_ratio(self) -> float:
        """Cost of the task for each dollar of the single call."""
        return float(self.task_usd / self.single_call_usd) if self.single_call_usd else 0.0


def task_cost(task: AgentTask, rates: Rates) -> TaskCost:
    """Return what an agent's task costs and how often that is a single call's tokens and cost.

    Parameters
    ----------
    task : AgentTask
        The steps.
    rates : Rates
        One row of a price list [USD per million tokens].

    Returns
    -------
    TaskCost
        Totals [USD, tokens] and their ratios to one call.

    Notes
    -----
    ``n`` steps send about ``n**2 / 2`` times what a step adds. A prompt cache takes most of that back, which is
    why the cost grows less than the tokens.

    Examples
    --------
    Twenty steps over a 3,000-token context, each adding 300 tokens of output and 500 of a tool's answer:

    >>> from infer_cost.pricing.rates import Prices
    >>> prices = Prices(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
    >>> cost = task_cost(AgentTask(3000, 20, 300, 500), Rates("anthropic", "sonnet", prices))
    >>> round(cost.token_ratio, 1), round(cost.cost_ratio, 1)
    (66.1, 16.0)
    """
    charged = rates.prices.cache_write_5m is not None
    calls = task.calls(charged_writes=charged)
    single = Usage(input_tokens=task.context_tokens, output_tokens=task.output_tokens)
    return TaskCost(
        rates=rates,
        task_usd=total_cost([bill(usage, rates) for usage in calls]),
        single_call_usd=bill(single, rates).cost_usd,
        calls=len(calls),
        task_tokens=sum(usage.input_tokens + usage.output_tokens for usage in calls),
        single_call_tokens=single.input_tokens + single.output_tokens,
    )


def _spread(count: int, steps: int) -> frozenset[int]:
    """Return ``count`` different steps, evenly spread."""
    return frozenset((2 * k + 1) * steps // (2 * count) for k in range(count))
