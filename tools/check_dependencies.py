"""Run the tests with the lowest and with the newest allowed versions of what the package depends on.

``python tools/check_dependencies.py`` does both, each in an environment of its own; ``lowest`` or ``newest`` one of
them; words after ``--`` go to pytest. Lowest are the versions after ``>=`` in ``pyproject.toml``, those of the extras
that a user may install included; the tools of development come as the index has them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("dev", "docs", "report")
"""Extras that hold tools of development, or what the tests use when it is there."""

_LOWEST = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)\s*>=\s*(?P<version>[0-9][0-9.]*)")


def lowest_pins(project: dict[str, object]) -> list[str]:
    """Return ``name==version`` of each requirement's lowest version.

    >>> lowest_pins({"dependencies": ["numpy>=1.26", "click>=8.1,<9"], "optional-dependencies": {"dev": ["ruff>=0.5"]}})
    ['numpy==1.26', 'click==8.1']
    """
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    needed = list(project["dependencies"])  # type: ignore[call-overload]
    needed += [one for name, ones in extras.items() if name not in TOOLS for one in ones]
    found = [_LOWEST.match(one) for one in needed]
    return [f"{one['name']}=={one['version']}" for one in found if one is not None]


def check(which: str, pytest_words: list[str]) -> int:
    """Make an environment, install, say what is in it, run the tests; return pytest's exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        pins = lowest_pins(project) if which == "lowest" else []
        runtime = ",".join(name for name in project["optional-dependencies"] if name not in TOOLS)
        wanted = ["--upgrade", f"{ROOT}[dev,{runtime}]", *pins]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        print(f"== {which}", flush=True)
        subprocess.run([python, "-m", "pip", "list", "--format=freeze"], check=True)
        return subprocess.run([python, "-m", "pytest", *pytest_words], cwd=ROOT, check=False).returncode


def main() -> int:
    """Read the options and check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=("lowest", "newest"), help="one of the two only")
    chosen, words = parser.parse_known_args()
    pytest_words = [word for word in words if word != "--"]
    codes = [check(which, pytest_words) for which in ((chosen.which,) if chosen.which else ("lowest", "newest"))]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
