"""Mutation testing of the formulas: break the code in one place at a time and see whether a test notices.

``python tools/mutation.py [MODULE ...]`` mutates the modules of infer_cost.roofline (all without an argument), runs
their doctests and the tests beside them on each mutant in a process of its own, and prints the score and the
survivors. Takes minutes; not part of the test suite.
"""

from __future__ import annotations

import ast
import copy
import doctest
import importlib
import inspect
import itertools
import os
import resource
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis  # noqa: F401  (imported once, before the processes part)
import numpy  # noqa: F401
import pytest  # noqa: F401
import sympy  # noqa: F401

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "infer_cost" / "roofline"
CPU_SECONDS = 30
"""Of one mutant; a busy machine doesn't shorten it."""
OWN_TESTS = {
    "dispatch": ["test_dispatch", "test_formulas", "test_proofs"],
    "notation": ["test_notation", "test_formulas"],
    "registry": ["test_registry", "test_formulas"],
    "solving": ["test_solving"],
}
FORMULA_TESTS = ["test_formulas", "test_oracles", "test_proofs"]
BINARY: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"maximum": "minimum", "minimum": "maximum", "ceil": "floor", "floor": "ceil", "max": "min", "min": "max"}
SAMPLE = 12
"""Every so manieth formula exercises a module that serves all formulas."""


def mutations(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Ways to break one node: what is written there instead, and how to write it."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in BINARY:
        new = BINARY[type(node.op)]
        yield f"{type(node.op).__name__} -> {new.__name__}", lambda n: setattr(n, "op", new())
    elif isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            if type(operator) in BINARY:
                other = BINARY[type(operator)]
                change = f"{type(operator).__name__} -> {other.__name__}"
                yield change, lambda n, i=index, o=other: n.ops.__setitem__(i, o())
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} -> {node.value + 1}", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} -> {not node.value}", lambda n: setattr(n, "value", not n.value)
    elif isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        yield f"{node.id} -> {NAMES[node.id]}", lambda n: setattr(n, "id", NAMES[n.id])
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition negated", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield (
            f"{type(node.op).__name__} dropped",
            lambda n: (
                n.__dict__.update(op=ast.UAdd())
                if isinstance(n.op, ast.USub)
                else setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))
            ),
        )
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "returns None", lambda n: setattr(n, "value", ast.Constant(None))


def mutants(source: str) -> Iterator[tuple[int, str, ast.Module]]:
    """Every mutant of a module: line, change, code. Docstrings, annotations and messages stay."""
    tree = ast.parse(source)
    places = [node for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in function.body]
    nodes = dict.fromkeys(inner for place in places for inner in ast.walk(place))
    for position, node in enumerate(ast.walk(tree)):
        if node in nodes:
            for index, (change, _) in enumerate(mutations(node)):
                broken = copy.deepcopy(tree)
                twin = next(itertools.islice(ast.walk(broken), position, None))
                list(mutations(twin))[index][1](twin)
                yield getattr(node, "lineno", 0), change, ast.fix_missing_locations(broken)


def survives(module: str, broken: ast.Module) -> bool:
    """Run the tests on a mutant in a child process; a failure, a crash or running out of time kills it."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = 1
        try:
            install(module, broken)
            run_tests(module)
            code = 0
        except BaseException:
            os._exit(1)
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def install(module: str, broken: ast.Module) -> None:
    """Let the import system find the mutant in the module's place."""
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> Any:
        if fullname == f"infer_cost.roofline.{module}":
            return compile(broken, str(PACKAGE / f"{module}.py"), "exec")
        return original(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def run_tests(module: str) -> None:
    """Doctests first, they are quick; then the tests that need no fixture, on this module's formulas."""
    target = importlib.import_module(f"infer_cost.roofline.{module}")
    assert doctest.testmod(target, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    from infer_cost.roofline import FORMULA_MODULES

    here = {name for name, home in FORMULA_MODULES.items() if home == module} or {*list(FORMULA_MODULES)[::SAMPLE]}
    for name in OWN_TESTS.get(module, FORMULA_TESTS):
        for test, arguments in cases(load(ROOT / "tests" / "roofline" / f"{name}.py")):
            formula = arguments.get("name")
            if formula is None or formula in here:
                test(**arguments)


def load(path: Path) -> ModuleType:
    """Import a test module from its file."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(module: ModuleType) -> Iterator[tuple[Callable[..., None], dict[str, Any]]]:
    """The tests of a module with each set of parameters; those that need fixtures or processes are left out."""
    for name, test in vars(module).items():
        if not name.startswith("test_") or "import" in name or "quick" in name:
            continue
        sets: list[dict[str, Any]] = [{}]
        for mark in getattr(test, "pytestmark", []):
            names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
            rows = [row if len(names) > 1 else (row,) for row in mark.args[1]]
            sets = [{**known, **dict(zip(names, row, strict=True))} for known in sets for row in rows]
        wanted = set(inspect.signature(test).parameters)
        yield from ((test, arguments) for arguments in sets if set(arguments) == wanted)


def main(modules: list[str]) -> int:
    """Print the score of each module and every survivor."""
    everything = [path.stem for path in sorted(PACKAGE.glob("*.py")) if path.stem not in ("__init__", "constants")]
    total = alive = 0
    for module in modules or everything:
        source = (PACKAGE / f"{module}.py").read_text(encoding="utf-8")
        assert survives(module, ast.parse(source)), f"the tests of {module} fail before anything is broken"
        found = list(mutants(source))
        left = [(line, change) for line, change, broken in found if survives(module, broken)]
        total, alive = total + len(found), alive + len(left)
        print(f"{module}: {len(found) - len(left)} of {len(found)} killed", flush=True)
        for line, change in left:
            print(f"  {module}.py:{line}: {change}: {source.splitlines()[line - 1].strip()}", flush=True)
    print(f"score {(total - alive) / total:.1%}: {total - alive} of {total} killed, {alive} survive")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
