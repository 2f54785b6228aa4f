"""Every command shown in the README and the docs prints what is shown."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_SPEC = importlib.util.spec_from_file_location("docs_examples", ROOT / "tools" / "docs_examples.py")
assert _SPEC is not None and _SPEC.loader is not None
docs_examples = importlib.util.module_from_spec(_SPEC)
sys.modules["docs_examples"] = docs_examples
_SPEC.loader.exec_module(docs_examples)

EXAMPLES = [example for page in docs_examples.documents() for example in docs_examples.examples(page)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.document.name}: {e.command[2:60]}")
def test_example_prints_what_is_shown(example: docs_examples.Example) -> None:
    printed = docs_examples.run(example.command)
    assert docs_examples.holds(example, printed), f"{example.command}\nprinted:\n{printed}"


@pytest.mark.parametrize("page", [p for p in docs_examples.documents() if docs_examples.python_blocks(p)], ids=str)
def test_python_code_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "docs")
    names: dict[str, object] = {}
    for block in docs_examples.python_blocks(page):
        if ">>>" in block:
            lesson = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
            assert doctest.DocTestRunner().run(lesson, clear_globs=False).failed == 0
            names.update(lesson.globs)
        else:
            exec(compile(block, str(page), "exec"), names)


def test_the_readme_has_examples() -> None:
    assert any(example.document.name == "README.md" for example in EXAMPLES)


def test_a_changed_figure_is_noticed() -> None:
    assert docs_examples.matches("a\n...\nz", "a\nb\nc\nz")
    assert not docs_examples.matches("a 1\nz", "a 2\nz")
    many = "\n".join(f"line {number}" for number in range(200))
    assert not docs_examples.matches("line 0\n...\nline 100\n...\nline 300", many)  # and says so at once
