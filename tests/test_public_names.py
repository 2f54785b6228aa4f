"""Public names of the package survive the import of any subpackage, and importing the package is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

SUBPACKAGES = ["roofline", "hardware_specs", "model_specs", "pricing", "serving", "stages", "cli"]
SCRIPT = """
import infer_cost.{package}
import infer_cost
for name in ("model", "hardware", "estimate", "journey", "memory_plan"):
    assert callable(getattr(infer_cost, name)), name
assert infer_cost.model("llama-3.1-8b").layers == 32
assert infer_cost.hardware("h100-sxm").max_gpus is None
"""


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_public_names_after_a_subpackage(package):
    subprocess.run([sys.executable, "-c", SCRIPT.format(package=package)], check=True)


def test_unknown_attribute():
    import infer_cost

    with pytest.raises(AttributeError, match=r"it has .*estimate, .*memory_plan"):
        _ = infer_cost.no_such_name


@pytest.mark.parametrize("name", ["estimate", "journey", "memory_plan", "roofline_report"])
def test_a_misspelt_option_is_answered_with_the_nearest(name):
    import infer_cost

    with pytest.raises(infer_cost.InferCostError, match=r"unknown option 'weigths'\ndid you mean weights"):
        getattr(infer_cost, name)("llama-3.1-8b", "h100-sxm", weigths="fp8")


def test_a_misspelt_option_is_refused_without_a_machine_too():
    import infer_cost

    with pytest.raises(infer_cost.InferCostError, match="did you mean engine"):
        infer_cost.memory_plan("llama-3.1-8b", enginee="vllm")


def test_every_public_name_exists():
    import infer_cost

    for name in infer_cost.__all__:
        assert getattr(infer_cost, name) is not None
