"""Compile a deployment into the operators of one forward pass.

Everything that doesn't change with the load is settled here once: shards, kernels, rates, links. What is left is
arithmetic on the load, see :mod:`infer_cost.serving.passes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from infer_cost.hardware_specs.efficiency.collectives import collective_model
from infer_cost.hardware_specs.efficiency.kernels import KernelModel, kernel_model
from infer_cost.hardware_specs.formats import number_format
from infer_cost.hardware_specs.rates import peak_rate
from infer_cost.hardware_specs.types import Machine
from infer_cost.model_specs.architecture import Layer, Mixer
from infer_cost.roofline import busiest_rank
from infer_cost.serving.deployment import Deployment
from infer_cost.serving.operators import (
    ACTIVATION_BYTES,
    Attention,
    Elementwise,
    Gemm,
    GroupedGemm,
    Operator,
    Recurrence,
    Transfer,
)
from infer_cost.serving.shards import kv_shards, local_shape

Phase = Literal["prefill", "decode"]

UNEVEN_ROUTING = 1.2
"""Arithmetic of the experts under uneven routing over balanced: median of kernel timings under a power law of
exponent 1.2 on one rank, 1.02 to 1.38 by engine and model (see ``fits/README.md``)."""

STATE_BYTES = 4
"""Recurrent state is kept in 32 bits."""


@dataclass(frozen=True, slots=True)
class Program:
    """The operators and transfers of a pass in one phase, with the constants that the pass needs besides."""

    operators: tuple[Operator, ...]
    transfers: tuple[Transfer, ...]
    memory_bandwidth: float
    kernel_factor: float
    """Time of the kernels inside the engine over their time alone."""
    floor_share: float
    """Share of the kernels' launch floors that shows."""
    host_step_s: float
    host_sequence_s: float
    eager_s: float
    """Host time to launch the pass kernel by kernel; 0 where a graph is replayed."""
    launch_s: float


def compile_program(deployment: Deployment, phase: Phase) -> Program:
    """Return the program of a deployment's prefill or decode pass (without speculation's drafts)."""
    engine = deployment.engine
    decode = phase == "decode"
    return Program(
        operators=tuple(_operators(deployment, phase)),
        transfers=tuple(_transfers(deployment)),
        memory_bandwidth=deployment.machine.accelerator.memory_bandwidth,
        kernel_factor=engine.kernel_factor * engine.kernel_overhead * (1.0 if decode else engine.prefill_factor),
        floor_share=engine.floor_share * engine.overhead,
        host_step_s=engine.host_step_s * engine.overhead if decode else 0.0,
        host_sequence_s=engine.host_sequence_s * engine.overhead if decode else 0.0,
        eager_s=0.0 if decode else engine.eager_layer_s * engine.overhead * deployment.model.layers,
        launch_s=engine.launch_s,
    )


class _Kernels:
    """Looks up the kernel and the peak rate of an operator on the deployment's accelerator."""

    def __init__(self, deployment: Deployment) -> None:
        self.accelerator = deployment.machine.accelerator
        self.engine = deployment.engine.kernels

    def __call__(self, family: str, format_id: str) -> tuple[KernelModel, float]:
        kernel = kernel_model(self.accelerator, family, format_id, self.engine)
        rate = self.accelerator.peak_flops.get(kernel.rate)
        if rate is None:
            rate = peak_rate(self.accelerator, number_format(format_id))[0]
        return kernel, rate

    def gemm(self, format_id: str) -> tuple[KernelModel, float]:
        """Return a matrix multiplication's kernel with the floor of a 16-bit one.

        Timed alone, one in 8 or 4 bits includes quantising its input; engines do that in the kernel before it.
        """
        kernel, rate = self("gemm", format_id)
        plain = kernel_model(self.accelerator, "gemm", "bf16", self.engine)
        return replace(kernel, floor_s=min(kernel.floor_s, plain.floor_s)), rate


