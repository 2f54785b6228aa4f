"""Deployments as command lines, word by word."""

from __future__ import annotations

import shlex

import pytest

from infer_cost.errors import UnknownNameError
from infer_cost.model_specs.architecture import LayerGroup
from infer_cost.serving.deployment import Speculation
from infer_cost.serving.flags import checkpoint, engine_command
from tests.serving.support import MOE_LAYER, model, plan

MIXTURE = model(LayerGroup(MOE_LAYER, 4))
PLAIN = {
    "vllm": "vllm serve toy --tensor-parallel-size 1 --max-model-len 2048 --max-num-seqs 7"
    " --max-num-batched-tokens 1000 --gpu-memory-utilization 0.9",
    "sglang": "python -m sglang.launch_server --model-path toy --tp-size 1 --context-length 2048"
    " --max-running-requests 7 --chunked-prefill-size 1000 --mem-fraction-static 0.9",
    "trtllm": "trtllm-serve toy --tp_size 1 --max_seq_len 2048 --max_batch_size 7 --max_num_tokens 1000"
    " --kv_cache_free_gpu_memory_fraction 0.9",
}


def command(engine, deployment=None, **options):
    return engine_command(deployment or plan(), engine, 2048, 7, **options)


def value(line, flag):
    words = shlex.split(line)
    return words[words.index(flag) + 1]


@pytest.mark.parametrize("engine", PLAIN)
def test_the_least_words(engine):
    assert command(engine) == PLAIN[engine]


def test_one_gpu_is_not_cut():
    for engine in PLAIN:
        line = command(engine)
        for word in ("pipeline", "pp", "dp-size", "data-parallel", "expert", "ep"):
            assert f"-{word}" not in line


def test_cuts():
    cut = plan(MIXTURE, tp=2, pp=2, dp=2, ep=4)
    line = command("vllm", cut)
    assert value(line, "--tensor-parallel-size") == "2"
    assert value(line, "--pipeline-parallel-size") == "2"
    assert value(line, "--data-parallel-size") == "2"
    assert "--enable-expert-parallel" in line
    assert value(line, "--max-num-seqs") == "7"
    # SGLang counts the attention ranks within the tensor ranks, and requests over all of them.
    line = command("sglang", cut)
    assert value(line, "--tp-size") == "4"
    assert value(line, "--pp-size") == "2"
    assert value(line, "--dp-size") == "2"
    assert "--enable-dp-attention" in line
    assert value(line, "--ep-size") == "4"
    assert value(line, "--max-running-requests") == "14"
    # Two ranks are cut already.
    for engine, flag in (("vllm", "--enable-expert-parallel"), ("sglang", "--ep-size"), ("trtllm", "--ep_size")):
        assert flag in command(engine, plan(MIXTURE, tp=2, ep=2))
        assert flag not in command(engine, plan(MIXTURE, tp=2))
    line = command("trtllm", cut)
    assert value(line, "--tp_size") == "4"
    assert value(line, "--pp_size") == "2"
    assert value(line, "--ep_size") == "4"


def test_formats():
    narrow = plan(weights="fp8", kv="fp8")
    assert value(command("vllm", narrow), "--quantization") == "fp8"
    assert value(command("vllm", narrow), "--kv-cache-dtype") == "fp8"
    assert value(command("sglang", narrow), "--quantization") == "fp8"
    assert value(command("sglang", narrow), "--kv-cache-dtype") == "fp8_e4m3"
    # Four bits come with the checkpoint, not with a flag.
    for engine in ("vllm", "sglang"):
        assert "--quantization" not in command(engine, plan(weights="nvfp4"))


def test_drafts():
    drafted = plan(speculation=Speculation("eagle", 3, 0.7, 0.1))
    config = value(command("vllm", drafted), "--speculative-config")
    assert config == '{"method": "eagle", "num_speculative_tokens": 3}'
    line = command("sglang", drafted)
    assert value(line, "--speculative-algorithm") == "EAGLE"
    assert value(line, "--speculative-num-steps") == "3"


def test_pools():
    for engine, flag in (("vllm", "--kv-transfer-config"), ("sglang", "--disaggregation-mode")):
        assert flag not in command(engine)
        assert flag in command(engine, role="prefill")
    assert value(command("sglang", role="decode"), "--disaggregation-mode") == "decode"


def test_names_of_models():
    from infer_cost.model_specs.catalog import model as find

    assert checkpoint(plan(find("llama-3.1-8b"))) == "meta-llama/Meta-Llama-3.1-8B"
    assert checkpoint(plan()) == "toy"


def test_other_engines():
    with pytest.raises(UnknownNameError):
        command("tgi")
