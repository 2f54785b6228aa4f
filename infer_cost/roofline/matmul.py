"""Matrix products and elementwise kernels: arithmetic, bytes, intensity."""

from __future__ import annotations

from infer_cost.roofline.constants import MULTIPLY_ADD
from infer_cost.roofline.dispatch import Value


def matmul_flops(rows: Value, inner: Value, columns: Value) -> Value:
    r"""Arithmetic of a matrix product.

    .. math:: F = 2 m k n

    Parameters
    ----------
    rows : float
        Rows of the left matrix (tokens), m [element]
    inner : float
        Columns of the left, rows of the right matrix, k [element]
    columns : float
        Columns of the right matrix, n [element]

    Returns
    -------
    float
        Arithmetic, F [FLOP]

    Notes
    -----
    Multiply and add count one each.

    Examples
    --------
    The query projection of Llama-2-7B over 2,048 tokens:

    >>> round(matmul_flops(2048, 4096, 4096) / 1e9)
    69

    References
    ----------
    .. [1] Yuan et al., "LLM Inference Unveiled: Survey and Roofline Model Insights", arXiv:2402.16363,
       2024.
    """
    return MULTIPLY_ADD * rows * inner * columns


def matmul_bytes(rows: Value, inner: Value, columns: Value, bytes_per_element: Value) -> Value:
    r"""Bytes that a matrix product moves: both operands in, the result out.

    .. math:: Q = b (m k + k n + m n)

    Parameters
    ----------
    rows : float
        Rows of the left matrix (tokens), m [element]
    inner : float
        Columns of the left, rows of the right matrix, k [element]
    columns : float
        Columns of the right matrix, n [element]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    Each element moves once: the least there can be, reached when a tile of each operand fits on the chip.

    Examples
    --------
    The gate projection of Llama-2-7B over 2,048 tokens in 16 bits:

    >>> round(matmul_bytes(2048, 4096, 11008, 2) / 1e6)
    152

    References
    ----------
    .. [1] Yuan et al., "LLM Inference Unveiled: Survey and Roofline Model Insights", arXiv:2402.16363,
       2024.
    """
    return bytes_per_element * (rows * inner + inner * columns + rows * columns)


def matmul_intensity(rows: Value, inner: Value, columns: Value, bytes_per_element: Value) -> Value:
    r"""Arithmetic intensity of a matrix product.

    .. math:: I = \frac{2 m k n}{b (m k + k n + m n)}

    Parameters
    ----------
    rows : float
        Rows of the left matrix (tokens), m [element]
    inner : float
        Columns of the left, rows of the right matrix, k [element]
    columns : float
        Columns of the right matrix, n [element]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Intensity, I [FLOP/B]

    Notes
    -----
    About 2/b times the rows while they are few beside the matrix: the reason for batching.

    Examples
    --------
    >>> round(matmul_intensity(128, 8192, 32768, 2), 1)
    125.5
    >>> round(matmul_intensity(1, 4096, 4096, 2), 2)
    1.0

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Rooflines".
    """
    flops = matmul_flops(rows, inner, columns)
    return flops / matmul_bytes(rows, inner, columns, bytes_per_element)


def dot_product_intensity(elements: Value, bytes_per_element: Value) -> Value:
    r"""Arithmetic intensity of a dot product: no batch helps it.

    .. math:: I = \frac{2 n - 1}{b (2 n + 1)}

    Parameters
    ----------
    elements : float
        Length of both vectors, n [element]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Intensity, I [FLOP/B]

    Notes
    -----
    n products and n - 1 sums, two vectors in and one number out.

    Examples
    --------
    >>> round(dot_product_intensity(1e3, 2), 4)
    0.4995

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Rooflines".
    """
    flops = MULTIPLY_ADD * (elements - 1 / 2)
    return flops / (bytes_per_element * (2 * elements + 1))


def elementwise_bytes(elements: Value, passes: Value, bytes_per_element: Value) -> Value:
    r"""Bytes that an elementwise kernel moves.

    .. math:: Q = n p b

    Parameters
    ----------
    elements : float
        Elements, n [element]
    passes : float
        Times that each is read or written, p [ratio]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    Fusing kernels lowers the passes: that is what fusion saves beside launches.

    Examples
    --------
    Softmax over the scores of Llama-2-7B, 2,048 tokens, 16 bits, read and written once:

    >>> elementwise_bytes(32 * 2048**2, 2, 2) / 1e6
    536.870912

    References
    ----------
    .. [1] Yuan et al., "LLM Inference Unveiled: Survey and Roofline Model Insights", arXiv:2402.16363,
       2024.
    """
    return elements * passes * bytes_per_element


def elementwise_time(elements: Value, passes: Value, bytes_per_element: Value, memory_bandwidth: Value) -> Value:
    r"""Least time of an elementwise kernel, which memory always bounds.

    .. math:: T = \frac{n p b}{BW}

    Parameters
    ----------
    elements : float
        Elements, n [element]
    passes : float
        Times that each is read or written, p [ratio]
    bytes_per_element : float
        Bytes of an element, b [B]
    memory_bandwidth : float
        Memory bandwidth, BW [B/s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    A lower bound, at full bandwidth.

    Examples
    --------
    Adding two FP32 arrays of 2^30 elements on an H100 (two reads, one write):

    >>> round(elementwise_time(2**30, 3, 4, 3.35e12) * 1e3, 2)
    3.85

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About
       GPUs".
    """
    return elementwise_bytes(elements, passes, bytes_per_element) / memory_bandwidth
