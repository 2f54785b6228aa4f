"""Pipeline parallelism: bubbles and waits."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, maximum


def pipeline_bubble_fraction(stages: Value, microbatches: Value) -> Value:
    r"""Share of the time that a stage of a pipeline idles while it fills and drains.

    .. math:: f = \frac{p - 1}{m + p - 1}

    Parameters
    ----------
    stages : float
        Stages, p [stage]
    microbatches : float
        Micro-batches that pass, m [batch]

    Returns
    -------
    float
        Share idle, f [fraction]

    Notes
    -----
    Stages of equal length; one pass (inference or one direction of training).

    Examples
    --------
    >>> pipeline_bubble_fraction(4, 12)
    0.2

    References
    ----------
    .. [1] Huang et al., "GPipe", arXiv:1811.06965, 2018.
    .. [2] Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters",
       arXiv:2104.04473, 2021.
    """
    return (stages - 1) / (microbatches + stages - 1)


def pipeline_time(stages: Value, microbatches: Value, stage_time: Value) -> Value:
    r"""Time for micro-batches to pass a pipeline.

    .. math:: T = (m + p - 1) t

    Parameters
    ----------
    stages : float
        Stages, p [stage]
    microbatches : float
        Micro-batches, m [batch]
    stage_time : float
        Time of a micro-batch in a stage, transfer included, t [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    Stages of equal length.

    Examples
    --------
    >>> round(pipeline_time(4, 12, 2e-3) * 1e3, 3)
    30.0

    References
    ----------
    .. [1] Huang et al., "GPipe", arXiv:1811.06965, 2018.
    """
    return (microbatches + stages - 1) * stage_time


def pipeline_token_time(stages: Value, microbatches: Value, stage_time: Value, hop_time: Value) -> Value:
    r"""Time between two tokens of a sequence that is decoded in a pipeline.

    .. math:: T = \max(p, m) \, (t + t_h)

    Parameters
    ----------
    stages : float
        Stages, p [stage]
    microbatches : float
        Micro-batches that take turns, m [batch]
    stage_time : float
        Time of a micro-batch in a stage, t [s]
    hop_time : float
        Time of the transfer to the next stage, t_h [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    A token must pass all stages before the next can start, so fewer micro-batches than stages leave
    stages idle and more make them wait.

    Examples
    --------
    >>> round(pipeline_token_time(4, 4, 5e-3, 20e-6) * 1e3, 2)
    20.08

    References
    ----------
    .. [1] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022.
    """
    return maximum(stages, microbatches) * (stage_time + hop_time)


def pipeline_idle_share(stages: Value, microbatches: Value) -> Value:
    r"""Share of the time that stages idle in decode, for want of micro-batches.

    .. math:: f = \max(0, 1 - \frac{m}{p})

    Parameters
    ----------
    stages : float
        Stages, p [stage]
    microbatches : float
        Micro-batches that take turns, m [batch]

    Returns
    -------
    float
        Share idle, f [fraction]

    Notes
    -----
    None from as many micro-batches as stages on.

    Examples
    --------
    >>> pipeline_idle_share(4, 1)
    0.75

    References
    ----------
    .. [1] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022.
    """
    return maximum(0.0, 1 - microbatches / stages)
