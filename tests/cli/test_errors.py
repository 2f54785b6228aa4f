"""Bad input of every kind: one or two lines on standard error, exit code 2; what cannot be met: exit code 1."""

from __future__ import annotations

import json
import os

import pytest

H100 = "--hardware h100-sxm"

BAD = {
    "unknown model": f"estimate llama-3.1-71b {H100}",
    "unknown hardware": "estimate llama-3.1-8b --hardware h100-smx",
    "unknown command": "jurney llama-3.1-8b",
    "unknown option": f"estimate llama-3.1-8b {H100} --input-token 5",
    "no hardware": "estimate llama-3.1-8b",
    "negative tokens": f"estimate llama-3.1-8b {H100} --input-tokens -5",
    "no tokens": f"estimate llama-3.1-8b {H100} --output-tokens 0",
    "huge tokens": f"estimate llama-3.1-8b {H100} --input-tokens 99999999999999999999",
    "tokens not a number": f"estimate llama-3.1-8b {H100} --input-tokens nan",
    "a fraction of a token": f"estimate llama-3.1-8b {H100} --input-tokens 1.5",
    "NaN utilization": f"estimate llama-3.1-8b {H100} --utilization nan",
    "infinite price": f"estimate llama-3.1-8b {H100} --price-per-gpu-hour inf",
    "negative price": f"estimate llama-3.1-8b {H100} --price-per-gpu-hour -1",
    "price in the wrong unit": f"estimate llama-3.1-8b {H100} --price-per-gpu-hour 3GB",
    "tp that doesn't divide": f"estimate llama-3.1-8b {H100} --tp 3",
    "tp zero": f"estimate llama-3.1-8b {H100} --tp 0",
    "gpus that contradict": f"estimate llama-3.1-8b {H100} --gpus 4 --tp 2",
    "experts of a dense model": f"estimate llama-3.1-8b {H100} --gpus 2 --ep 2",
    "more GPUs than the system": "estimate llama-3.1-8b --hardware dgx-h100 --gpus 16",
    "more cached than input": f"estimate llama-3.1-8b {H100} --input-tokens 10 --cached-tokens 11",
    "all cached": f"estimate llama-3.1-8b {H100} --input-tokens 10 --cached-tokens 10",
    "unknown format": f"estimate llama-3.1-8b {H100} --weights fp9",
    "unknown engine": f"estimate llama-3.1-8b {H100} --engine vlm",
    "unknown tier": f"estimate llama-3.1-8b {H100} --price-tier gold",
    "unknown speculation": f"estimate llama-3.1-8b {H100} --speculative medusa9",
    "no MTP module": f"estimate llama-3.1-8b {H100} --speculative mtp",
    "acceptance of nothing": f"estimate llama-3.1-8b {H100} --acceptance 0.5",
    "one pool only": f"estimate llama-3.1-8b {H100} --prefill-gpus 1",
    "pool that doesn't divide": f"estimate llama-3.1-8b {H100} --prefill-gpus 3 --prefill-tp 2 --decode-gpus 1",
    "unknown numbering": f"journey llama-3.1-8b {H100} --numbering roman",
    "unknown tier of cache": f"journey llama-3.1-8b {H100} --cache-tier tape",
    "unknown latency": f"journey llama-3.1-8b {H100} --latency coffee=1ms",
    "latency without unit kind": f"journey llama-3.1-8b {H100} --latency router=3GB",
    "latency not a pair": f"journey llama-3.1-8b {H100} --latency router",
    "prompt without tokenizer": f"journey llama-3.1-8b {H100} --prompt-file README.md",
    "unknown provider": f"journey llama-3.1-8b {H100} --provider nobody/nothing",
    "zero context": "memory llama-3.1-8b --context 0",
    "set without value": f"estimate llama-3.1-8b {H100} --set memory_bandwidth",
    "set of an unknown field": f"estimate llama-3.1-8b {H100} --set memory_bandwith='4 TB/s'",
    "set in the wrong unit": f"estimate llama-3.1-8b {H100} --set memory_bandwidth='4 GB'",
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_in_two_lines(infer_cost, line):
    result = infer_cost(line)
    assert result.code == 2
    assert result.out == ""
    assert 1 <= len(result.err.strip().splitlines()) <= 2
    assert "Traceback" not in result.err
    assert result.err.startswith("infer-cost: ")


@pytest.mark.parametrize("line", [BAD["unknown model"], BAD["tp that doesn't divide"], BAD["unknown option"]])
def test_json_carries_the_error(infer_cost, line):
    result = infer_cost(f"{line} --json")
    assert result.code == 2
    assert {"field", "value", "allowed", "hint"} <= set(result.json["error"])


def test_messages_name_what_is_near_or_allowed(infer_cost):
    assert "h100-sxm" in infer_cost(BAD["unknown hardware"]).err
    assert "llama-3.1-70b" in infer_cost(BAD["unknown model"]).err
    assert "1, 2, 4, 8" in infer_cost(BAD["tp that doesn't divide"]).err
    assert "journey" in infer_cost(BAD["unknown command"]).err


def test_what_does_not_fit_says_by_how_much_and_what_would(infer_cost):
    result = infer_cost(f"estimate llama-3.1-70b {H100} --weights bf16")
    assert result.code == 1
    assert "GB short" in result.err
    assert "--gpus" in result.err
    shown = infer_cost(f"memory llama-3.1-70b {H100} --weights bf16 --json")
    assert shown.code == 1
    assert shown.json["fits"] is False
    assert shown.json["error"]["field"] == "gpus"


def test_beyond_the_context_window(infer_cost):
    result = infer_cost(f"journey llama-3.1-8b {H100} --input-tokens 131072 --output-tokens 1")
    assert result.code == 1
    assert "131,072" in result.err
    lowered = infer_cost(f"journey llama-3.1-8b {H100} --input-tokens 5000 --max-model-len 4096")
    assert lowered.code == 1
    assert "--max-model-len" in lowered.err


FILES = {
    "cut off": b'{"model_type": "llama", "hidden_size": 40',
    "not json": b"hello",
    "binary": bytes(range(256)) * 40,
    "empty": b"",
    "a list": b"[1, 2, 3]",
    "deep": b"[" * 100_000,
    "no type": b"{}",
    "unknown type": b'{"model_type": "lama"}',
    "NaN width": b'{"model_type": "llama", "hidden_size": NaN, "num_hidden_layers": 2, "num_attention_heads": 4}',
    "negative": b'{"model_type": "llama", "hidden_size": -64, "num_hidden_layers": 2, "num_attention_heads": 4, '
    b'"intermediate_size": 128, "vocab_size": 100}',
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES.keys())
def test_broken_config_files(infer_cost, tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    result = infer_cost(f"estimate {path} {H100}")
    assert result.code == 2
    assert 1 <= len(result.err.strip().splitlines()) <= 2


def test_a_directory_and_a_huge_file(infer_cost, tmp_path):
    assert infer_cost(f"estimate {tmp_path} {H100}").code == 2
    huge = tmp_path / "config.json"
    with huge.open("wb") as file:
        os.truncate(file.fileno(), 2_000_000_000)
    result = infer_cost(f"estimate {huge} {H100}")
    assert result.code == 2
    assert len(result.err.strip().splitlines()) <= 2


def test_a_local_config(infer_cost, tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "num_hidden_layers": 32,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    own = infer_cost(f"journey {path} {H100} --json").json
    known = infer_cost(f"journey llama-3.1-8b {H100} --json").json
    assert own["e2e_s"]["expected"] == known["e2e_s"]["expected"]
    assert own["e2e_s"]["bound"] == known["e2e_s"]["bound"]
