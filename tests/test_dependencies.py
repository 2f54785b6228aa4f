"""Every requirement has a lowest version, so that ``tools/check_dependencies.py`` can try it."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SPEC = importlib.util.spec_from_file_location("check_dependencies", ROOT / "tools" / "check_dependencies.py")
assert _SPEC is not None and _SPEC.loader is not None
check_dependencies = importlib.util.module_from_spec(_SPEC)
sys.modules["check_dependencies"] = check_dependencies
_SPEC.loader.exec_module(check_dependencies)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_requirement_of_a_user_is_pinned_to_its_lowest() -> None:
    extras = PROJECT["optional-dependencies"]
    needed = [
        *PROJECT["dependencies"],
        *(one for name in extras if name not in check_dependencies.TOOLS for one in extras[name]),
    ]
    pins = check_dependencies.lowest_pins(PROJECT)
    assert len(pins) == len(needed) > 8
    assert all(pin.split("==")[0] in one for pin, one in zip(pins, needed, strict=True))


def test_a_requirement_without_a_lowest_version_is_left_out() -> None:
    project = {"dependencies": ["numpy>=1.26", "sympy"], "optional-dependencies": {"dev": ["ruff>=0.5"]}}
    assert check_dependencies.lowest_pins(project) == ["numpy==1.26"]
