"""How much of the memory on the box a process can allocate."""

from __future__ import annotations

DRIVER_BYTES = 0.6 * 2**30
"""What the driver keeps of the memory that its tool shows: an H100 shows 81,559 MiB and PyTorch finds 79.2 GiB,
an H200 143,771 MiB and 139.8 GiB, a B200 183,359 MiB and 178.35 GiB."""

ESTIMATED_SHARE = 0.96
"""Share of the gigabytes on the box that is left where neither the driver's nor a framework's figure is known."""


def usable_memory(memory_bytes: float, shown_bytes: float | None = None) -> tuple[float, str]:
    """Return the bytes that a process can allocate, and how they were found.

    Parameters
    ----------
    memory_bytes : float
        Memory as it is sold [B].
    shown_bytes : float, optional
        Memory that the driver's tool shows, error correction taken off [B].

    Returns
    -------
    tuple of float and str
        Bytes [B], and a note.

    Examples
    --------
    An H100 is sold with 80 GB and shows 81,559 MiB, which are 85.5 GB:

    >>> round(usable_memory(80e9, 81559 * 2**20)[0] / 2**30, 1)
    79.0
    """
    if shown_bytes is not None:
        return shown_bytes - DRIVER_BYTES, "what the driver's tool shows, less the 0.6 GiB that it keeps"
    return memory_bytes * ESTIMATED_SHARE, f"estimate: {ESTIMATED_SHARE:.0%} of the memory as sold"
