"""infer-cost: what serving a large language model costs, how long it takes, and which physical limit decides it.

The public names below are loaded when they are first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "Architecture": "infer_cost.model_specs.architecture",
    "InferCostError": "infer_cost.errors",
    "Machine": "infer_cost.hardware_specs.types",
    "estimate": "infer_cost.serving.estimate",
    "hardware": "infer_cost.hardware_specs.catalog",
    "journey": "infer_cost.stages.journey",
    "memory_plan": "infer_cost.serving.memory",
    "model": "infer_cost.model_specs.catalog",
    "roofline_report": "infer_cost.serving.roofline_report",
}

__all__ = [*sorted(_PUBLIC), "__version__"]

if TYPE_CHECKING:
    from infer_cost.errors import InferCostError as InferCostError
    from infer_cost.hardware_specs.catalog import hardware as hardware
    from infer_cost.hardware_specs.types import Machine as Machine
    from infer_cost.model_specs.architecture import Architecture as Architecture
    from infer_cost.model_specs.catalog import model as model
    from infer_cost.serving.estimate import estimate as estimate
    from infer_cost.serving.memory import memory_plan as memory_plan
    from infer_cost.serving.roofline_report import roofline_report as roofline_report
    from infer_cost.stages.journey import journey as journey


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'infer_cost' has no attribute {name!r}; it has {', '.join(sorted(_PUBLIC))}")
    from importlib import import_module

    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names for completion."""
    return sorted(__all__)
