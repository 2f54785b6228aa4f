"""Formulas: pure functions of numbers. No input or output, no catalog, no state.

Every function takes floats, numpy arrays and sympy symbols alike (see :mod:`infer_cost.roofline.dispatch`),
in SI units: seconds, bytes, FLOP (a multiply-add is two), dense FLOP/s, bytes/s in one direction, tokens,
dollars, joules. What each says about itself (equation, symbols, units, range, sources) stands in its
docstring and nowhere else; :mod:`infer_cost.roofline.registry` reads it there,
:mod:`infer_cost.roofline.solving` turns it around.

Names are loaded on first use, so importing one formula doesn't import all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "roofs": ("arithmetic_intensity ridge_point attainable_flops hierarchical_time vector_peak_flops"),
    "latency": ("t_compute t_attention t_mem step_time_max step_time_sum kernel_time decode_throughput"),
    "batch": (
        "optimal_batch optimal_batch_with_kv critical_context sequences_that_fit context_that_fits "
        "chips_to_hold tensor_parallel_limit"
    ),
    "weights": (
        "bits_per_weight weight_bytes transformer_parameters matrix_stream_time "
        "transformer_parameters_classic memory_needed"
    ),
    "matmul": ("matmul_flops matmul_bytes matmul_intensity dot_product_intensity elementwise_bytes elementwise_time"),
    "attention": (
        "attention_flops_gqa attention_flops_mla attention_flops_full attention_flops_causal "
        "attention_traffic_naive attention_score_bytes attention_traffic_flash flash_traffic_ratio "
        "attention_intensity"
    ),
    "prefill": (
        "dense_flops prefill_flops prefill_time prefill_chunks chunked_prefill_cache_reads "
        "activation_bytes training_tokens_chinchilla available_flops"
    ),
    "kv_cache": (
        "kv_bytes_per_token_gqa kv_bytes_per_token_mla kv_bytes kv_bytes_windowed kv_bytes_per_rank kv_tokens_that_fit"
    ),
    "paging": ("kv_blocks kv_waste_paged kv_waste_contiguous kv_capacity_gain kv_tokens_evicted"),
    "caching": ("cache_hit_rate uncached_tokens prefix_hit_rate prefix_speedup"),
    "tiering": ("drain_time kv_load_time keep_cost recompute_cost keep_limit_time"),
    "moe": (
        "experts_hit experts_hit_uneven busiest_rank moe_weight_bytes_read expert_tokens expert_tokens_max "
        "expert_imbalance"
    ),
    "speculative": (
        "speculative_expected_tokens speculative_expected_tokens_tree speculative_speedup "
        "speculative_speedup_batched speculative_operations_factor speculative_batch_limit"
    ),
    "scheduling": (
        "tpot end_to_end_time tpot_steady_state mean_step_wait request_rate request_rate_per_chip "
        "throughput_per_chip prefill_decode_ratio"
    ),
    "padding": ("padded_tokens padding_waste flattening_speedup"),
    "queueing": (
        "offered_load server_utilization little_law mm1_wait mm1_time_percentile mm1k_blocking "
        "mg1_wait kingman_wait prefill_queue_ttft"
    ),
    "queueing_servers": ("erlang_b erlang_c mmc_wait mmc_service_level mmc_wait_percentile allen_cunneen_wait"),
    "collectives": (
        "all_gather_time reduce_scatter_time all_reduce_time_ring all_reduce_time_tree "
        "all_reduce_time_one_shot all_reduce_time_two_shot all_reduce_time_in_network "
        "all_reduce_crossover_bytes all_to_all_time all_reduce_latency_ring"
    ),
    "links": (
        "aggregate_bandwidth bit_rate_bandwidth aggregate_memory node_bandwidth "
        "all_gather_bandwidth all_gather_bandwidth_levels all_reduce_bus_factor effective_bandwidth"
    ),
    "network": (
        "transfer_time latency_bound_bytes fat_tree_hops rail_hops fat_tree_hosts path_latency "
        "incast_time incast_queue_bytes"
    ),
    "parallelism": (
        "tensor_parallel_bytes tensor_parallel_latency expert_dispatch_bytes expert_exchange_time communication_share"
    ),
    "pipeline": ("pipeline_bubble_fraction pipeline_time pipeline_token_time pipeline_idle_share"),
    "energy": ("energy_per_token tokens_per_joule kernel_energy electricity_cost electricity_cost_per_million_tokens"),
    "cost": "cost_per_token cost_per_million_tokens api_bill blended_price all_in_cost_per_million",
    "ownership": (
        "rental_cost ownership_cost_per_token annuity cost_at_utilization gross_margin break_even_tokens "
        "peak_flops_per_price"
    ),
}
FORMULA_MODULES = {name: module for module, names in _MODULES.items() for name in names.split()}
"""Where each formula lives: name to module."""

__all__ = sorted(FORMULA_MODULES)


def __getattr__(name: str) -> Any:
    """Load a formula's module when the formula is first asked for."""
    module = FORMULA_MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the formulas beside the module's own names."""
    return sorted({*globals(), *FORMULA_MODULES})
