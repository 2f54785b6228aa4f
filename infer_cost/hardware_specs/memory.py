"""How much of the memory on the box a process can allocate."""

from __future__ import annotations

RUNTIME_BYTES = 0.5 * 2**30
"""What the driver's context holds of the memory that it shows: an H100 shows 81,559 MiB, PyTorch finds 79.1 GiB."""

ESTIMATED_SHARE = 0.96
"""Share of the decimal gigabytes on the box that is left where no driver's figure is known."""


def usable_memory(memory_bytes: float, shown_bytes: float | None) -> tuple[float, str]:
    """Return the bytes that a process can allocate, and how they were found.

    Parameters
    ----------
    memory_bytes : float
        Memory as it is sold [B].
    shown_bytes : float or None
        Memory that the driver's tool shows, error correction taken off [B].

    Returns
    -------
    tuple of float and str
        Bytes [B], and a note.

    Examples
    --------
    An H100 is sold with 80 GB and shows 81,559 MiB, which are 85.5 GB:

    >>> round(usable_memory(80e9, 81559 * 2**20)[0] / 2**30, 1)
    79.1
    """
    if shown_bytes is not None:
        return shown_bytes - RUNTIME_BYTES, "what the driver shows less 0.5 GiB for its own context"
    return memory_bytes * ESTIMATED_SHARE, f"estimate: {ESTIMATED_SHARE:.0%} of the memory as sold"