def _operators(deployment: Deployment, phase: Phase) -> Iterator[Operator]:
    kernels = _Kernels(deployment)
    for group in deployment.model.groups:
        yield from _layer_operators(deployment, group.layer, float(group.count), phase, kernels)
    head = deployment.model.output_matrix
    kernel, rate = kernels.gemm(deployment.weights.matrix_format(head))
    inputs, outputs = local_shape(head, Mixer("none"), deployment.parallel.tp)
    yield Gemm("lm_head", 1.0, kernel, rate, inputs, outputs, deployment.weights.matrix_bits(head), last_only=True)
    small, small_rate = kernels("elementwise", "bf16")
    yield Elementwise("sampling", 2.0, small, small_rate, 2.0 * outputs, last_only=True)


def _layer_operators(
    deployment: Deployment, layer: Layer, count: float, phase: Phase, kernels: _Kernels
) -> Iterator[Operator]:
    for matrix in layer.matrices:
        if matrix.role != "expert":
            kernel, rate = kernels.gemm(deployment.weights.matrix_format(matrix))
            inputs, outputs = local_shape(matrix, layer.mixer, deployment.parallel.tp)
            bits = deployment.weights.matrix_bits(matrix)
            yield Gemm(matrix.name, count * matrix.copies, kernel, rate, inputs, outputs, bits)
    if layer.ffn.kind == "moe":
        yield _experts(deployment, layer, count, phase, kernels)
    mixer = _mixer_operator(deployment, layer.mixer, count, phase, kernels)
    if mixer is not None:
        yield mixer
    small, rate = kernels("elementwise", "bf16")
    hidden = float(deployment.model.hidden_size)
    each = deployment.engine.small_kernels_per_layer
    if layer.mixer.kind == "latent_attention":
        each += deployment.engine.latent_kernels_per_layer
    yield Elementwise("small kernels", count * each, small, rate, 2 * hidden)


def _experts(deployment: Deployment, layer: Layer, count: float, phase: Phase, kernels: _Kernels) -> GroupedGemm:
    matrices = [matrix for matrix in layer.matrices if matrix.role == "expert"]
    parallel, ffn = deployment.parallel, layer.ffn
    cut = parallel.tp * parallel.dp / parallel.ep
    elements = sum(matrix.inputs * matrix.outputs for matrix in matrices)
    kernel, rate = kernels("grouped_gemm", deployment.weights.matrix_format(matrices[0]))
    slower = UNEVEN_ROUTING * busiest_rank(float(ffn.experts), float(parallel.ep))
    factor = deployment.engine.expert_prefill_factor if phase == "prefill" else 1.0
    kernel = replace(
        kernel,
        compute_efficiency=kernel.compute_efficiency / slower / factor,
        memory_efficiency=kernel.memory_efficiency / factor,
    )
    return GroupedGemm(
        "experts",
        count,
        kernel,
        rate,
        experts=ffn.experts,
        experts_per_token=ffn.experts_per_token,
        expert_elements=elements / cut,
        inputs=float(ffn.expert_inputs),
        width=ffn.expert_width / cut,
        bits=deployment.weights.matrix_bits(matrices[0]),
        expert_ranks=parallel.ep,
    )


def _mixer_operator(
    deployment: Deployment, mixer: Mixer, count: float, phase: Phase, kernels: _Kernels
) -> Attention | Recurrence | None:
    tp = deployment.parallel.tp
    if mixer.kind == "none":
        return None
    if mixer.kind in ("mamba", "linear"):
        kernel, rate = kernels("elementwise", "bf16")
        state = mixer.state_elements / tp
        held = state * STATE_BYTES + mixer.conv_state_elements / tp * ACTIVATION_BYTES
        return Recurrence("state update", count, kernel, rate, held, state)
    latent = mixer.kind == "latent_attention"
    family = f"mla_{phase}" if latent else f"{phase}_attention"
    kernel, rate = kernels(family, deployment.kv.id)
    width = deployment.kv.bits_per_weight / 8
    shards = kv_shards(deployment, mixer)
    return Attention(
        family.replace("_", " "),
        count,
        kernel,
        rate,
        mixer,
        heads=mixer.heads / tp,
        cache_bytes=(mixer.cache_elements or mixer.shared_cache_elements) * width / shards,
        window_cache_bytes=mixer.window_cache_elements * width / shards,
        index_bytes=float(mixer.index_elements),
    )


