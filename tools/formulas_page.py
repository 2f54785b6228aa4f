"""Write docs/formulas.md from the docstrings of the formulas: ``python tools/formulas_page.py``.

The page is generated and never edited by hand; a test compares it with the docstrings.
"""

from __future__ import annotations

from pathlib import Path

from infer_cost.roofline.notation import pretty_symbol
from infer_cost.roofline.registry import Formula, formulas

PAGE = Path(__file__).parents[1] / "docs" / "formulas.md"
INTRODUCTION = """# Formulas

Every relation that infer-cost computes with. Each is one function in `infer_cost.roofline` that takes floats, numpy
arrays and sympy symbols alike, in SI units; a multiply-add counts as two FLOP, rates are dense, bandwidths are for one
direction. `infer-cost explain NAME` shows an entry in the terminal and works it out for your numbers,
`infer-cost solve NAME --for SYMBOL ...` turns it around.

This page is generated from the functions' docstrings by `tools/formulas_page.py`.
"""


def page() -> str:
    """Return the whole page."""
    everything = formulas()
    modules = list(dict.fromkeys(formula.module for formula in everything))
    parts = [INTRODUCTION, *(_index(module, everything) for module in modules)]
    for module in modules:
        parts.append(f"\n## {_title(module)}\n")
        parts += [_entry(formula) for formula in everything if formula.module == module]
    return "\n".join(parts).rstrip() + "\n"


def _title(module: str) -> str:
    words = module.replace("kv_cache", "KV cache").replace("moe", "mixtures of experts").replace("_", " at several ")
    words = words.replace("speculative", "speculative decoding").replace("caching", "prefix caching")
    words = words.replace("matmul", "matrix products").replace("latency", "decode step").replace("batch", "batch size")
    return words[0].upper() + words[1:]


def _index(module: str, everything: list[Formula]) -> str:
    names = (f"[`{formula.name}`](#{formula.name})" for formula in everything if formula.module == module)
    return f"- **{_title(module)}**: {', '.join(names)}"


def _entry(formula: Formula) -> str:
    rows = [
        f"| ${_latex(q.symbol)}$ | `{q.name}` | {q.unit} | {q.meaning} |" for q in (formula.result, *formula.parameters)
    ]
    equations = " \\qquad ".join(formula.latex)
    references = "\n".join(f"{number}. {text}" for number, text in enumerate(formula.references, 1))
    return f"""### {formula.name}

{formula.summary}

$${equations}$$

| symbol | name | unit | meaning |
|---|---|---|---|
{chr(10).join(rows)}

{formula.validity}

{_examples(formula.examples)}

{references}
"""


def _examples(text: str) -> str:
    """Set the sentences of an example as text and its code as code."""
    blocks = (block.strip() for block in text.split("\n\n"))
    return "\n\n".join(f"```pycon\n{block}\n```" if block.startswith(">>>") else block for block in blocks)


def _latex(symbol: str) -> str:
    head, mark, index = symbol.partition("_")
    name = f"\\{head}" if pretty_symbol(head) != head else head.replace("*", "^{*}")
    return f"{name}_{{{index}}}" if mark else name


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
