"""Mutation testing: break the code in one place at a time and see whether a test notices.

``python tools/mutation.py [MODULE ...]`` mutates the modules of infer_cost.roofline (all without an argument), runs
their doctests and the tests beside them on each mutant in a process of its own, and prints the score and the
survivors. ``--package serving`` does the same with infer_cost.serving, ``--sample 36`` takes so many mutants of each
module, always the same ones. No file is changed. Takes minutes; not part of the test suite.
"""

from __future__ import annotations

import argparse
import ast
import copy
import doctest
import importlib
import inspect
import itertools
import os
import random
import resource
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy  # noqa: F401  (imported once, before the processes part)
import pytest
import sympy  # noqa: F401

ROOT = Path(__file__).parents[1]
CPU_SECONDS = 30
"""Of one mutant; a busy machine doesn't shorten it."""
OWN_TESTS = {
    "dispatch": ["test_dispatch", "test_formulas", "test_proofs"],
    "notation": ["test_notation", "test_formulas"],
    "registry": ["test_registry", "test_formulas"],
    "solving": ["test_solving"],
}
FORMULA_TESTS = ["test_formulas", "test_oracles", "test_proofs"]
SERVING_TESTS = {
    "deployment": ["cli/test_errors.py"],
    "disaggregated": ["stages/test_stages.py", "accuracy/test_loads.py"],
    "drafts": ["cli/test_errors.py", "stages/test_stages.py"],
    "engine_times": ["stages/test_stages.py", "accuracy/test_loads.py"],
    "engines.profile": ["accuracy/test_calibration.py::test_a_broken_engine_file_is_refused"],
    "estimate": ["cli/test_contract.py", "stages/test_stages.py", "accuracy/test_loads.py"],
    "ladder": ["cli/test_explain_solve.py"],
    "limits": ["cli/test_contract.py"],
    "memory": ["cli/test_contract.py"],
    "operators": ["stages/test_stages.py"],
    "passes": ["stages/test_stages.py", "accuracy/test_loads.py"],
    "program": ["stages/test_stages.py", "accuracy/test_loads.py"],
    "ranges": ["accuracy/test_loads.py"],
    "roofline_report": ["cli/test_contract.py"],
    "scenario": ["cli/test_errors.py", "stages/test_stages.py"],
    "static_batch": ["accuracy/test_validation.py::test_dense_models_in_static_batches_without_any_fit"],
    "steady": ["stages/test_stages.py", "accuracy/test_loads.py"],
}
"""Tests elsewhere that hold a module of serving, beside all of tests/serving."""
EXAMPLES = 6
"""Of a property, on each mutant of serving."""
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
    elif isinstance(node, ast.Return) and getattr(node.value, "value", node.value) is not None:
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


def survives(package: str, module: str, broken: ast.Module) -> bool:
    """Run the tests on a mutant in a child process; a failure, a crash or running out of time kills it."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = 1
        try:
            install(package, module, broken)
            RUNNERS[package](module)
            code = 0
        except BaseException:
            os._exit(1)
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def install(package: str, module: str, broken: ast.Module) -> None:
    """Let the import system find the mutant in the module's place."""
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> Any:
        if fullname == f"infer_cost.{package}.{module}":
            return compile(broken, str(path_of(package, module)), "exec")
        return original(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def path_of(package: str, module: str) -> Path:
    """File of a module, whose name has a dot where it lies in a folder of the package."""
    return ROOT.joinpath("infer_cost", package, *module.split(".")).with_suffix(".py")


def run_doctests(name: str) -> None:
    """Import a module and run its doctests, which are quick."""
    target = importlib.import_module(name)
    assert doctest.testmod(target, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def run_formula_tests(module: str) -> None:
    """Doctests first; then the tests that need no fixture, on this module's formulas."""
    run_doctests(f"infer_cost.roofline.{module}")
    from infer_cost.roofline import FORMULA_MODULES

    here = {name for name, home in FORMULA_MODULES.items() if home == module} or {*list(FORMULA_MODULES)[::SAMPLE]}
    for name in OWN_TESTS.get(module, FORMULA_TESTS):
        for test, arguments in cases(load(ROOT / "tests" / "roofline" / f"{name}.py")):
            formula = arguments.get("name")
            if formula is None or formula in here:
                test(**arguments)


def run_serving_tests(module: str) -> None:
    """Doctests first; then a module's own tests; then those beside them, and those elsewhere that hold it."""
    run_doctests(f"infer_cost.serving.{module}")
    tests = ROOT / "tests"
    own = tests / "serving" / f"test_{module.split('.')[0]}.py"
    beside = [path for path in sorted((tests / "serving").glob("test_*.py")) if path != own]
    elsewhere = [f"{tests}/{name}" for name in SERVING_TESTS.get(module, [])]
    options = ["-x", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    for chosen in ([own] if own.exists() else [], [*beside, *elsewhere]):
        assert not chosen or pytest.main([*options, *map(str, chosen)], plugins=[FewExamples()]) == 0


class FewExamples:
    """Properties with a few examples, the same for every mutant, and no time spent on making a failure small."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Shorten every property that was collected."""
        for item in items:
            test = getattr(item, "obj", None)
            wanted = getattr(test, "_hypothesis_internal_use_settings", None)
            if test is not None and wanted is not None:
                phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
                test._hypothesis_internal_use_settings = hypothesis.settings(
                    wanted, max_examples=EXAMPLES, derandomize=True, database=None, phases=phases
                )


RUNNERS: dict[str, Callable[[str], None]] = {"roofline": run_formula_tests, "serving": run_serving_tests}


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


def modules_of(package: str) -> list[str]:
    """Modules of a package, with a dot where they lie in a folder."""
    folder = ROOT / "infer_cost" / package
    paths = [path.relative_to(folder).with_suffix("") for path in sorted(folder.rglob("*.py"))]
    return [".".join(path.parts) for path in paths if path.name != "__init__"]


def main(arguments: list[str]) -> int:
    """Print the score of each module and every survivor."""
    parser = argparse.ArgumentParser(description="Break the code in one place at a time; print what no test notices.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="all of the package when absent")
    parser.add_argument("--package", choices=RUNNERS, default="roofline")
    parser.add_argument("--sample", type=int, help="at most so many mutants of a module, always the same ones")
    chosen = parser.parse_args(arguments)
    total = alive = 0
    for module in chosen.modules or modules_of(chosen.package):
        source = path_of(chosen.package, module).read_text(encoding="utf-8")
        found = list(mutants(source))
        if not found:
            continue
        whole = survives(chosen.package, module, ast.parse(source))
        assert whole, f"the tests of {module} fail before anything is broken"
        if chosen.sample and chosen.sample < len(found):
            found = random.Random(module).sample(found, chosen.sample)
        left = [(line, change) for line, change, broken in found if survives(chosen.package, module, broken)]
        total, alive = total + len(found), alive + len(left)
        print(f"{module}: {len(found) - len(left)} of {len(found)} killed", flush=True)
        for line, change in left:
            print(f"  {module}.py:{line}: {change}: {source.splitlines()[line - 1].strip()}", flush=True)
    print(f"score {(total - alive) / total:.1%}: {total - alive} of {total} killed, {alive} survive")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