def _transfers(deployment: Deployment) -> Iterator[Transfer]:
    parallel, hidden = deployment.parallel, deployment.model.hidden_size
    moe_layers = sum(g.count for g in deployment.model.groups if g.layer.ffn.kind == "moe")
    ffn_layers = sum(g.count for g in deployment.model.groups if g.layer.ffn.kind != "none")
    mixer_layers = sum(g.count for g in deployment.model.groups if g.layer.mixer.kind != "none")
    row = float(hidden * ACTIVATION_BYTES)
    exchanged = moe_layers if parallel.dp > 1 else 0
    if parallel.tp > 1:
        reduced = mixer_layers + ffn_layers - exchanged
        yield _transfer(deployment, "all-reduce", "all_reduce", parallel.tp, float(reduced), row)
        vocabulary = float(deployment.model.vocab_size * ACTIVATION_BYTES)
        yield _transfer(deployment, "gather logits", "all_gather", parallel.tp, 1.0, vocabulary, last_only=True)
    if exchanged:
        yield from _exchanges(deployment, exchanged)
    if parallel.pp > 1:
        # A send is half of an exchange between two.
        message = 2 * row / parallel.tp
        yield _transfer(
            deployment,
            "pipeline send",
            "all_to_all",
            2,
            float(parallel.pp - 1),
            message,
            span=deployment.gpus,
        )


def _exchanges(deployment: Deployment, layers: int) -> Iterator[Transfer]:
    """Dispatch to the experts and combine from them, where data-parallel ranks hold different tokens."""
    parallel = deployment.parallel
    ranks = parallel.tp * parallel.dp
    per_token = max(group.layer.ffn.experts_per_token for group in deployment.model.groups)
    targets = min(per_token, float(ranks))
    # Dispatch goes out in 8 bits where the experts multiply in 8 or fewer; combine comes back in 16.
    narrow = min(deployment.weights.bits.values()) < 16
    for name, width in (("dispatch", 1.0 if narrow else 2.0), ("combine", 2.0)):
        bytes_per_token = targets * deployment.model.hidden_size * width / parallel.tp
        yield _transfer(deployment, name, name, ranks, float(layers), bytes_per_token)


def _transfer(
    deployment: Deployment,
    name: str,
    op: str,
    ranks: int,
    launches: float,
    bytes_per_token: float,
    *,
    last_only: bool = False,
    span: int | None = None,
) -> Transfer:
    machine = deployment.machine
    inside = (span or ranks) <= machine.scale_up_domain
    bandwidth = machine.scale_up_bandwidth if inside else machine.scale_out_bandwidth
    model = collective_model(machine.accelerator, op, ranks, deployment.engine.kernels, across_nodes=not inside)
    scope: Literal["scale_up", "scale_out"] = "scale_up" if inside else "scale_out"
    return Transfer(name, launches, ranks, scope, bandwidth or slowest_link(machine), model, bytes_per_token, last_only)


def slowest_link(machine: Machine) -> float:
    """Bytes/s where the data names no link between the GPUs: through the host."""
    known = [rate for rate in (machine.host_bandwidth, machine.scale_out_bandwidth) if rate]
    return min(known) if known else PCIE3_X16


PCIE3_X16 = 15.75e9
"""Bytes/s one way of PCIe 3.0 x16 (8 GT/s · 16 lanes · 128/130 / 8); assumed where a machine states no link."""
