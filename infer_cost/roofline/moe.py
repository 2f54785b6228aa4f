"""Mixtures of experts: which are hit, what is read, how evenly they are loaded."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, log, maximum, minimum, where

EULER = 0.5772156649015329
"""Euler's constant."""


def experts_hit(experts: Value, experts_per_token: Value, batch: Value) -> Value:
    r"""Experts that at least one token of the batch uses, on average.

    .. math:: E_{hit} = E (1 - (1 - \frac{k_e}{E})^{B})

    Parameters
    ----------
    experts : float
        Routed experts of a layer, E [expert]
    experts_per_token : float
        Experts that each token uses, k_e [expert]
    batch : float
        Tokens in the batch, B [token]

    Returns
    -------
    float
        Experts hit, E_hit [expert]

    Notes
    -----
    For uniform, independent routing of tokens. Skewed routing hits fewer: the sum over experts of 1 - (1 -
    p)^B is greatest when all p are equal.

    Examples
    --------
    DeepSeek-V3 (8 of 256) with one and with 64 tokens:

    >>> round(experts_hit(256, 8, 1)), round(experts_hit(256, 8, 64), 1)
    (8, 222.4)

    References
    ----------
    .. [1] Feller, "An Introduction to Probability Theory", volume 1, 3rd edition, section II.11 (occupancy).
    """
    return experts * (1 - (1 - experts_per_token / experts) ** batch)


def experts_hit_uneven(experts: Value, experts_per_token: Value, batch: Value) -> Value:
    r"""Experts that at least one token of the batch uses, when some experts are popular and others are not.

    .. math:: E_{hit} = \max(\min(k_e, E), \frac{E x}{1 + x})
    .. math:: x = \frac{B k_e}{E}

    Parameters
    ----------
    experts : float
        Routed experts of a layer, E [expert]
    experts_per_token : float
        Experts that each token uses, k_e [expert]
    batch : float
        Tokens in the batch, B [token]

    Returns
    -------
    float
        Experts hit, E_hit [expert]

    Notes
    -----
    Each expert's share of the tokens is drawn from an exponential distribution, the mean over experts of
    1 - exp(-B p) is x/(1 + x). Published decode times of DeepSeek-R1 and gpt-oss fit it without a further factor
    (they fit uniform routing only with experts 15 to 20 % too fast), and so do kernel timings under power-law
    routing (exponent 1.2).

    Examples
    --------
    DeepSeek-V3 (8 of 256) with 64 tokens, 222 under uniform routing:

    >>> round(experts_hit_uneven(256, 8, 64), 1)
    170.7

    References
    ----------
    .. [1] Greenwood and Yule, "An inquiry into the nature of frequency distributions", J. R. Stat. Soc. 83, 1920
       (gamma-mixed Poisson counts).
    """
    load = batch * experts_per_token / experts
    return maximum(minimum(experts_per_token * 1.0, experts * 1.0), experts * load / (1.0 + load))


def busiest_rank(experts: Value, ranks: Value) -> Value:
    r"""Load of the busiest expert-parallel rank over the mean, when experts' popularity is exponential.

    .. math:: r = 1 + \frac{\ln n + 0.5772156649 - 1}{\sqrt{E / n}}

    Parameters
    ----------
    experts : float
        Routed experts of a layer, E [expert]
    ranks : float
        Expert-parallel ranks, at most E, n [rank]

    Returns
    -------
    float
        Imbalance (1 with one rank), r [ratio]

    Notes
    -----
    The greatest of n exponential variables is ln n + 0.577 times their mean; with E/n experts on a rank the excess
    shrinks by the square root of E/n. Load balancers that place copies of popular experts undo it.

    Examples
    --------
    128 experts on 8 ranks; kernel timings under power-law routing give 1.4 to 2:

    >>> round(busiest_rank(128, 8), 2)
    1.41

    References
    ----------
    .. [1] David and Nagaraja, "Order Statistics", 3rd edition, 2003, section 4.6.
    """
    excess = (log(ranks) + EULER - 1.0) / (experts / ranks) ** 0.5
    return where(ranks > 1, 1.0 + excess, 1.0)


