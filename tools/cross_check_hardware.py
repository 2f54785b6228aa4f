"""Hold the catalog against the system files of aiconfigurator-core, where that package can be had.

    pip download --no-deps aiconfigurator-core && python tools/cross_check_hardware.py aiconfigurator_core-*.whl

Lists every figure that differs by more than half a percent. Differences that the catalog explains (a contested
reading, another way of counting) stay in the list: it is for people to read, not a test.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from infer_cost.hardware_specs.catalog import hardware
from infer_cost.hardware_specs.types import Machine

NAMES = {
    "a100_sxm": "a100-sxm-80gb",
    "a100_pcie": "a100-pcie-80gb",
    "a30": "a30",
    "b200_sxm": "b200-sxm",
    "b300_sxm": "b300-sxm",
    "b60": "arc-pro-b60",
    "gb200": "gb200",
    "gb300": "gb300",
    "h100_pcie": "h100-pcie",
    "h100_sxm": "h100-sxm",
    "h200_sxm": "h200-sxm",
    "l4": "l4",
    "l40s": "l40s",
    "rtx_pro_6000_server": "rtx-pro-6000",
}
TOLERANCE = 0.005


def figures(text: str) -> dict[str, float]:
    """Read the ``key: number  # comment`` lines of a system file; nothing else of YAML is needed."""
    found = {}
    for line in text.splitlines():
        key, _, value = line.split("#")[0].partition(":")
        try:
            found[key.strip()] = float(value)
        except ValueError:
            continue
    return found


def ours(machine: Machine) -> dict[str, float | None]:
    """The same figures in the catalog, by the names that the system files have."""
    chip = machine.accelerator
    peaks = chip.peak_flops
    return {
        "mem_bw": chip.memory_bandwidth,
        "mem_capacity": chip.usable_memory_bytes,
        "bfloat16_tc_flops": peaks.get("bf16"),
        "int8_tc_flops": peaks.get("int8"),
        "fp8_tc_flops": peaks.get("fp8"),
        "fp4_tc_flops": peaks.get("fp4"),
        "power": chip.power_w,
        "intra_node_bw": machine.scale_up_bandwidth,
        "inter_rack_bw" if machine.scale_up_domain > 8 else "inter_node_bw": machine.scale_out_bandwidth,
        "pcie_bw": machine.host_bandwidth,
    }


def differences(system: str, text: str) -> Iterator[str]:
    """Lines about the figures that differ."""
    theirs, mine = figures(text), ours(hardware(NAMES[system]))
    for name, value in mine.items():
        other = theirs.get(name)
        if other is not None and (value is None or abs(value / other - 1) > TOLERANCE):
            shown = "-" if value is None else f"{value:.5g}"
            yield f"{system:20} {name:18} {other:12.5g} there, {shown:>12} here"


def main(wheel: Path) -> int:
    """Print the differences; the exit status is 0: to differ is no fault."""
    with zipfile.ZipFile(wheel) as archive:
        for system in NAMES:
            text = archive.read(f"aiconfigurator_core/systems/{system}.yaml").decode()
            for line in differences(system, text):
                print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
