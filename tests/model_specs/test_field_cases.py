"""What engines, checkpoints and maintainers showed, recomputed: one function a case, its source in the data file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from infer_cost.hardware_specs.catalog import hardware
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.catalog import model
from infer_cost.model_specs.checkpoint import checkpoint_size
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import (
    element_bytes,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_growth_bytes_per_token,
    state_bytes_per_sequence,
)
from infer_cost.model_specs.pages import attention_block_tokens, concurrency
from infer_cost.model_specs.readers.registry import read_config
from infer_cost.model_specs.weights import weight_bytes, weight_formats
from tests.model_specs.support import DATA, LLAMA

CASES = [json.loads(line) for line in (DATA / "field_cases.jsonl").read_text("utf-8").splitlines()]
MIB, GIB = 2**20, 2**30


def llama(**keys: Any) -> Architecture:
    return read_config({**LLAMA, **keys})


def grouped(case: dict[str, Any]) -> Architecture:
    """A model with the layers and heads that a case names."""
    given = case["input"]
    width = given.get("head_dim", 128)
    return llama(
        num_hidden_layers=given["layers"], num_key_value_heads=given["kv_heads"], head_dim=width, sliding_window=None
    )


def mebibytes(case: dict[str, Any]) -> float:
    built = grouped(case)
    width = element_bytes(case["input"]["kv_dtype"])
    return float(kv_bytes_per_sequence(built, case["input"]["ctx"], width)) / MIB


def k01(case: dict[str, Any]) -> Any:
    given = case["input"]
    built = llama(
        hidden_size=given["hidden"],
        num_hidden_layers=given["layers"],
        num_attention_heads=given["heads"],
        num_key_value_heads=given["heads"],
    )
    return kv_bytes_per_sequence(built, given["ctx"], element_bytes("fp32")) / MIB


def k05(case: dict[str, Any]) -> Any:
    return kv_bytes_per_sequence(model("mistral-small-22b"), case["input"]["ctx"], element_bytes("q8_0")) / MIB


def k07(case: dict[str, Any]) -> Any:
    # llama.cpp keeps one column of the convolution less than the kernel has, in 32 bits.
    one = state_bytes_per_sequence(model("qwen3.5-27b"), 4, 4, conv_columns_dropped=1)
    return case["input"]["seqs"] * one / MIB


def k08(case: dict[str, Any]) -> Any:
    given, state = case["input"], case["input"]["ssm"]
    built = read_config(
        {
            "model_type": "falcon_h1",
            "hidden_size": 2048,
            "intermediate_size": 4096,
            "num_hidden_layers": given["layers"],
            "num_attention_heads": 8,
            "num_key_value_heads": given["kv_heads"],
            "head_dim": given["head_dim"],
            "mamba_d_ssm": state["d_inner"],
            "mamba_n_heads": state["d_inner"] // 64,
            "mamba_d_state": state["d_state"],
            "mamba_n_groups": state["groups"],
            "mamba_d_conv": state["conv"],
            "vocab_size": 65537,
        }
    )
    held = kv_bytes_per_sequence(built, given["ctx"]) + state_bytes_per_sequence(built, 4, 4, conv_columns_dropped=1)
    return held / MIB


def k10(case: dict[str, Any]) -> Any:
    gemma = model("gemma-3-270m")

    def pool(context: int, slots: int) -> float:
        # One global cache for all slots; each slot has its own window and the tokens of a batch beyond it.
        whole = kv_growth_bytes_per_token(gemma) * context
        slot = kv_bytes_per_sequence(gemma, context / slots, in_flight_tokens=case["input"]["ubatch"])
        return (whole + slots * (slot - kv_growth_bytes_per_token(gemma) * context / slots)) / MIB

    return [pool(*one) for one in case["input"]["cases"]]


def k12(case: dict[str, Any]) -> Any:
    built = model("gpt-oss-120b")
    tokens = case["input"]["isl"] + case["input"]["osl"]
    width = element_bytes("fp8")
    return [kv_bytes_per_token(built, width) * tokens / GIB, kv_bytes_per_sequence(built, tokens, width) / GIB]


def k13(case: dict[str, Any]) -> Any:
    built, batch = model("gpt-oss-20b"), case["input"]["batch"]
    tokens = case["input"]["ctx"]
    whole = kv_bytes_per_sequence(built, tokens, allocator="unified")
    return [batch * kv_bytes_per_sequence(built, tokens) / GIB, batch * whole / GIB]


def k14(case: dict[str, Any]) -> Any:
    return kv_bytes_per_token(model("gemma-4-31b")) * case["input"]["ctx"] / GIB


def k21(case: dict[str, Any]) -> Any:
    given = case["input"]
    built = read_config(
        {
            "model_type": "gemma4_text",
            "hidden_size": 1536,
            "intermediate_size": 6144,
            "num_hidden_layers": given["layers"],
            "num_attention_heads": 8,
            "num_key_value_heads": 1,
            "num_kv_shared_layers": given["shared"],
            "global_head_dim": 256,
        }
    )
    own = sum(group.count for group in built.groups if group.layer.mixer.cache_elements)
    return 100 * (1 - own / built.layers)


def k22(case: dict[str, Any]) -> Any:
    return mebibytes(case) * MIB / 1e9


def k23(case: dict[str, Any]) -> Any:
    return kv_bytes_per_token(model("deepseek-v3"))


def k24(case: dict[str, Any]) -> Any:
    text = case["input"]["text_config"]
    built = read_config(
        {
            "model_type": "qwen3_5",
            "text_config": {
                "hidden_size": 2560,
                "intermediate_size": 9216,
                "num_attention_heads": 16,
                "num_hidden_layers": text["num_hidden_layers"],
                "num_key_value_heads": text["num_key_value_heads"],
                "head_dim": text["head_dim"],
                "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * text["full_attention"],
                "linear_num_key_heads": 16,
                "linear_num_value_heads": 32,
                "linear_key_head_dim": 128,
                "linear_value_head_dim": 128,
                "linear_conv_kernel_dim": 4,
                "vocab_size": 248320,
            },
        }
    )
    per_layer = 2 * text["num_key_value_heads"] * text["head_dim"] * 2
    return [kv_bytes_per_token(built), built.layers * per_layer / kv_bytes_per_token(built)]


def k26(case: dict[str, Any]) -> Any:
    return attention_block_tokens(model("nemotron-nano-9b-v2"), state_bytes=2)


def k29(case: dict[str, Any]) -> Any:
    scout, tokens = model("llama-4-scout"), case["input"]["ctx"]
    return [kv_bytes_per_sequence(scout, tokens) / 1e9, kv_bytes_per_token(scout) * tokens / 1e9]


def k30(case: dict[str, Any]) -> Any:
    a_token = kv_bytes_per_sequence(model("gemma-4-31b"), 16_000, allocator="unified") / 16_000
    return case["input"]["kv_gib"] * GIB / a_token


def c01(case: dict[str, Any]) -> Any:
    given = case["input"]
    block = kv_bytes_per_sequence(model("llama-3.1-8b"), given["block"])
    (first, second), (short, long) = given["blocks"], given["max_len"]
    return [
        first * given["block"],
        concurrency(first, given["block"], short),
        second * given["block"],
        concurrency(second, given["block"], long),
        given["kv_gib"] * GIB / block,
    ]


def c03(case: dict[str, Any]) -> Any:
    return concurrency(case["input"]["blocks"], case["input"]["block"], case["input"]["max_len"])


def w01(case: dict[str, Any]) -> Any:
    return checkpoint_size(model("deepseek-v3")).total_bytes


def w02(case: dict[str, Any]) -> Any:
    found = counts(model("deepseek-v3"))
    beside = sum(part.elements for part in found.components if part.kind in ("mtp", "copies"))
    return [found.total / 1e9, beside / 1e9, found.stored / 1e9]


def w04(case: dict[str, Any]) -> Any:
    large = model("gpt-oss-120b")
    gguf = weight_bytes(large, weight_formats(large, "mxfp4_moe"))
    return [counts(large).total / 1e9, counts(model("gpt-oss-20b")).total / 1e9, gguf / 1e9]


def w07(case: dict[str, Any]) -> Any:
    given = case["input"]
    qwen = {
        **LLAMA,
        "model_type": "qwen2",
        "num_hidden_layers": given["layers"],
        "hidden_size": given["hidden"],
        "intermediate_size": given["ffn"],
        "num_attention_heads": 64,
        "num_key_value_heads": given["kv_dim"] // 128,
        "vocab_size": given["vocab"],
        "quantization_config": {"quant_method": "gptq", "bits": given["bits"], "group_size": given["group"]},
    }
    return checkpoint_size(read_config(qwen)).total_bytes / 1e9


def q4_k_m(name: str) -> Any:
    built = model(name)
    size = weight_bytes(built, weight_formats(built, "q4_k_m"))
    return [counts(built).total / 1e9, size / GIB, 8 * size / counts(built).total]


def w12(case: dict[str, Any]) -> Any:
    built = model("llama-3.1-8b")
    size = weight_bytes(built, weight_formats(built, "nvfp4"))
    return [size / GIB, 8 * size / counts(built).total]


def p01(case: dict[str, Any]) -> Any:
    text = case["input"]["text_config"]
    built = read_config(
        {
            "model_type": "gemma3",
            "text_config": {
                **text,
                "hidden_size": 3840,
                "intermediate_size": 15360,
                "num_attention_heads": 16,
                "sliding_window": 1024,
            },
            "vision_config": {
                **case["input"]["vision_config"],
                "hidden_size": 1152,
                "intermediate_size": 4304,
                "num_attention_heads": 16,
                "image_size": 896,
                "patch_size": 14,
            },
        }
    )
    return kv_bytes_per_token(built)


def u02(case: dict[str, Any]) -> Any:
    # The sparse rate that the case names is never used: the catalog's is dense.
    return 100 * case["input"]["achieved"] * 1e12 / hardware("h200-sxm").accelerator.peak_flops["bf16"]


def u06(case: dict[str, Any]) -> Any:
    chip = hardware("h100-sxm").accelerator
    assert chip.scale_up_bandwidth and chip.host_bandwidth
    return chip.scale_up_bandwidth / chip.host_bandwidth


def u07(case: dict[str, Any]) -> Any:
    chip = hardware("h100-sxm").accelerator
    assert chip.scale_up_bandwidth == case["input"]["nvlink_bidir_GBps"] * 1e9 / 2
    return chip.scale_up_bandwidth * 8 / 1e9


def c10(case: dict[str, Any]) -> Any:
    given = case["input"]
    # Figures of the log are for one rank; a second one doesn't add to them.
    return given["budget_gib"] - given["weights"] - given["non_torch"] - given["activation"]


ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "K01": k01,
    "K05": k05,
    "K07": k07,
    "K08": k08,
    "K09": mebibytes,
    "K10": k10,
    "K12": k12,
    "K13": k13,
    "K14": k14,
    "K21": k21,
    "K22": k22,
    "K23": k23,
    "K24": k24,
    "K26": k26,
    "K29": k29,
    "K30": k30,
    "C01": c01,
    "C03": c03,
    "C10": c10,
    "W01": w01,
    "W02": w02,
    "W04": w04,
    "W07": w07,
    "W09": lambda case: q4_k_m("qwen3-30b-a3b"),
    "W10": lambda case: q4_k_m("qwen2.5-7b"),
    "W12": w12,
    "W16": lambda case: checkpoint_size(model("qwen3-30b-a3b")).total_bytes,
    "W17": lambda case: checkpoint_size(model("gemma-3-27b")).total_bytes,
    "P01": p01,
    "U02": u02,
    "U06": u06,
    "U07": u07,
}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_field_case(case: dict[str, Any]) -> None:
    expected = case["expected"]
    found = ANSWERS[case["id"]](case)
    assert found == pytest.approx(expected, rel=case["tolerance_rel"])


def test_all_cases_are_answered() -> None:
    assert len(CASES) == 32 and set(ANSWERS) == {case["id"] for case in CASES}
