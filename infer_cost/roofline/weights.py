"""Weights: how many, how many bits each, how many bytes."""

from __future__ import annotations

from infer_cost.roofline.constants import BITS_PER_BYTE
from infer_cost.roofline.dispatch import Value


def bits_per_weight(bits: Value, scale_bits: Value, block_size: Value) -> Value:
    r"""Bits that a weight takes once the scales of its block are shared out.

    .. math:: w = w_0 + \frac{s}{g}

    Parameters
    ----------
    bits : float
        Bits of the element itself, w_0 [bit]
    scale_bits : float
        Bits of scale, and zero point if any, of one block, s [bit]
    block_size : float
        Weights in a block, g [weight]

    Returns
    -------
    float
        Bits a weight, w [bit]

    Notes
    -----
    A further scale for a whole tensor (NVFP4 has one in FP32) is a few bytes in gigabytes and left out.

    Examples
    --------
    NVFP4, MXFP4, FP8 with blocks of 128 x 128, INT4 in groups of 128 with a 16-bit scale and a 4-bit zero
    point:

    >>> bits_per_weight(4, 8, 16), bits_per_weight(4, 8, 32)
    (4.5, 4.25)
    >>> bits_per_weight(8, 32, 128 * 128), bits_per_weight(4, 16 + 4, 128)
    (8.001953125, 4.15625)

    References
    ----------
    .. [1] Open Compute Project, "Microscaling Formats (MX) Specification v1.0", 2023.
    .. [2] NVIDIA, "Introducing NVFP4 for Efficient and Accurate Low-Precision Inference", 2025.
    """
    return bits + scale_bits / block_size


def weight_bytes(parameters: Value, bits_per_weight: Value) -> Value:
    r"""Bytes that parameters take.

    .. math:: W = \frac{N w}{8}

    Parameters
    ----------
    parameters : float
        Parameters, N [parameter]
    bits_per_weight : float
        Bits a weight, scales included, w [bit]

    Returns
    -------
    float
        Bytes, W [B]

    Notes
    -----
    Embeddings, output head and norms usually stay in 16 bits when the rest is quantised: add them apart.

    Examples
    --------
    70 billion parameters in BF16 and in NVFP4:

    >>> weight_bytes(70e9, 16) / 1e9, weight_bytes(70e9, 4.5) / 1e9
    (140.0, 39.375)

    References
    ----------
    .. [1] Definition.
    """
    return parameters * bits_per_weight / BITS_PER_BYTE


def transformer_parameters(
    layers: Value,
    hidden: Value,
    ffn_width: Value,
    experts: Value,
    heads: Value,
    kv_heads: Value,
    head_dim: Value,
    vocabulary: Value,
    embeddings: Value,
) -> Value:
    r"""Parameters of a transformer with gated feed-forward layers, norms and biases left out.

    .. math:: N = L (3 E D F + 2 D h (H + H_{kv})) + e V D

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    hidden : float
        Hidden size, D [element]
    ffn_width : float
        Width of one feed-forward network (one expert), F [element]
    experts : float
        Networks counted in each layer: 1 if dense, all experts or only those that a token uses, E [expert]
    heads : float
        Query heads, H [head]
    kv_heads : float
        Key-value heads, H_kv [head]
    head_dim : float
        Elements of a head, h [element]
    vocabulary : float
        Vocabulary, V [token]
    embeddings : float
        Tables of the vocabulary: 1 if tied, else 2, e [table]

    Returns
    -------
    float
        Parameters, N [parameter]

    Notes
    -----
    Router, norms and biases are below 0.1 %. Exact counts come from the model's layers.

    Examples
    --------
    Mistral Large 2:

    >>> transformer_parameters(88, 12288, 28672, 1, 96, 8, 128, 32768, 2)
    122607894528

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Transformer Math".
    .. [2] Erdil, "Inference economics of language models", Epoch AI, arXiv:2506.04645, 2025, and its
       notebook.
    """
    feed_forward = 3 * experts * hidden * ffn_width
    attention = 2 * hidden * head_dim * (heads + kv_heads)
    return layers * (feed_forward + attention) + embeddings * vocabulary * hidden


def matrix_stream_time(
    rows: Value, columns: Value, bytes_per_element: Value, chips: Value, memory_bandwidth: Value
) -> Value:
    r"""Time to read a matrix that is split over chips.

    .. math:: T = \frac{m n b}{Y BW}

    Parameters
    ----------
    rows : float
        Rows, m [element]
    columns : float
        Columns, n [element]
    bytes_per_element : float
        Bytes of an element, b [B]
    chips : float
        Chips that each read their share, Y [chip]
    memory_bandwidth : float
        Memory bandwidth of one chip, BW [B/s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    A lower bound, at full bandwidth.

    Examples
    --------
    Two feed-forward matrices' worth of Llama-2-70B in int8 over 32 TPU v5e, book value 18 us:

    >>> round(matrix_stream_time(8192, 28672, 2, 32, 8.1e11) * 1e6)
    18

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Serving LLaMA 3-70B on
       TPUs".
    """
    return rows * columns * bytes_per_element / (chips * memory_bandwidth)


def transformer_parameters_classic(layers: Value, hidden: Value) -> Value:
    r"""Parameters of a classic transformer without its embeddings.

    .. math:: N = 12 L D^{2}

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    hidden : float
        Hidden size, D [element]

    Returns
    -------
    float
        Parameters, N [parameter]

    Notes
    -----
    Multi-head attention and a feed-forward width of 4 D without gate; biases and norms left out.

    Examples
    --------
    GPT-3 175B (96 layers, 12,288):

    >>> transformer_parameters_classic(96, 12288) / 1e9
    173.946175488

    References
    ----------
    .. [1] Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361, 2020, section 2.1.
    """
    return 12 * layers * hidden**2


def memory_needed(weight_bytes: Value, kv_bytes: Value) -> Value:
    r"""Memory that weights and cache take together.

    .. math:: M = W + K

    Parameters
    ----------
    weight_bytes : float
        Bytes of weights, W [B]
    kv_bytes : float
        Bytes of cache, K [B]

    Returns
    -------
    float
        Bytes, M [B]

    Notes
    -----
    Activations and the runtime come on top: one to a few gigabytes a chip.

    Examples
    --------
    Llama-2-70B in int8 with 32 sequences of 8,192 tokens at 160 kB:

    >>> round(memory_needed(70e9, 32 * 8192 * 160e3) / 1e9)
    112

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Serving LLaMA 3-70B
       on TPUs".
    """
    return weight_bytes + kv_bytes
