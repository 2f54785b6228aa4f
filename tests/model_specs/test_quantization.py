"""How checkpoints say that they are quantised."""

from __future__ import annotations

from typing import Any

import pytest

from infer_cost.model_specs.architecture import Quantization
from infer_cost.model_specs.quantization import roles_of
from infer_cost.model_specs.readers.registry import read_config
from infer_cost.model_specs.weights import weight_formats
from tests.model_specs.support import LLAMA, architecture, config


def stored(method: dict[str, Any], **keys: Any) -> Quantization:
    found = read_config({**LLAMA, **keys, "quantization_config": method}).quantization
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("method", "expected", "bits"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4-g128", 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4-g32", 4 + 20 / 32),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8", 8.0),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "int4-g128", 4 + 20 / 128),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block", 8 + 32 / 16384),
        ({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}, "fp8-block", 8 + 8 / 16384),
        ({"quant_method": "fp8"}, "fp8", 8.0),
        ({"quant_method": "fbgemm_fp8"}, "fp8", 8.0),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", 8.0),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4-g128", 4.5),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", 4.5),
        ({"quant_algo": "FP8"}, "fp8", 8.0),
        ({"quant_method": "mxfp4"}, "mxfp4", 4.25),
    ],
)
def test_methods(method: dict[str, Any], expected: str, bits: float) -> None:
    found = read_config({**LLAMA, "quantization_config": method})
    formats = weight_formats(found)
    assert formats.ids["attention"] == formats.ids["dense_ffn"] == expected
    assert formats.bits["dense_ffn"] == pytest.approx(bits)
    assert formats.ids["head"] == formats.ids["embedding"] == "bf16"


def weights(**keys: Any) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": keys}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"]}


@pytest.mark.parametrize(
    ("method", "bits"),
    [
        (weights(num_bits=8, type="float", strategy="channel"), 8.0),
        (weights(num_bits=8, type="int", strategy="channel"), 8.0),
        (weights(num_bits=4, type="int", group_size=128, symmetric=True), 4.125),
        (weights(num_bits=4, type="int", group_size=128, symmetric=False), 4.15625),
        (weights(num_bits=4, type="int", group_size=32, symmetric=True), 4.5),
        (weights(num_bits=4, type="float", group_size=16), 4.5),
        (weights(num_bits=4, type="float", group_size=32), 4.25),
    ],
)
def test_compressed_tensors(method: dict[str, Any], bits: float) -> None:
    assert weight_formats(read_config({**LLAMA, "quantization_config": method})).bits["attention"] == bits


def test_layers_that_are_left_out_weigh_in_the_average() -> None:
    ignore = [f"model.layers.{index}.self_attn*" for index in range(8)]
    found = stored({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ignore})
    assert found.formats["attention"] == "nvfp4"
    assert found.mixed_bits["attention"] == pytest.approx((8 * 16 + 24 * 4.5) / 32)
    assert "dense_ffn" not in found.mixed_bits


def test_an_unknown_method_is_said() -> None:
    found = read_config({**LLAMA, "quantization_config": {"quant_method": "aqlm2"}})
    assert found.quantization is None
    assert "aqlm2, which isn't known; 16 bits assumed" in found.notes[-1]


def test_side_file_of_modelopt() -> None:
    side = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    found = read_config(config("nvidia__Qwen3-235B-A22B-NVFP4.json"), side_file=side).quantization
    assert found is not None
    assert found.formats == {"attention": "nvfp4", "expert": "nvfp4"} and found.kv_format == "fp8"


FOUND = {
    "nvidia__GLM-5.2-NVFP4.json": {"expert": "nvfp4"},
    "nvidia__Gemma-4-26B-A4B-NVFP4.json": {"expert": "nvfp4"},
    "nvidia__Kimi-K2.5-NVFP4.json": {"dense_ffn": "nvfp4", "expert": "nvfp4", "shared_expert": "nvfp4"},
    "nvidia__MiniMax-M2.7-NVFP4.json": {"expert": "nvfp4"},
    "nvidia__MiniMax-M3-NVFP4.json": {
        "attention": "mxfp8",
        "dense_ffn": "mxfp8",
        "expert": "nvfp4",
        "shared_expert": "mxfp8",
    },
    "nvidia__Qwen3.6-35B-A3B-NVFP4.json": {
        "attention": "fp8",
        "expert": "nvfp4",
        "head": "nvfp4",
        "mixer": "fp8",
        "shared_expert": "nvfp4",
    },
    "deepseek-ai__DeepSeek-V4-Pro.json": {
        "attention": "fp8-block",
        "expert": "mxfp4",
        "indexer": "fp8-block",
        "shared_expert": "fp8-block",
    },
    "openai__gpt-oss-120b.json": {"expert": "mxfp4"},
    "zai-org__GLM-5-FP8.json": {
        "attention": "fp8-block",
        "dense_ffn": "fp8-block",
        "expert": "fp8-block",
        "indexer": "fp8-block",
        "shared_expert": "fp8-block",
    },
}


@pytest.mark.parametrize("file", FOUND)
def test_checkpoints_as_found(file: str) -> None:
    found = architecture(file).quantization
    assert found is not None and dict(found.formats) == FOUND[file]


@pytest.mark.parametrize(
    ("module", "roles"),
    [
        ("*mlp.gate", ("router",)),
        ("*self_attn*", ("attention", "indexer")),
        ("model.layers.3.block_sparse_moe.gate", ("router",)),
        ("model.layers.3.mlp.experts.7.w1", ("expert",)),
        ("backbone.layers.5.mixer.in_proj", ("mixer",)),
        ("model.vision_tower*", ()),
        ("model.layers.1.input_layernorm", ()),
        ("lm_head", ("head",)),
    ],
)
def test_names_of_modules(module: str, roles: tuple[str, ...]) -> None:
    assert roles_of(module) == roles


KIMI_IGNORES = [
    "re:.*self_attn.*",
    "re:.*shared_experts.*",
    r"re:.*mlp\.(gate|up|gate_up|down)_proj.*",
    "re:.*lm_head.*",
]


def test_patterns_of_compressed_tensors() -> None:
    group = {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}}
    method = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": group},
        "ignore": KIMI_IGNORES,
    }
    kimi = config("nvidia__Kimi-K2.5-NVFP4.json")
    del kimi["quantization_config"]
    kimi["text_config"]["quantization_config"] = method
    found = read_config(kimi).quantization
    assert found is not None and dict(found.formats) == {"expert": "int4-g32"}


def test_a_hostile_pattern_is_no_regular_expression() -> None:
    hostile = "re:" + "(a+)+" * 2000 + "$"
    found = stored({"quant_method": "fp8", "modules_to_not_convert": [hostile, "re:(" * 5000, "re:(a|b)" * 500]})
    assert found.formats["attention"] == "fp8"


def test_a_head_can_be_quantised_too() -> None:
    assert (
        stored({"quant_method": "gptq", "bits": 4, "group_size": 128, "lm_head": True}).formats["head"] == "int4-g128"
    )
