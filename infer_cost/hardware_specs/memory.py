"""How much of the memory on the box a process can allocate."""

from __future__ import annotations

DRIVER_BYTES = 0.6 * 2**30
"""What the driver keeps of the memory that its tool shows: an H100 shows 81,559 MiB and PyTorch finds 79.2 GiB,
an H200 143,771 MiB and 139.8 GiB, a B200 183,359 MiB and 178.35 GiB."""


def usable_memory(memory_bytes: float, shown_bytes: float | None = None) -> tuple[float, str]:
    """Return the bytes that a process can allocate, and how they were found.

    Where neither the driver's nor a framework's figure is known, the decimal gigabytes on the box are taken: chips
    come in GiB, 7 % more, and error correction and the driver take up to as much.

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
    return memory_bytes, "estimate: as many decimal bytes as it is sold with"
