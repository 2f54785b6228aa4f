"""The page of formulas is what the docstrings say."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_page_is_in_step_with_the_docstrings() -> None:
    spec = spec_from_file_location("formulas_page", ROOT / "tools" / "formulas_page.py")
    assert spec is not None
    assert spec.loader is not None
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    written = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
    assert written == tool.page(), "run python tools/formulas_page.py"
