"""The pages of formulas are what docstrings and worked examples say."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("tool", "page"), [("formulas_page", "formulas"), ("formulas_checked", "formulas-checked")])
def test_page_is_in_step(tool: str, page: str) -> None:
    spec = spec_from_file_location(tool, ROOT / "tools" / f"{tool}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert written == module.page(), f"run python tools/{tool}.py"
