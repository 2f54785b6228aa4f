"""Write arrays of numbers as text, a whole column at a time.

Python writes half a million floats a second, a sweep makes ten million; so columns are written digit by digit, each as
a matrix of bytes with a row a value, in which a zero byte stands for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Bytes = np.ndarray[Any, np.dtype[np.uint8]]

DIGITS = 10
"""Significant digits of a float in a sweep's text output."""


def floats(values: Any, missing: bytes = b"") -> Bytes:
    """Write non-negative floats in scientific notation, ``missing`` for what isn't finite.

    >>> import numpy as np
    >>> joined([floats(np.array([0.0535, 1234.5, float("nan")]), b"null"), constant(b";", 3)])
    b'5.350000000e-02;1.234500000e+03;null;'
    """
    import numpy as np

    finite = np.isfinite(values)
    positive = np.where(finite & (values > 0), values, 1.0)
    exponent = np.floor(np.log10(positive))
    mantissa = np.rint(positive / 10.0 ** (exponent - (DIGITS - 1))).astype(np.int64)
    # Rounding, or the logarithm's own error, may have left the decade.
    over, under = mantissa >= 10**DIGITS, mantissa < 10 ** (DIGITS - 1)
    exponent = (exponent + over - under).astype(np.int64)
    again = over | under
    if again.any():
        mantissa[again] = np.rint(positive[again] / 10.0 ** (exponent[again] - (DIGITS - 1.0))).astype(np.int64)
    mantissa[finite & (values == 0)] = 0
    text = np.zeros((len(values), DIGITS + 5), dtype=np.uint8)
    _digits(text[:, 1 : DIGITS + 1], mantissa)
    text[:, 0] = text[:, 1]
    text[:, 1] = ord(".")
    text[:, DIGITS + 1] = ord("e")
    text[:, DIGITS + 2] = np.where(exponent < 0, ord("-"), ord("+"))
    _digits(text[:, DIGITS + 3 :], np.abs(exponent))
    text[~finite] = 0
    text[~finite, : len(missing)] = np.frombuffer(missing, dtype=np.uint8)
    return text


def integers(values: Any, missing: bytes = b"") -> Bytes:
    """Write whole numbers that aren't negative, given as floats or integers; ``missing`` for NaN.

    >>> import numpy as np
    >>> joined([integers(np.array([8.0, 1024.0, 0.0])), constant(b" ", 3)])
    b'8 1024 0 '
    """
    import numpy as np

    known = np.isfinite(values)
    whole = np.where(known, values, 0).astype(np.int64)
    width = max(len(str(int(whole.max(initial=0)))), len(missing), 1)
    text = np.zeros((len(whole), width), dtype=np.uint8)
    _digits(text, whole)
    leading = whole[:, None] < 10 ** np.arange(width - 1, 0, -1, dtype=np.int64)
    text[:, :-1][leading] = 0
    text[~known] = 0
    text[~known, : len(missing)] = np.frombuffer(missing, dtype=np.uint8)
    return text


def names(choices: Sequence[bytes], places: Any) -> Bytes:
    """Write one of several texts a row.

    >>> import numpy as np
    >>> joined([names([b"no,", b"yes,"], np.array([1, 0, 1]))])
    b'yes,no,yes,'
    """
    import numpy as np

    width = max(len(choice) for choice in choices)
    table = np.frombuffer(b"".join(choice.ljust(width, b"\0") for choice in choices), dtype=np.uint8)
    return np.asarray(table.reshape(len(choices), width)[places])


def constant(text: bytes, rows: int) -> Bytes:
    """Write the same text in every row."""
    import numpy as np

    return np.broadcast_to(np.frombuffer(text, dtype=np.uint8), (rows, len(text)))


def joined(columns: Sequence[Bytes]) -> bytes:
    """Put columns side by side and return their bytes row by row, without those that stand for nothing."""
    import numpy as np

    text = np.concatenate(columns, axis=1).reshape(-1)
    return bytes(text[text != 0].tobytes())


def _digits(text: Bytes, values: Any) -> None:
    """Fill a matrix with the decimal digits of whole numbers."""
    for place in range(text.shape[1] - 1, -1, -1):
        rest = values // 10
        text[:, place] = values - rest * 10 + ord("0")
        values = rest
