"""Keys of a config: types, ranges, synonyms, contradictions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_token
from infer_cost.model_specs.readers.registry import READERS, read_config
from tests.model_specs.support import LLAMA, config


@pytest.mark.parametrize("value", [True, "4096", [], {}, -1, 0, 1.5, 10**12, math.nan, math.inf, [4096, 2048]])
def test_a_size_that_can_not_be(value: Any) -> None:
    with pytest.raises(InputError, match="hidden_size"):
        read_config({**LLAMA, "hidden_size": value})


def test_whole_numbers_written_as_floats_are_fine() -> None:
    assert read_config({**LLAMA, "hidden_size": 4096.0}).hidden_size == 4096


def test_a_list_of_one_value_is_that_value() -> None:
    assert Config({"moe_topk": [8, 8]}).integer("moe_topk") == 8


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_missing_keys_are_named(key: str) -> None:
    data = {name: value for name, value in LLAMA.items() if name != key}
    with pytest.raises(InputError, match=key):
        read_config(data)


@pytest.mark.parametrize(
    ("change", "both"),
    [
        ({"n_head": 16}, ("num_attention_heads", "n_head")),
        ({"num_key_value_heads": 5}, ("num_attention_heads", "num_key_value_heads")),
        ({"num_attention_heads": 24, "num_key_value_heads": 8}, ("hidden_size", "num_attention_heads")),
    ],
)
def test_contradictions_name_both_keys(change: dict[str, Any], both: tuple[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        read_config({**LLAMA, **change})
    assert all(key in str(caught.value) for key in both)


def test_layer_lists_must_fit() -> None:
    gpt = config("openai__gpt-oss-20b.json")
    with pytest.raises(InputError, match="layer_types has 24 entries but there are 23 layers"):
        read_config({**gpt, "num_hidden_layers": 23})


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("openai__gpt-oss-20b.json", "layer_types"),
        ("zai-org__GLM-5.2-FP8.json", "indexer_types"),
        ("tencent__Hy3-preview.json", "mlp_layer_types"),
        ("ibm-granite__granite-4.0-h-small.json", "layer_types"),
    ],
)
def test_kinds_of_layers_that_are_not_known(file: str, key: str) -> None:
    given = config(file)
    given[key] = ["quantum", *given[key][1:]]
    with pytest.raises(InputError, match=f"{key} is 'quantum'; allowed: "):
        read_config(given)


def test_more_experts_a_token_than_experts() -> None:
    mixtral = config("mistralai__Mixtral-8x7B-v0.1.json")
    with pytest.raises(InputError, match="9 experts a token and only 8"):
        read_config({**mixtral, "num_experts_per_tok": 9})


def test_nemotron_pattern_against_layers() -> None:
    nemotron = config("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.json")
    with pytest.raises(InputError, match=r"num_hidden_layers .* and hybrid_override_pattern"):
        read_config({**nemotron, "num_hidden_layers": 51})
    with pytest.raises(InputError, match="letters M"):
        read_config({**nemotron, "hybrid_override_pattern": "MX"})


def test_unknown_type_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean .*qwen3") as caught:
        read_config({**LLAMA, "model_type": "qwen33"})
    assert "--assume llama" in str(caught.value)


def test_unknown_type_is_read_as_llama_on_request_and_says_so() -> None:
    built = read_config({**LLAMA, "model_type": "newmodel"}, assume="llama")
    assert built.model_type == "newmodel"
    assert "unknown and was read as llama" in built.notes[0]
    assert counts(built).total == counts(read_config(LLAMA)).total


def test_no_type_at_all() -> None:
    with pytest.raises(InputError, match="no model_type"):
        read_config({"hidden_size": 1})


def test_assuming_an_unknown_type_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        read_config({**LLAMA, "model_type": "x"}, assume="nonsense")


def test_a_known_type_is_never_assumed_otherwise() -> None:
    qwen = config("Qwen__Qwen3-8B.json")
    assert counts(read_config(qwen, assume="llama")).total == 8190735360


def test_windows_are_off_where_the_file_means_so() -> None:
    qwen = config("Qwen__Qwen2-7B-Instruct.json")
    assert all(group.layer.mixer.window is None for group in read_config(qwen).groups)
    on = {**qwen, "use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 14}
    windows = {group.layer.mixer.window: group.count for group in read_config(on).groups}
    assert windows == {None: 14, 4096: 14}


def test_a_window_as_long_as_the_context_is_none() -> None:
    mistral = {**LLAMA, "model_type": "mistral", "sliding_window": 131072}
    assert read_config(mistral).groups[0].layer.mixer.window is None


def test_defaults_filled_in_are_noted() -> None:
    built = read_config(config("google__gemma-3-27b-it.json"))
    assert any("vocab_size absent" in note for note in built.notes)


def test_mla_is_never_taken_for_heads() -> None:
    deepseek = config("deepseek-ai__DeepSeek-V3.json")
    assert kv_bytes_per_token(read_config(deepseek)) == 70272
    assert kv_bytes_per_token(read_config({**deepseek, "num_key_value_heads": 1})) == 70272


def test_every_reader_module_exists() -> None:
    from importlib.util import find_spec

    for module in set(READERS.values()):
        assert find_spec(f"infer_cost.model_specs.readers.{module}") is not None


def test_infinity_in_keys_that_do_not_matter() -> None:
    assert read_config({**LLAMA, "time_step_limit": [0.0, math.inf]}).layers == 32


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        ("mistralai__Mistral-7B-Instruct-v0.3.json", "sliding_window", 4096),
        ("openai__gpt-oss-20b.json", "attention_bias", True),
        ("Qwen__Qwen3-8B.json", "head_dim", 128),
        ("deepseek-ai__DeepSeek-V3.json", "first_k_dense_replace", 3),
        ("zai-org__GLM-4.5-Air.json", "first_k_dense_replace", 1),
        ("google__gemma-2-9b.json", "sliding_window", 4096),
    ],
)
def test_an_absent_key_takes_the_default_of_its_class_and_says_so(file: str, key: str, value: object) -> None:
    given = config(file)
    given.pop(key)
    built = read_config(given)
    assert f"{key} absent, the class default {value} applies" in built.notes
    assert replace(built, notes=()) == replace(read_config({**config(file), key: value}), notes=())


def test_null_is_not_absent() -> None:
    mistral = {**LLAMA, "model_type": "mistral", "sliding_window": None}
    assert read_config(mistral).groups[0].layer.mixer.window is None


def test_latent_attention_is_never_guessed() -> None:
    deepseek = config("deepseek-ai__DeepSeek-V3.json")
    for key in ("kv_lora_rank", "qk_nope_head_dim", "n_routed_experts", "moe_intermediate_size"):
        with pytest.raises(InputError, match=key):
            read_config({name: value for name, value in deepseek.items() if name != key})