def moe_weight_bytes_read(shared_bytes: Value, expert_bytes: Value, experts: Value, experts_hit: Value) -> Value:
    r"""Bytes of weights that a step reads of a mixture of experts.

    .. math:: W = W_{shared} + W_{expert} \frac{E_{hit}}{E}

    Parameters
    ----------
    shared_bytes : float
        Bytes that every step reads: attention, norms, shared experts, head, W_shared [B]
    expert_bytes : float
        Bytes of all routed experts together, W_expert [B]
    experts : float
        Routed experts of a layer, E [expert]
    experts_hit : float
        Experts of a layer that the batch hits, E_hit [expert]

    Returns
    -------
    float
        Bytes read, W [B]

    Notes
    -----
    Experts of equal size, equally many hit in every layer.

    Examples
    --------
    DeepSeek-V3 in FP8, about 654 of 671 GB in experts, one token:

    >>> round(moe_weight_bytes_read(17e9, 654e9, 256, 8) / 1e9, 1)
    37.4

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, 2024.
    """
    return shared_bytes + expert_bytes * experts_hit / experts


def expert_tokens(batch: Value, experts_per_token: Value, experts: Value) -> Value:
    r"""Tokens that an expert gets, on average.

    .. math:: \mu = \frac{B k_e}{E}

    Parameters
    ----------
    batch : float
        Tokens in the batch, B [token]
    experts_per_token : float
        Experts that each token uses, k_e [expert]
    experts : float
        Routed experts of a layer, E [expert]

    Returns
    -------
    float
        Tokens an expert, mu [token]

    Notes
    -----
    The batch that an expert's matrices see: a mixture needs E/k_e times the batch of a dense model.

    Examples
    --------
    >>> expert_tokens(2400, 8, 256)
    75.0

    References
    ----------
    .. [1] Shazeer et al., "Outrageously Large Neural Networks", arXiv:1701.06538, 2017, section 3.1.
    """
    return batch * experts_per_token / experts


def expert_tokens_max(batch: Value, experts_per_token: Value, experts: Value) -> Value:
    r"""Tokens that the fullest expert gets under uniform routing, to leading order.

    .. math:: \mu_{max} = \frac{B k_e}{E} + \sqrt{2 \frac{B k_e}{E} \ln E}

    Parameters
    ----------
    batch : float
        Tokens in the batch, B [token]
    experts_per_token : float
        Experts that each token uses, k_e [expert]
    experts : float
        Routed experts of a layer, E [expert]

    Returns
    -------
    float
        Tokens of the fullest expert, mu_max [token]

    Notes
    -----
    Balls into bins, valid when an expert gets many tokens: B k_e well above E ln E. Real routers are more
    skewed.

    Examples
    --------
    >>> round(expert_tokens_max(2400, 8, 256), 1)
    103.8

    References
    ----------
    .. [1] Raab, Steger, "Balls into Bins: a simple and tight analysis", RANDOM 1998, theorem 1.
    """
    mean = batch * experts_per_token / experts
    return mean + (2 * mean * log(experts)) ** 0.5


def expert_imbalance(max_tokens: Value, mean_tokens: Value) -> Value:
    r"""How many times longer a layer of experts takes than if its tokens were spread evenly.

    .. math:: r = \frac{\mu_{max}}{\mu}

    Parameters
    ----------
    max_tokens : float
        Tokens of the fullest rank or expert, mu_max [token]
    mean_tokens : float
        Tokens of an average one, mu [token]

    Returns
    -------
    float
        Imbalance, r [ratio]

    Notes
    -----
    All ranks wait for the fullest; holds for the compute-bound part.

    Examples
    --------
    >>> expert_imbalance(90.0, 75.0)
    1.2

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, 2024, section 3.4 (redundant
       experts).
    """
    return max_tokens / mean_tokens
