"""How long a command takes to answer, in units of an empty Python program, and what the time goes into.

``python benchmarks/startup.py`` prints, for each command, its time over that of ``python -c pass``, the limit, and the
modules that cost most to import. Times are the least of several runs in turn, so that a busy machine disturbs little;
processor time is given beside the time on the clock.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter

PROGRAM = [sys.executable, "-c", "from infer_cost.cli.main import run; run()"]
LIMITS = {
    "": 3.0,
    "--help": 10.0,
    "roofline llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8": 16.0,
    "memory llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8": 16.0,
    "journey llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8": 20.0,
}
"""Command lines and how many empty programs each may take."""


def once(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds on the clock and of the processor that a command takes."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, _, used = os.wait4(process.pid, 0)
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime


def least(runs: int, environment: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Least times of the empty program (``pass``) and of each command line."""
    commands = {"pass": [sys.executable, "-c", "pass"], **{line: [*PROGRAM, *line.split()] for line in LIMITS}}
    found = dict.fromkeys(commands, (float("inf"), float("inf")))
    for _ in range(runs):
        for name, command in commands.items():
            clock, processor = once(command, environment)
            found[name] = (min(found[name][0], clock), min(found[name][1], processor))
    return found


def heaviest(line: str, number: int, environment: dict[str, str]) -> list[tuple[str, float]]:
    """Modules that take longest to import by themselves, with their milliseconds: the least of three runs."""
    seen: dict[str, float] = {}
    for _ in range(3):
        command = [sys.executable, "-X", "importtime", *PROGRAM[1:], *line.split()]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        rows = [row.removeprefix("import time:").split("|") for row in done.stderr.splitlines() if "|" in row]
        for own, _, name in rows:
            if own.strip().isdigit():
                seen[name.strip()] = min(seen.get(name.strip(), float("inf")), int(own) / 1e3)
    return Counter(seen).most_common(number)


def main() -> int:
    """Measure and print; the exit code is 1 when a limit is passed on both clocks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="runs of each command")
    parser.add_argument("--modules", type=int, default=12, help="modules to list for each command")
    chosen = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        least(1, environment)  # so that everything is compiled
        found = least(chosen.runs, environment)
        clock, processor = found.pop("pass")
        print(f"python -c pass: {clock * 1e3:.1f} ms, {processor * 1e3:.1f} ms of the processor\n")
        late = False
        for line, (seconds, used) in found.items():
            limit = LIMITS[line]
            units, used_units = seconds / clock, used / processor
            late |= min(units, used_units) > limit
            print(f"{units:5.1f} ({used_units:.1f} of the processor), limit {limit:.0f}: infer-cost {line}")
            if chosen.modules and line:
                names = heaviest(line, chosen.modules, environment)
                print("      " + ", ".join(f"{name} {spent:.1f} ms" for name, spent in names) + "\n")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
