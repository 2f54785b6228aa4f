"""A model, a machine and an engine small enough to count by hand, with constants that no fit touches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infer_cost.hardware_specs.efficiency.collectives import CollectiveModel
from infer_cost.hardware_specs.efficiency.kernels import KernelModel
from infer_cost.hardware_specs.formats import number_format
from infer_cost.hardware_specs.types import Accelerator, GpuHourPrice, Machine, Provenance
from infer_cost.model_specs.architecture import Architecture, Ffn, Layer, LayerGroup, Matrix, Mixer
from infer_cost.model_specs.weights import weight_formats
from infer_cost.serving.deployment import Deployment, Parallelism
from infer_cost.serving.engine_times import CompiledEngine
from infer_cost.serving.engines import EngineProfile, engine_profile
from infer_cost.serving.operators import Gemm, Transfer
from infer_cost.serving.program import Program

HIDDEN, VOCABULARY, WINDOW = 1000, 10_000, 4096

GQA = Mixer("attention", 8, 2, 100, 100, 100, 100, cache_elements=400)
"""Eight query heads and two KV heads of 100: a token caches 2 · 2 · 100 elements."""
DENSE = Ffn("dense", width=4000)
MOE = Ffn("moe", experts=8, experts_per_token=2, expert_inputs=HIDDEN, expert_width=500, shared_width=300)

ATTENTION_MATRICES = (
    Matrix("qkv_proj", HIDDEN, 1200, "attention", "kv"),
    Matrix("o_proj", 800, HIDDEN, "attention", "row"),
)
DENSE_MATRICES = (
    Matrix("gate_up_proj", HIDDEN, 8000, "dense_ffn", "column"),
    Matrix("down_proj", 4000, HIDDEN, "dense_ffn", "row"),
)
MOE_MATRICES = (
    Matrix("router", HIDDEN, 8, "router", "replicated"),
    Matrix("experts.gate_up_proj", HIDDEN, 1000, "expert", "expert", 8),
    Matrix("experts.down_proj", 500, HIDDEN, "expert", "expert", 8),
)
DENSE_LAYER = Layer(GQA, DENSE, ATTENTION_MATRICES + DENSE_MATRICES, vectors=2000)
"""1.2 + 0.8 + 8 + 4 million weights."""
MOE_LAYER = Layer(GQA, MOE, ATTENTION_MATRICES + MOE_MATRICES, vectors=2000, expert_vectors=800)
"""2 million weights of attention, 8,000 of the router, 8 experts of 1.5 million."""


def model(*groups: LayerGroup, tied: bool = False, **fields: Any) -> Architecture:
    """Return a model of these layers, four dense ones by default; embedding and head have 10 million weights each."""
    head = None if tied else Matrix("lm_head", HIDDEN, VOCABULARY, "head", "column")
    embedding = Matrix("embed_tokens", VOCABULARY, HIDDEN, "embedding", "column")
    layers = groups or (LayerGroup(DENSE_LAYER, 4),)
    return Architecture("toy", "toy", HIDDEN, VOCABULARY, WINDOW, layers, embedding, head, vectors=1000, **fields)


CHIP = Accelerator(
    id="chip",
    name="Chip",
    vendor="Nobody",
    architecture="none",
    memory_bytes=1e9,
    usable_memory_bytes=1e9,
    memory_bandwidth=1e12,
    peak_flops={"bf16": 1e14, "fp8": 2e14},
)
MACHINE = Machine(
    id="machine",
    name="Machine",
    accelerator=CHIP,
    scale_up_bandwidth=1e11,
    scale_up_domain=8,
    scale_out_bandwidth=1e10,
    host_bandwidth=5e10,
    max_gpus=None,
    power_per_gpu_w=1000.0,
    prices=(GpuHourPrice("spot", 3.6, Provenance("a list")), GpuHourPrice("owned", 1.8, Provenance("b", note="old"))),
)


def engine(**constants: Any) -> EngineProfile:
    """Return an engine that adds nothing to the kernels but what is named."""
    nothing: dict[str, Any] = {
        "kernel_factor": 1.0,
        "expert_prefill_factor": 1.0,
        "floor_share": 0.0,
        "host_step_s": 0.0,
        "host_sequence_s": 0.0,
        "host_request_s": 0.0,
        "eager_layer_s": 0.0,
        "prefill_factor": 1.0,
        "admission_steps": 0.0,
        "handover_s": 0.0,
        "output_reserve": 0.5,
        "age_years": 0.0,
        "launch_s": 0.0,
        "max_batched_tokens": 1000,
        "max_num_seqs": 64,
        "memory_utilization": 0.9,
        "runtime_reserve_bytes": 1e8,
    }
    return replace(engine_profile("generic"), **{**nothing, **constants})


def plan(
    architecture: Architecture | None = None,
    *,
    weights: str = "bf16",
    kv: str = "bf16",
    machine: Machine = MACHINE,
    profile: EngineProfile | None = None,
    tp: int = 1,
    pp: int = 1,
    dp: int = 1,
    ep: int = 1,
    **fields: Any,
) -> Deployment:
    """Return a deployment of the toy."""
    profile = profile or engine()
    architecture = architecture or model()
    settings: dict[str, Any] = {
        "max_model_len": None,
        "max_batched_tokens": profile.max_batched_tokens,
        "max_num_seqs": profile.max_num_seqs,
        "memory_utilization": profile.memory_utilization,
    }
    return Deployment(
        architecture,
        machine,
        Parallelism(tp, pp, dp, ep),
        weight_formats(architecture, weights),
        number_format(kv),
        profile,
        **{**settings, **fields},
    )


def kernel(floor: float = 0.0, compute: float = 1.0, memory: float = 1.0, sharpness: float = 1.0) -> KernelModel:
    """Return a kernel that adds its compute and its memory time, at full rates, unless told otherwise."""
    return KernelModel(floor, compute, memory, sharpness, "chip", 0.1, "bf16")


def matrix(name: str = "matrix", launches: float = 1.0, model: KernelModel | None = None, **fields: Any) -> Gemm:
    """Return a matrix of 10⁶ weights of 8 bits: 1 µs of memory at 10¹² B/s, 0.02 µs of compute a token at 10¹⁴."""
    return Gemm(name, launches, model or kernel(), 1e14, 1000.0, 1000.0, 8.0, **fields)


def wire(scope: str = "scale_up", ranks: int = 2, launches: float = 1.0, **fields: Any) -> Transfer:
    """Return an exchange of 1,000 bytes a token at 10⁹ B/s: half of it crosses between two ranks."""
    exchange = CollectiveModel("all_to_all", 0.0, 0.0, 1.0, "chip", 0.1)
    return Transfer("wire", launches, ranks, scope, 1e9, exchange, 1000.0, **fields)  # type: ignore[arg-type]


def program(*operators: Any, transfers: tuple[Transfer, ...] = (), **fields: Any) -> Program:
    """Return a pass of these operators on a memory of 10¹² B/s and nothing else."""
    settings: dict[str, Any] = {
        "memory_bandwidth": 1e12,
        "kernel_factor": 1.0,
        "floor_share": 1.0,
        "host_step_s": 0.0,
        "host_sequence_s": 0.0,
        "eager_s": 0.0,
        "launch_s": 0.0,
    }
    return Program(operators, transfers, **{**settings, **fields})


def compiled(prefill: Program, decode: Program, deployment: Deployment | None = None) -> CompiledEngine:
    """Return an engine whose passes are these programs."""
    return CompiledEngine(deployment or plan(), prefill, decode)
