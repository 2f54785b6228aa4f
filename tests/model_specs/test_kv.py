"""KV bytes of every config as found, and what engines make of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InputError
from infer_cost.model_specs.architecture import Mixer
from infer_cost.model_specs.catalog import model
from infer_cost.model_specs.kv import (
    element_bytes,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_growth_bytes_per_token,
    kv_window_cap_bytes,
    rank_share,
    state_bytes_per_sequence,
)
from infer_cost.model_specs.pages import attention_block_tokens, blocks
from tests.model_specs.support import architecture, counted, names

MIXED = ("gemma-3-27b", "gpt-oss-120b", "llama-4-scout", "qwen3-next", "deepseek-v3.2", "deepseek-v4-pro", "kimi-k2")


@pytest.mark.parametrize("row", counted(), ids=names(counted()))
def test_every_cache_is_counted_to_the_byte(row: dict[str, str]) -> None:
    built = architecture(row["file"])
    assert kv_bytes_per_token(built) == float(row["kv_naive_bytes_per_token_bf16"])
    assert kv_growth_bytes_per_token(built) == float(row["kv_growing_bytes_per_token_bf16"])
    assert kv_window_cap_bytes(built) == float(row["kv_window_cap_bytes"])
    assert state_bytes_per_sequence(built) == float(row["state_bytes_per_seq"])
    held = kv_bytes_per_sequence(built, 131072) + state_bytes_per_sequence(built)
    assert held == float(row["kv_bytes_at_128k"])


def test_kv_heads_are_replicated_when_ranks_exceed_them() -> None:
    llama = model("llama-3.1-70b")
    assert kv_bytes_per_token(llama, tp=8) == 327680 / 8
    assert kv_bytes_per_token(llama, tp=16) == 327680 / 8
    assert kv_bytes_per_token(llama, tp=3) == 327680 * 3 / 8


def test_every_rank_holds_the_latent_row() -> None:
    assert kv_bytes_per_token(model("deepseek-v3"), tp=8) == 70272


def test_recurrent_state_is_divided_by_rank() -> None:
    assert rank_share(Mixer("linear", heads=32), 4) == 0.25


def test_expanded_latent_attention_takes_what_full_heads_take() -> None:
    deepseek = model("deepseek-v3")
    expanded = kv_bytes_per_sequence(deepseek, 1.0, expand_latent=True)
    assert expanded == 61 * 128 * (192 + 128) * 2
    assert expanded / kv_bytes_per_sequence(deepseek, 1.0) == pytest.approx(71.1, rel=1e-2)


def test_unified_pages_charge_every_layer_the_largest() -> None:
    gemma = model("gemma-4-31b")
    unified = kv_bytes_per_sequence(gemma, 1024, allocator="unified")
    assert unified == 60 * 1024 * 16384
    assert unified > kv_bytes_per_token(gemma) * 1024


def test_pages_round_up_and_windows_need_one_block_more() -> None:
    assert kv_bytes_per_sequence(model("llama-3.1-8b"), 17, allocator="paged") == 32 * 131072
    windowed = kv_bytes_per_sequence(model("mistral-7b-v0.1"), 20000, allocator="paged")
    assert windowed == (4096 + 16) * 131072


def test_a_hybrid_block_holds_a_state() -> None:
    tokens = attention_block_tokens(model("qwen3-next"))
    assert tokens > 16 and tokens % 16 == 0
    assert attention_block_tokens(model("llama-3.1-8b")) == 16
    assert blocks(tokens + 1, tokens) == 2


def test_the_format_scales_the_cache() -> None:
    assert element_bytes("q8_0") == 34 / 32
    assert kv_bytes_per_token(model("llama-3.1-8b"), element_bytes("fp8")) == 65536


def test_unknown_allocator_is_refused() -> None:
    with pytest.raises(InputError, match="exact, paged, unified"):
        kv_bytes_per_sequence(model("llama-3.1-8b"), 10, allocator="lazy")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("allocator", ["exact", "paged", "unified"])
def test_arrays_agree_with_numbers(name: str, allocator: str) -> None:
    contexts = np.array([1.0, 100.0, 5000.0, 131072.0])
    together = kv_bytes_per_sequence(model(name), contexts, allocator=allocator)  # type: ignore[arg-type]
    alone = [kv_bytes_per_sequence(model(name), float(context), allocator=allocator) for context in contexts]  # type: ignore[arg-type]
    assert together.tolist() == alone


@given(
    name=st.sampled_from(MIXED),
    context=st.integers(1, 2_000_000),
    more=st.integers(0, 100_000),
)
def test_caches_only_grow_and_allocators_are_ordered(name: str, context: int, more: int) -> None:
    built = model(name)
    exact = kv_bytes_per_sequence(built, context)
    assert 0 < exact <= kv_bytes_per_sequence(built, context + more)
    assert exact <= kv_bytes_per_sequence(built, context, allocator="paged")
    assert exact <= kv_bytes_per_sequence(built, context, allocator="unified") * (1 + 1e-12)
    assert exact <= kv_bytes_per_token(built) * context * (1 + 1e-12)
