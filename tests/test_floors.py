"""Imports go downwards only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import infer_cost

PACKAGE = Path(infer_cost.__file__).parent
HOUSE = (
    ("errors",),
    ("units", "files", "checks", "steps"),
    ("display",),
    ("roofline",),
    ("hardware_specs", "pricing"),
    ("model_specs",),
    ("serving",),
    ("economics", "planner", "stages", "accuracy"),
    ("claims", "report"),
    ("cli",),
)
"""Rooms from the ground up; those of a floor don't know each other."""
FLOORS = {room: number for number, rooms in enumerate(HOUSE) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def room(module: str) -> str:
    """Name of the package's room that a module belongs to; the package itself for its own names."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "infer_cost"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downwards(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    for module in imported(path.read_text(encoding="utf-8")):
        if not module.startswith("infer_cost.") or room(module) == own:
            continue
        assert FLOORS[room(module)] < FLOORS[own], f"{own} imports {module}"


def test_every_room_has_a_floor() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} - {"__init__"}
    assert rooms == set(FLOORS)


@pytest.mark.parametrize("name", sorted(set(infer_cost.__all__)))
def test_no_public_name_is_a_room(name: str) -> None:
    assert name not in FLOORS
