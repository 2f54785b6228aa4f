"""A deployment as the command line that starts it: vLLM 0.24, SGLang 0.5.14 and TensorRT-LLM 1.3."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from infer_cost.errors import unknown_name
from infer_cost.serving.deployment import Deployment


def engine_command(plan: Deployment, engine: str, context: int, batch: int, role: str = "both") -> str:
    """Return the command line that starts one engine.

    Parameters
    ----------
    plan : Deployment
        The engine
    engine : {"vllm", "sglang", "trtllm"}
        Whose flags
    context : int
        Longest request, input and output [tokens]
    batch : int
        Sequences that one rank admits
    role : {"both", "prefill", "decode"}
        What a pool of a disaggregated deployment does

    Raises
    ------
    UnknownNameError
        For an engine that isn't one of the three.

    Examples
    --------
    >>> from infer_cost.serving.deployment import deployment
    >>> words = engine_command(deployment("llama-3.1-8b", "h100-sxm"), "vllm", 8192, 64).split()
    >>> words[:3], "--max-num-seqs" in words
    (['vllm', 'serve', 'meta-llama/Meta-Llama-3.1-8B'], True)
    """
    if engine not in WRITERS:
        raise unknown_name("engine", engine, WRITERS, field="flags", hint=", ".join(WRITERS))
    return shlex.join(WRITERS[engine](plan, checkpoint(plan), context, batch, role))


def checkpoint(plan: Deployment) -> str:
    """Return the name that an engine finds the model by: its Hugging Face id where the catalog knows it."""
    from infer_cost.model_specs.catalog import catalog_entry
    from infer_cost.model_specs.names import find

    return catalog_entry(plan.model.name).hf_id if find(plan.model.name) else plan.model.name


def _drafts(plan: Deployment) -> tuple[str, int] | None:
    return (plan.speculation.method, plan.speculation.draft_tokens) if plan.speculation else None


def _own_quantization(plan: Deployment) -> str | None:
    """The format that an engine must make of a 16-bit checkpoint, None when the checkpoint has it already."""
    return plan.weights.name if plan.weights.name not in ("checkpoint", "bf16", "fp16") else None


def _vllm(plan: Deployment, model: str, context: int, batch: int, role: str) -> list[str]:
    cut = plan.parallel
    words = ["vllm", "serve", model, "--tensor-parallel-size", str(cut.tp)]
    words += _if(cut.pp > 1, "--pipeline-parallel-size", cut.pp) + _if(cut.dp > 1, "--data-parallel-size", cut.dp)
    words += _if(cut.ep > 1, "--enable-expert-parallel")
    words += _if(_own_quantization(plan) == "fp8", "--quantization", "fp8")
    words += _if(plan.kv.id.startswith("fp8"), "--kv-cache-dtype", "fp8")
    words += ["--max-model-len", str(context), "--max-num-seqs", str(batch)]
    words += ["--max-num-batched-tokens", str(plan.max_batched_tokens)]
    words += ["--gpu-memory-utilization", f"{plan.memory_utilization:g}"]
    drafts = _drafts(plan)
    if drafts:
        words += ["--speculative-config", f'{{"method": "{drafts[0]}", "num_speculative_tokens": {drafts[1]}}}']
    if role != "both":
        words += ["--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}']
    return words


def _sglang(plan: Deployment, model: str, context: int, batch: int, role: str) -> list[str]:
    cut = plan.parallel
    words = ["python", "-m", "sglang.launch_server", "--model-path", model, "--tp-size", str(cut.tp * cut.dp)]
    words += _if(cut.pp > 1, "--pp-size", cut.pp)
    words += _if(cut.dp > 1, "--dp-size", cut.dp) + _if(cut.dp > 1, "--enable-dp-attention")
    words += _if(cut.ep > 1, "--ep-size", cut.ep)
    words += _if(_own_quantization(plan) == "fp8", "--quantization", "fp8")
    words += _if(plan.kv.id.startswith("fp8"), "--kv-cache-dtype", "fp8_e4m3")
    words += ["--context-length", str(context), "--max-running-requests", str(batch * cut.dp)]
    words += ["--chunked-prefill-size", str(plan.max_batched_tokens)]
    words += ["--mem-fraction-static", f"{plan.memory_utilization:g}"]
    drafts = _drafts(plan)
    if drafts:
        words += ["--speculative-algorithm", "EAGLE", "--speculative-num-steps", str(drafts[1])]
    return words + _if(role != "both", "--disaggregation-mode", role)


def _trtllm(plan: Deployment, model: str, context: int, batch: int, role: str) -> list[str]:
    cut = plan.parallel
    words = ["trtllm-serve", model, "--tp_size", str(cut.tp * cut.dp)]
    words += _if(cut.pp > 1, "--pp_size", cut.pp) + _if(cut.ep > 1, "--ep_size", cut.ep)
    words += ["--max_seq_len", str(context), "--max_batch_size", str(batch)]
    words += ["--max_num_tokens", str(plan.max_batched_tokens)]
    return [*words, "--kv_cache_free_gpu_memory_fraction", f"{plan.memory_utilization:g}"]


def _if(wanted: bool, flag: str, value: Any = None) -> list[str]:
    if not wanted:
        return []
    return [flag] if value is None else [flag, str(value)]


WRITERS: dict[str, Callable[[Deployment, str, int, int, str], list[str]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "trtllm": _trtllm,
}
