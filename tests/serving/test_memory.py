"""Memory plans: what fits, how long, on how few, and the command that gives it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import infer_cost
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.model_specs.architecture import Layer, LayerGroup, Mixer, Quantization
from infer_cost.model_specs.lora import Adapter
from infer_cost.serving.budget import budget, sequence_bytes_per_gpu
from infer_cost.serving.deployment import deployment
from infer_cost.serving.memory import fit_error
from tests.serving.support import DENSE, DENSE_MATRICES, MACHINE, engine, model

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


TOY = {"engine": engine(), "weights": "bf16", "kv": "bf16"}


def _toy(**options):
    return infer_cost.memory_plan(model(), MACHINE, **{**TOY, **options})


def test_a_plan_by_hand():
    # 1 GB, of which 90 % are given; 76 million weights, 9,000 of norms; 1,000 tokens of 16,000 elements, 64 of logits.
    found = _toy(context=1000)
    assert found.usable_bytes_per_gpu == pytest.approx(0.9e9)
    assert found.weight_bytes_per_gpu == pytest.approx(2 * 76_009_000)
    assert found.activation_bytes_per_gpu == pytest.approx(34.56e6)
    left = 0.9e9 - 1e8 - 34.56e6 - 2 * 76_009_000
    assert found.kv_budget_bytes_per_gpu == pytest.approx(left)
    # 63 blocks of 16 tokens of 3,200 bytes.
    assert found.kv_bytes_per_sequence_per_gpu == 63 * 16 * 3200
    assert found.max_concurrent_sequences == left // (63 * 16 * 3200)
    assert found.kv_bytes_per_sequence == 1000 * 3200
    assert (found.fits, found.missing_bytes_per_gpu, found.remedies) == (True, 0, ())
    # Two ranks hold whole sequences each.
    assert _toy(context=1000, dp=2).max_concurrent_sequences == 2 * found.max_concurrent_sequences
    assert _toy(context=1000, dp=2).kv_budget_bytes == pytest.approx(2 * left)


def test_a_plan_that_does_not_fit_says_so_once():
    found = _toy(memory_utilization=0.2, context=160)
    assert (found.fits, found.kv_budget_bytes, found.max_concurrent_sequences) == (False, 0, 0)
    # 86.6 MB too many before the first of 160 tokens.
    short = 160 * 3200 + 1e8 + 34.56e6 + 2 * 76_009_000 - 0.2e9
    assert found.missing_bytes_per_gpu == pytest.approx(short)
    error = fit_error(found)
    assert error is not None
    assert f"{short / 1e9:.1f} GB short" in str(error)
    # Of 87.1 MB narrower layers save 83 at most.
    assert error.hint == "would fit: --gpus 2"
    assert fit_error(_toy(context=160)) is None
    assert fit_error(infer_cost.memory_plan(model(), context=160)) is None
    hopeless = fit_error(_toy(memory_utilization=0.05, context=160))
    assert hopeless is not None and hopeless.hint is None


def test_the_context_that_is_asked_about():
    assert _toy().context == 4096
    endless = replace(model(), context_length=None)
    assert infer_cost.memory_plan(endless).context == 8192
    assert infer_cost.memory_plan(replace(model(), context_length=100_000)).context == 8192
    assert infer_cost.memory_plan(endless, context=1_000_000).context == 1_000_000
    assert _toy(max_model_len=500).context == 500
    with pytest.raises(CannotBeMetError):
        _toy(max_model_len=500, context=501)
    with pytest.raises(CannotBeMetError):
        _toy(max_model_len=9000, context=4097)
    assert _toy(max_model_len=9000, context=4096).context == 4096


def test_the_command_takes_a_batch_of_one_rank():
    def flag(line, name):
        words = line.split()
        return int(words[words.index(name) + 1])

    # 121 sequences fit on two ranks; the engine takes 64 at most.
    fitting = _toy(context=1600, dp=2)
    assert flag(fitting.vllm_command, "--max-num-seqs") == 64
    few = _toy(context=4096, dp=2)
    assert few.max_concurrent_sequences == 2 * 46
    assert flag(few.vllm_command, "--max-num-seqs") == 46
    assert flag(few.vllm_command, "--max-model-len") == 4096
    assert flag(_toy(context=100, max_model_len=500).vllm_command, "--max-model-len") == 500


def test_notes_about_the_machine():
    notes = "\n".join(_toy(tp=8).notes)
    assert "90% of the GPU's memory" in notes
    assert "0.1 GB a GPU are reserved" in notes
    assert "each KV head is held by 4 GPUs (tp 8, 2 KV heads)" in notes
    assert "KV head" not in "\n".join(_toy(tp=2).notes)
    recurrent = model(LayerGroup(Layer(Mixer("mamba", state_elements=1000), DENSE, DENSE_MATRICES), 4))
    assert "KV head" not in "\n".join(infer_cost.memory_plan(recurrent, MACHINE, **TOY, tp=2).notes)


def test_the_cache_s_format_without_a_machine():
    assert infer_cost.memory_plan(model()).kv == "bf16"
    assert infer_cost.memory_plan(model(), kv="fp8").kv == "fp8"
    stored = replace(model(), quantization=Quantization({"attention": "fp8"}, kv_format="fp8"))
    assert infer_cost.memory_plan(stored).kv == "fp8"
    assert infer_cost.memory_plan(stored, kv="bf16").kv == "bf16"
    with pytest.raises(InputError):
        infer_cost.memory_plan(model(), kv="")


def test_counts_out_of_range():
    for wrong in ({"concurrency": 10_000_001}, {"adapters": 0}, {"adapters": 1_000_001}):
        with pytest.raises(InputError):
            _toy(**wrong)
    assert _toy(concurrency=10_000_000).longest_context == 0


def test_an_adapter_computes_and_is_held():
    # Rank 10 on a matrix of i inputs and o outputs: 10 · (i + o) weights, two FLOPs each.
    bare = _toy()
    beside = _toy(adapter=Adapter(10), adapters=3)
    assert (bare.adapter_bytes, bare.adapter_flops_per_token) == (0, 0)
    assert beside.adapter_bytes == pytest.approx(3 * beside.adapter_flops_per_token)  # 2 bytes a weight, 2 FLOPs
    assert beside.weight_bytes_per_gpu - bare.weight_bytes_per_gpu == pytest.approx(beside.adapter_bytes)
