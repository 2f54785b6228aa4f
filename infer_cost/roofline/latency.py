"""A decode step: how fast arithmetic and memory let it be."""

from __future__ import annotations

from infer_cost.roofline.constants import MULTIPLY_ADD
from infer_cost.roofline.dispatch import Value, maximum


def t_compute(batch: Value, active_parameters: Value, peak_flops: Value) -> Value:
    r"""Time for a decode step's arithmetic on the weights.

    .. math:: T_{compute} = \frac{2 B N_{active}}{C}

    Parameters
    ----------
    batch : float
        Tokens processed together, B [token]
    active_parameters : float
        Parameters that a token is multiplied with, N_active [parameter]
    peak_flops : float
        Dense peak rate of all chips together, C [FLOP/s]

    Returns
    -------
    float
        Time, T_compute [s]

    Notes
    -----
    A lower bound. Attention over the cache comes on top, see :func:`t_attention`; an embedding table is
    looked up, not multiplied, so it doesn't count among the active parameters.

    Examples
    --------
    Llama-3.1-70B, 64 sequences, one H100 SXM in FP8:

    >>> round(t_compute(64, 70.55e9, 1979e12) * 1e3, 2)
    4.56

    References
    ----------
    .. [1] Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361, 2020, section 2.1.
    .. [2] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022.
    """
    return MULTIPLY_ADD * batch * active_parameters / peak_flops


def t_attention(batch: Value, context: Value, attention_flops: Value, attention_peak_flops: Value) -> Value:
    r"""Time for a decode step's arithmetic of attention over the cache.

    .. math:: T_{attention} = \frac{B S a}{C_a}

    Parameters
    ----------
    batch : float
        Sequences in the batch, B [sequence]
    context : float
        Cached tokens of each sequence, S [token]
    attention_flops : float
        Attention arithmetic for each sequence and cached token, a [FLOP/token]
    attention_peak_flops : float
        Dense peak rate of the format that attention runs in, C_a [FLOP/s]

    Returns
    -------
    float
        Time, T_attention [s]

    Notes
    -----
    ``a`` is :func:`attention_flops_gqa` or :func:`attention_flops_mla`. Add to :func:`t_compute`.

    Examples
    --------
    DeepSeek-V3 absorbs its latent attention: 17 MFLOP a cached token; 64 sequences of 8,192 tokens, H100 in
    BF16:

    >>> round(t_attention(64, 8192, 16_990_208, 989e12) * 1e3, 2)
    9.01

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, 2024, section 2.1.
    """
    return batch * context * attention_flops / attention_peak_flops


def t_mem(weight_bytes: Value, kv_bytes: Value, memory_bandwidth: Value) -> Value:
    r"""Time to stream the weights and the KV cache once from memory.

    .. math:: T_{mem} = \frac{W + K}{BW}

    Parameters
    ----------
    weight_bytes : float
        Bytes of weights read in the step, W [B]
    kv_bytes : float
        Bytes of KV cache read in the step, all sequences together, K [B]
    memory_bandwidth : float
        Memory bandwidth of all chips together, BW [B/s]

    Returns
    -------
    float
        Time, T_mem [s]

    Notes
    -----
    A lower bound of a decode step. Of a mixture of experts only the experts hit are read, see
    :func:`experts_hit`.

    Examples
    --------
    Llama-3.1-70B in FP8 on one H100 SXM, empty cache:

    >>> round(t_mem(70.55e9, 0.0, 3.35e12) * 1e3, 1)
    21.1

    References
    ----------
    .. [1] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022.
    .. [2] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Transformer
       Inference".
    """
    return (weight_bytes + kv_bytes) / memory_bandwidth


def step_time_max(t_compute: Value, t_mem: Value) -> Value:
    r"""Least time of a step: arithmetic and traffic overlap completely.

    .. math:: T_{step} = \max(T_{compute}, T_{mem})

    Parameters
    ----------
    t_compute : float
        Time of the arithmetic alone, T_compute [s]
    t_mem : float
        Time of the traffic alone, T_mem [s]

    Returns
    -------
    float
        Time, T_step [s]

    Notes
    -----
    The bound that no kernel beats; :func:`step_time_sum` is the other end.

    Examples
    --------
    >>> step_time_max(4.56e-3, 21.1e-3)
    0.0211

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Rooflines".
    """
    return maximum(t_compute, t_mem)


def step_time_sum(t_compute: Value, t_mem: Value) -> Value:
    r"""Time of a step in which arithmetic and traffic never overlap.

    .. math:: T_{step} = T_{compute} + T_{mem}

    Parameters
    ----------
    t_compute : float
        Time of the arithmetic alone, T_compute [s]
    t_mem : float
        Time of the traffic alone, T_mem [s]

    Returns
    -------
    float
        Time, T_step [s]

    Notes
    -----
    At most twice :func:`step_time_max`, and that where both are equal.

    Examples
    --------
    >>> round(step_time_sum(4.56e-3, 21.1e-3), 5)
    0.02566

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Rooflines".
    """
    return t_compute + t_mem


def kernel_time(
    t_compute: Value,
    t_mem: Value,
    floor_time: Value,
    compute_efficiency: Value,
    memory_efficiency: Value,
    exponent: Value,
) -> Value:
    r"""Expected time of one kernel: efficiencies, a soft corner at the ridge, and a floor.

    .. math:: T = t_0 + ((\frac{T_{compute}}{e_c})^{p} + (\frac{T_{mem}}{e_m})^{p})^{1/p}

    Parameters
    ----------
    t_compute : float
        Time of the arithmetic at the peak rate, T_compute [s]
    t_mem : float
        Time of the traffic at the full bandwidth, T_mem [s]
    floor_time : float
        Time that the smallest such kernel takes, t_0 [s]
    compute_efficiency : float
        Share of the peak rate that large kernels reach, e_c [fraction]
    memory_efficiency : float
        Share of the bandwidth that large kernels reach, e_m [fraction]
    exponent : float
        Sharpness of the corner: 1 adds the times, infinity takes the greater, p [ratio]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    An empirical form; the parameters are fitted for each kind of kernel and architecture, with floors of 4 to
    15 us. It reproduces published kernel timings within 5 to 15 % where the bare roofline is 30 to 80 % off.

    Examples
    --------
    Equal times, half the peak rate, 80 % of the bandwidth, corner exponent 2, floor 5 us:

    >>> round(kernel_time(20e-6, 20e-6, 5e-6, 0.5, 0.8, 2.0) * 1e6, 2)
    52.17

    References
    ----------
    .. [1] Form and range fitted by this project to the kernel timings that NVIDIA's AIConfigurator publishes.
    """
    compute = (t_compute / compute_efficiency) ** exponent
    memory = (t_mem / memory_efficiency) ** exponent
    return floor_time + (compute + memory) ** (1 / exponent)


def decode_throughput(batch: Value, step_time: Value) -> Value:
    r"""Tokens a second that a batch generates.

    .. math:: X = \frac{B}{T_{step}}

    Parameters
    ----------
    batch : float
        Sequences in the batch, B [sequence]
    step_time : float
        Time of one decode step, T_step [s]

    Returns
    -------
    float
        Throughput, X [token/s]

    Notes
    -----
    One token a sequence and step; multiply by the expected tokens a step with speculative decoding.

    Examples
    --------
    Llama-2-13B on eight TPU v5e, batch 64, book value 923 tokens/s:

    >>> round(decode_throughput(64, 0.06933))
    923

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Transformer
       Inference".
    """
    return batch / step_time
