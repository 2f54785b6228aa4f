"""Parameter counts of every config as found, exact to the element."""

from __future__ import annotations

from typing import Any

import pytest

from infer_cost.errors import UnknownNameError
from infer_cost.model_specs.checkpoint import block_scale_elements
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_token
from infer_cost.model_specs.readers.registry import read_config
from tests.model_specs.support import architecture, config, counted, facts, names

UNSUPPORTED = {"BAAI__bge-large-en.json": "bert", "RWKV__rwkv-5-world-3b.json": "rwkv5"}

STORED_OTHERWISE = {
    "Qwen__Qwen3-30B-A3B-FP8.json": "block scales are counted with the weights",
    "deepseek-ai__DeepSeek-V3.json": "block scales are counted with the weights",
    "zai-org__GLM-5-FP8.json": "block scales are counted with the weights",
    "internlm__internlm2-7b.json": "the published total misses a file; 2.5 with the same config matches",
    "meta-llama__Llama-2-7b-hf.json": "2,048 rotary frequencies are stored, which no key says",
    "microsoft__Phi-3-small-8k-instruct.json": "2,048 stored elements that no key explains",
    "mistralai__Mistral-Small-4-119B-2603.json": "the file has no vision_config to count",
    "moonshotai__Kimi-K2-Instruct.json": "3,416 stored elements that no key explains",
    "nvidia__Qwen3-235B-A22B-NVFP4.json": "two 4-bit weights are counted as one byte",
    "stepfun-ai__Step-3.7-Flash-FP8.json": "block scales of experts are counted with the weights",
}


@pytest.mark.parametrize("row", counted(), ids=names(counted()))
def test_every_config_is_counted_to_the_element(row: dict[str, str]) -> None:
    found = counts(architecture(row["file"]))
    assert found.total == int(row["oracle_total"])
    assert found.active == int(row["oracle_active_all"])
    assert found.active_without_embedding == int(row["oracle_active_noemb"])
    assert found.active_body == int(row["oracle_active_body"])


STORED = [row for row in counted() if row["safetensors_total"]]


@pytest.mark.parametrize("row", STORED, ids=names(STORED))
def test_components_add_up_to_what_the_checkpoint_stores(row: dict[str, str]) -> None:
    found = counts(architecture(row["file"])).stored
    assert (found == int(row["safetensors_total"])) == (row["file"] not in STORED_OTHERWISE)


@pytest.mark.parametrize("row", counted(), ids=names(counted()))
def test_prediction_modules_are_counted_apart(row: dict[str, str]) -> None:
    found = sum(part.elements for part in architecture(row["file"]).components if part.kind == "mtp")
    assert found == int(row["oracle_mtp"])


VISION = [row for row in counted() if row["vision_params_transformers"]]
LLAMA4_TOWER = 871_932_416
"""Of the checkpoints, which both store this much beside the language model; class defaults are another tower."""


@pytest.mark.parametrize("row", VISION, ids=names(VISION))
def test_towers_are_counted_apart(row: dict[str, str]) -> None:
    built = architecture(row["file"])
    found = sum(part.elements for part in built.components if part.kind in ("vision", "audio"))
    expected = LLAMA4_TOWER if "Llama-4" in row["file"] else int(row["vision_params_transformers"])
    assert found == expected


@pytest.mark.parametrize(
    "file", ["deepseek-ai__DeepSeek-V3.json", "Qwen__Qwen3-30B-A3B-FP8.json", "zai-org__GLM-5-FP8.json"]
)
def test_block_scales_explain_the_rest(file: str) -> None:
    row = next(row for row in facts() if row["file"] == file)
    built = architecture(file)
    assert counts(built).stored + block_scale_elements(built) == int(row["safetensors_total"])


def test_packed_nvfp4_explains_its_total() -> None:
    built = architecture("nvidia__Qwen3-235B-A22B-NVFP4.json")
    row = next(row for row in facts() if row["file"] == "nvidia__Qwen3-235B-A22B-NVFP4.json")
    packed = 0
    for group in built.groups:
        for matrix in group.layer.matrices:
            if matrix.role in ("attention", "expert"):
                packed += group.count * matrix.elements
    assert counts(built).total - packed + packed // 2 + packed // 16 == pytest.approx(
        int(row["safetensors_total"]), rel=1e-5
    )


def models_from_elsewhere() -> list[tuple[dict[str, Any], int, float]]:
    """Configs of families that the files as found lack, with stored totals and KV bytes as published."""
    kda = [index for index in range(1, 28) if index % 4 and index != 27]
    full = [index for index in range(1, 28) if index not in kda]
    kimi = {
        "model_type": "kimi_linear",
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "moe_intermediate_size": 1024,
        "num_hidden_layers": 27,
        "num_attention_heads": 32,
        "num_experts": 256,
        "num_experts_per_token": 8,
        "num_shared_experts": 1,
        "first_k_dense_replace": 1,
        "kv_lora_rank": 512,
        "q_lora_rank": None,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "vocab_size": 163840,
        "linear_attn_config": {
            "kda_layers": kda,
            "full_attn_layers": full,
            "num_heads": 32,
            "head_dim": 128,
            "short_conv_kernel_size": 4,
        },
    }
    qwen = {**config("Qwen__Qwen2.5-7B-Instruct.json"), "model_type": "qwen2_vl"}
    tower = {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "hidden_size": 3584, "patch_size": 14}
    tower_2_5 = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "patch_size": 14}
    falcon = {
        "model_type": "falcon",
        "hidden_size": 4544,
        "num_hidden_layers": 32,
        "num_attention_heads": 71,
        "multi_query": True,
        "parallel_attn": True,
        "bias": False,
        "vocab_size": 65024,
    }
    mpt = {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "vocab_size": 50432}
    return [
        (kimi, 49_122_681_728, 7 * 576 * 2),
        ({**qwen, "vision_config": tower}, 8_291_375_616, 57344),
        ({**qwen, "model_type": "qwen2_5_vl", "vision_config": tower_2_5}, 8_292_166_656, 57344),
        (falcon, 6_921_720_704 + 65024 * 4544, 32 * 2 * 64 * 2),
        ({**mpt, "expansion_ratio": 4}, 6_649_286_656, 524288),
    ]


@pytest.mark.parametrize(("data", "stored", "kv"), models_from_elsewhere(), ids=lambda value: str(value)[:24])
def test_families_beyond_the_files(data: dict[str, Any], stored: int, kv: float) -> None:
    built = read_config(data)
    assert counts(built).stored == stored
    assert kv_bytes_per_token(built) == kv


@pytest.mark.parametrize("file", sorted(UNSUPPORTED))
def test_models_without_a_cache_are_refused(file: str) -> None:
    with pytest.raises(UnknownNameError, match=UNSUPPORTED[file]):
        architecture(file)


def test_nothing_is_left_out_of_the_tests() -> None:
    assert len(counted()) + len(UNSUPPORTED) == len(facts()) == 119
    assert len({config(row["file"])["model_type"] for row in facts()}) == 70


def test_layers_know_their_places() -> None:
    for row in counted():
        built = architecture(row["file"])
        assert all(len(group.indices) == group.count for group in built.groups)
