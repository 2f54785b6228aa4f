"""Where a name or a path becomes a machine: a bundled one, or the user's own."""

from __future__ import annotations

from os import PathLike, fspath

from infer_cost.errors import InputError
from infer_cost.hardware_specs.bundled import machine
from infer_cost.hardware_specs.types import Machine


def hardware(name: str | PathLike[str]) -> Machine:
    """Return the machine called ``name``, or the one that the TOML file of that path describes.

    An accelerator id implies the system that it usually comes in and allows any number of accelerators
    (beyond the scale-up domain traffic takes the scale-out network); a system id limits their number.

    Parameters
    ----------
    name : str or path
        An id (``h100-sxm``, ``gb200-nvl72``), a spelling that people use (``NVIDIA H100 80GB HBM3``), or a
        path that ends in ``.toml``.

    Returns
    -------
    Machine

    Raises
    ------
    UnknownNameError
        No machine has this name, or several have it; the candidates are named.
    InputError
        The file can't be read or describes no machine.

    Examples
    --------
    >>> hardware("H100").accelerator.memory_bandwidth
    3350000000000.0
    >>> hardware("dgx-h100").max_gpus, hardware("h100-sxm").max_gpus
    (8, None)
    """
    if not isinstance(name, str | PathLike):
        raise InputError("hardware is a name or the path of a file", field="hardware", value=name)
    text = fspath(name).strip()
    if isinstance(name, PathLike) or text.lower().endswith(".toml"):
        from infer_cost.hardware_specs.user import machine_from_file

        return machine_from_file(text)
    return machine(text)
