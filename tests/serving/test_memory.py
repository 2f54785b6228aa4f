"""Memory plans: what fits, how long, on how few, and the command that gives it."""

from __future__ import annotations

import pytest

import infer_cost
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.serving.budget import budget, sequence_bytes_per_gpu
from infer_cost.serving.deployment import deployment

PLAN = {"hardware": "h100-sxm", "gpus": 4, "weights": "fp8"}


def _plan(**options):
    return infer_cost.memory_plan("llama-3.1-70b", **{**PLAN, **options})


def test_parts_add_up():
    plan = _plan(context=8192)
    parts = (
        plan.weight_bytes_per_gpu
        + plan.activation_bytes_per_gpu
        + plan.runtime_bytes_per_gpu
        + plan.kv_budget_bytes_per_gpu
    )
    assert parts == pytest.approx(plan.usable_bytes_per_gpu)
    assert plan.kv_budget_bytes == pytest.approx(4 * plan.kv_budget_bytes_per_gpu)


@pytest.mark.parametrize("concurrency", [1, 7, 64])
def test_the_longest_context_just_fits(concurrency):
    plan = _plan(concurrency=concurrency)
    engine = deployment("llama-3.1-70b", "h100-sxm", gpus=4, weights="fp8")
    room = budget(engine).kv
    assert concurrency * sequence_bytes_per_gpu(engine, float(plan.longest_context)) <= room
    if plan.longest_context < 131_072:
        assert concurrency * sequence_bytes_per_gpu(engine, float(plan.longest_context + 1)) > room


def test_sequences_fit_and_one_more_does_not():
    plan = _plan(context=32_768)
    held = plan.kv_bytes_per_sequence_per_gpu
    assert plan.max_concurrent_sequences * held <= plan.kv_budget_bytes_per_gpu
    assert (plan.max_concurrent_sequences + 1) * held > plan.kv_budget_bytes_per_gpu


def test_fewest_gpus_are_fewest():
    plan = _plan(context=8192)
    assert plan.fewest_gpus == 2
    assert infer_cost.memory_plan("llama-3.1-70b", hardware="h100-sxm", tp=2, weights="fp8").fits
    assert not infer_cost.memory_plan("llama-3.1-70b", hardware="h100-sxm", tp=1, weights="fp8").fits


def test_what_does_not_fit_says_what_would():
    plan = infer_cost.memory_plan("llama-3.1-70b", hardware="h100-sxm", weights="bf16")
    assert plan.fits is False
    assert plan.longest_context == 0
    assert plan.vllm_command is None
    assert "--gpus 2" in plan.remedies


def test_a_latent_cache_is_not_divided_by_tensor_parallelism():
    one, eight = (deployment("deepseek-v3", "b200-sxm", tp=tp, weights="nvfp4", kv="bf16") for tp in (4, 8))
    assert sequence_bytes_per_gpu(one, 1600.0) == sequence_bytes_per_gpu(eight, 1600.0)


def test_windows_cap_the_cache():
    gemma = infer_cost.memory_plan("gemma-3-27b", context=131_072, kv="bf16")
    naive = gemma.kv_bytes_per_token * 131_072
    assert gemma.kv_bytes_per_sequence < naive / 5
    assert gemma.kv_growth_bytes_per_token < gemma.kv_bytes_per_token


def test_the_engine_s_own_words():
    tight, loose = _plan(memory_utilization=0.5), _plan(memory_utilization=0.95)
    assert loose.max_concurrent_sequences > tight.max_concurrent_sequences
    command = _plan(context=16_384, kv="fp8").vllm_command
    for flag in ("--tensor-parallel-size 4", "--max-model-len 16384", "--kv-cache-dtype fp8", "--quantization fp8"):
        assert flag in command


def test_a_context_beyond_the_window():
    with pytest.raises(CannotBeMetError):
        _plan(context=131_073)
    with pytest.raises(InputError):
        _plan(context=0)
    with pytest.raises(InputError):
        _plan(concurrency=0)


def test_replicated_kv_heads_are_said():
    plan = infer_cost.memory_plan("llama-3.1-70b", hardware="h100-sxm", tp=16, weights="fp8")
    assert any("each KV head is held by 2 GPUs" in note for note in plan.notes)


def test_allocators_and_a_naive_count_stand_beside_the_right_one():
    paged = infer_cost.memory_plan("gpt-oss-20b", context=8192, kv="bf16")
    unified = infer_cost.memory_plan("gpt-oss-20b", context=8192, kv="bf16", kv_allocator="unified")
    assert paged.kv_bytes_per_sequence == unified.kv_bytes_per_sequence
    # 32 sequences: 6.09 GiB with windows, 12 GiB in an engine that charges every layer the whole context.
    assert 32 * paged.kv_bytes_per_sequence / 2**30 == pytest.approx(6.09, rel=2e-3)
    assert 32 * unified.kv_allocated_bytes_per_sequence / 2**30 == pytest.approx(12.0, rel=2e-3)
    assert unified.naive_kv_bytes_per_sequence == pytest.approx(unified.kv_allocated_bytes_per_sequence)
    with pytest.raises(InputError):
        infer_cost.memory_plan("gpt-oss-20b", kv_allocator="slab")


def test_adapters_take_room():
    from infer_cost.model_specs.lora import Adapter

    bare = infer_cost.memory_plan("llama-3.1-8b", hardware="l40s")
    beside = infer_cost.memory_plan("llama-3.1-8b", hardware="l40s", adapter=Adapter(16), adapters=100)
    # Rank 16 on four attention projections: 13,631,488 parameters of 2 bytes, a hundred times.
    assert beside.adapter_bytes == 13_631_488 * 2 * 100
    assert bare.kv_budget_bytes - beside.kv_budget_bytes == pytest.approx(beside.adapter_bytes)
    assert beside.max_concurrent_sequences < bare.max_concurrent_sequences


def test_an_unknown_type_is_read_only_when_told(tmp_path, infer_cost):
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "lamma", "hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 32, '
        '"num_key_value_heads": 4, "num_hidden_layers": 22, "vocab_size": 32000}'
    )
    assert infer_cost(f"memory {config}").code == 2
    told = infer_cost(f"memory {config} --assume llama")
    assert told.code == 0
    assert "llama" in told.out
    assert infer_cost(f"estimate {config} --assume llama --hardware l4").code == 0


def test_per_gpu_budget_of_a_log():
    """Weights 13.9476, other 0.25 and activations 0.19 of a budget of 23.08 GiB leave 8.69 GiB on each of two GPUs."""
    from infer_cost.serving.budget import Budget

    log = Budget(usable=23.08, weights=13.9476, activations=0.19, runtime=0.25)
    assert log.kv == pytest.approx(8.69, rel=1e-3)
