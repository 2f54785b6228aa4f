"""Speculative decoding: tokens a step, speed-up, and where it stops paying."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, maximum, where


def speculative_expected_tokens(acceptance: Value, draft_tokens: Value) -> Value:
    r"""Tokens that one verification step yields, on average.

    .. math:: \tau = \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}

    Parameters
    ----------
    acceptance : float
        Chance that a draft token is accepted, alpha [fraction]
    draft_tokens : float
        Draft tokens a step, gamma [token]

    Returns
    -------
    float
        Tokens a step, tau [token]

    Notes
    -----
    Acceptances independent and equal; gamma + 1 at acceptance 1. One draft token (MTP of depth 1) gives 1 +
    alpha.

    Examples
    --------
    >>> round(speculative_expected_tokens(0.7, 3), 2), round(speculative_expected_tokens(0.85, 1), 2)
    (2.53, 1.85)

    References
    ----------
    .. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding",
       arXiv:2211.17192, 2022, equation 1.
    """
    certain = acceptance == 1
    likely = where(certain, 0.5, acceptance)
    return where(certain, draft_tokens + 1, (1 - likely ** (draft_tokens + 1)) / (1 - likely))


def speculative_expected_tokens_tree(acceptance: Value, depth: Value, width: Value) -> Value:
    r"""Tokens that one verification step of a draft tree yields, on average.

    .. math:: \tau = \frac{1 - \alpha_w^{\gamma + 1}}{1 - \alpha_w}
    .. math:: \alpha_w = 1 - (1 - \alpha)^{w}

    Parameters
    ----------
    acceptance : float
        Chance that one candidate is accepted, alpha [fraction]
    depth : float
        Levels of the tree, gamma [token]
    width : float
        Candidates at each level, w [token]

    Returns
    -------
    float
        Tokens a step, tau [token]

    Notes
    -----
    Candidates of a level accepted independently, an upper estimate: real alternatives exclude each other.

    Examples
    --------
    >>> round(speculative_expected_tokens_tree(0.6, 4, 2), 3), round(speculative_expected_tokens_tree(0.6, 4, 1), 3)
    (3.636, 2.306)

    References
    ----------
    .. [1] Miao et al., "SpecInfer", arXiv:2305.09781, 2023.
    .. [2] Chen et al., "Sequoia", arXiv:2402.12374, 2024.
    """
    return speculative_expected_tokens(1 - (1 - acceptance) ** width, depth)


def speculative_speedup(acceptance: Value, draft_tokens: Value, draft_cost_ratio: Value) -> Value:
    r"""How many times faster tokens come, where a verification costs as much as a plain step.

    .. math:: u = \frac{1 - \alpha^{\gamma + 1}}{(1 - \alpha) (\gamma c + 1)}

    Parameters
    ----------
    acceptance : float
        Chance that a draft token is accepted, alpha [fraction]
    draft_tokens : float
        Draft tokens a step, gamma [token]
    draft_cost_ratio : float
        Time of one draft token over the time of one plain step, c [ratio]

    Returns
    -------
    float
        Speed-up, u [ratio]

    Notes
    -----
    For memory-bound verification, i.e. small batches; else see :func:`speculative_speedup_batched`.

    Examples
    --------
    >>> round(speculative_speedup(0.75, 5, 0.05), 4)
    2.6305

    References
    ----------
    .. [1] Leviathan, Kalman, Matias, arXiv:2211.17192, 2022, theorem 3.8.
    """
    return speculative_expected_tokens(acceptance, draft_tokens) / (draft_tokens * draft_cost_ratio + 1)


def speculative_speedup_batched(
    acceptance: Value, draft_tokens: Value, draft_cost_ratio: Value, batch: Value, optimal_batch: Value
) -> Value:
    r"""How many times faster tokens come at a batch, where verifying more tokens may be compute-bound.

    .. math:: u = \frac{1 - \alpha^{\gamma + 1}}{(1 - \alpha) (\gamma c + v)}
    .. math:: v = \frac{\max(1, B (\gamma + 1) / B_{opt})}{\max(1, B / B_{opt})}

    Parameters
    ----------
    acceptance : float
        Chance that a draft token is accepted, alpha [fraction]
    draft_tokens : float
        Draft tokens a step, gamma [token]
    draft_cost_ratio : float
        Time of one draft token over the time of one plain step, c [ratio]
    batch : float
        Sequences in the batch, B [sequence]
    optimal_batch : float
        Batch at which a plain step becomes compute-bound, B_opt [sequence]

    Returns
    -------
    float
        Speed-up, u [ratio]

    Notes
    -----
    Ideal roofline: below B_opt/(gamma + 1) verification is free, above B_opt it costs gamma + 1 steps.

    Examples
    --------
    Three drafts, 70 % accepted, free draft, balance 300: alone and at a batch of 300:

    >>> round(speculative_speedup_batched(0.7, 3, 0, 1, 300), 2)
    2.53
    >>> round(speculative_speedup_batched(0.7, 3, 0, 300, 300), 2)
    0.63

    References
    ----------
    .. [1] Liu et al., "Optimizing Speculative Decoding for Serving LLMs Using Goodput", arXiv:2406.14066,
       2024.
    """
    verify = maximum(1.0, batch * (draft_tokens + 1) / optimal_batch) / maximum(1.0, batch / optimal_batch)
    return speculative_expected_tokens(acceptance, draft_tokens) / (draft_tokens * draft_cost_ratio + verify)


def speculative_operations_factor(acceptance: Value, draft_tokens: Value) -> Value:
    r"""How many times more arithmetic the target model does for each token that comes out.

    .. math:: o = \frac{(1 - \alpha) (\gamma + 1)}{1 - \alpha^{\gamma + 1}}

    Parameters
    ----------
    acceptance : float
        Chance that a draft token is accepted, alpha [fraction]
    draft_tokens : float
        Draft tokens a step, gamma [token]

    Returns
    -------
    float
        Factor, o [ratio]

    Notes
    -----
    The draft model's own arithmetic left aside.

    Examples
    --------
    >>> round(speculative_operations_factor(0.8, 5), 2)
    1.63

    References
    ----------
    .. [1] Leviathan, Kalman, Matias, arXiv:2211.17192, 2022, theorem 3.11.
    """
    return (draft_tokens + 1) / speculative_expected_tokens(acceptance, draft_tokens)


def speculative_batch_limit(
    acceptance: Value, draft_tokens: Value, draft_cost_ratio: Value, optimal_batch: Value
) -> Value:
    r"""Batch at which speculative decoding stops paying.

    .. math:: B^{*} = \frac{B_{opt}}{\gamma + 1} (\frac{1 - \alpha^{\gamma + 1}}{1 - \alpha} - \gamma c)

    Parameters
    ----------
    acceptance : float
        Chance that a draft token is accepted, alpha [fraction]
    draft_tokens : float
        Draft tokens a step, gamma [token]
    draft_cost_ratio : float
        Time of one draft token over the time of one plain step, c [ratio]
    optimal_batch : float
        Batch at which a plain step becomes compute-bound, B_opt [sequence]

    Returns
    -------
    float
        Batch, B* [sequence]

    Notes
    -----
    Where :func:`speculative_speedup_batched` is 1. Zero when it pays at no batch: drafts cost more than they
    bring.

    Examples
    --------
    >>> round(speculative_batch_limit(0.7, 3, 0.05, 300))
    179

    References
    ----------
    .. [1] Derived from :func:`speculative_speedup_batched`; proven in the tests.
    """
    gain = speculative_expected_tokens(acceptance, draft_tokens) - draft_tokens * draft_cost_ratio
    return where(gain >= 1, optimal_batch * gain / (draft_tokens + 1), 0.0 * gain)
