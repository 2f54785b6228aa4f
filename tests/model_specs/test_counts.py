"""Parameter counts of every config as found, exact to the element."""

from __future__ import annotations

import pytest

from infer_cost.errors import UnknownNameError
from infer_cost.model_specs.checkpoint import block_scale_elements
from infer_cost.model_specs.counts import counts
from tests.model_specs.support import architecture, config, counted, facts, names

UNSUPPORTED = {"BAAI__bge-large-en.json": "bert", "RWKV__rwkv-5-world-3b.json": "rwkv5"}

STORED_OTHERWISE = {
    "Qwen__Qwen3-30B-A3B-FP8.json": "block scales are counted with the weights",
    "deepseek-ai__DeepSeek-V3.json": "block scales are counted with the weights",
    "zai-org__GLM-5-FP8.json": "block scales are counted with the weights",
    "internlm__internlm2-7b.json": "the published total misses a file; 2.5 with the same config matches",
    "meta-llama__Llama-2-7b-hf.json": "2,048 rotary frequencies are stored, which no key says",
    "meta-llama__Llama-4-Maverick-17B-128E-Instruct.json": "the file has no vision_config to count",
    "meta-llama__Llama-4-Scout-17B-16E-Instruct.json": "the file has no vision_config to count",
    "microsoft__Phi-3-small-8k-instruct.json": "2,048 stored elements that no key explains",
    "mistralai__Mistral-Small-4-119B-2603.json": "the file has no vision_config to count",
    "moonshotai__Kimi-K2-Instruct.json": "3,416 stored elements that no key explains",
    "nvidia__Qwen3-235B-A22B-NVFP4.json": "two 4-bit weights are counted as one byte",
    "stepfun-ai__Step-3.7-Flash-FP8.json": "vision tower absent from the file, expert scales counted",
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
NO_TOWER_IN_FILE = ("Llama-4", "Step-3.7")


@pytest.mark.parametrize("row", VISION, ids=names(VISION))
def test_towers_are_counted_apart(row: dict[str, str]) -> None:
    built = architecture(row["file"])
    found = sum(part.elements for part in built.components if part.kind in ("vision", "audio"))
    if any(name in row["file"] for name in NO_TOWER_IN_FILE):
        assert found == 0
        return
    assert found == int(row["vision_params_transformers"])


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
