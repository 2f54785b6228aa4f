"""Bytes of weights by format, checkpoints and GGUF mixtures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import UnknownNameError
from infer_cost.model_specs.catalog import model
from infer_cost.model_specs.checkpoint import checkpoint_size
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.gguf import MIXES
from infer_cost.model_specs.weights import weight_bytes, weight_bytes_by_role, weight_formats
from tests.model_specs.support import architecture, counted, names

COLUMNS = {
    "bf16": "bytes_bf16",
    "fp8-block": "bytes_fp8_block",
    "int4-g128": "bytes_int4_g128",
    "nvfp4": "bytes_nvfp4",
    "mxfp4": "bytes_mxfp4",
}
RAGGED = {"HuggingFaceTB__SmolLM2-360M.json", "nvidia__Gemma-4-26B-A4B-NVFP4.json"}
"""Rows that fill their last block of 128 in part only; up to 0.1 % more scales than counted here."""


@pytest.mark.parametrize("row", counted(), ids=names(counted()))
@pytest.mark.parametrize("weights", COLUMNS)
def test_bytes_of_every_config(row: dict[str, str], weights: str) -> None:
    built = architecture(row["file"])
    found = weight_bytes(built, weight_formats(built, weights))
    ragged = weights == "int4-g128" and (row["file"] in RAGGED or "gpt-oss" in row["file"] or "Nano" in row["file"])
    assert found == pytest.approx(float(row[COLUMNS[weights]]), rel=1.1e-3 if ragged else 3e-5)


def test_llama_70b_as_published() -> None:
    llama = model("llama-3.1-70b")
    for weights, everywhere, gigabytes in (
        ("bf16", True, 141.1),
        ("fp8", True, 70.6),
        ("nvfp4", True, 39.7),
        ("fp8", False, 72.7),
        ("nvfp4", False, 42.7),
    ):
        size = weight_bytes(llama, weight_formats(llama, weights, everywhere=everywhere))
        assert round(size / 1e9, 1) == gigabytes


def test_head_can_have_a_format_of_its_own() -> None:
    llama = model("llama-3.1-8b")
    plain = weight_bytes(llama, weight_formats(llama, "nvfp4"))
    smaller = weight_bytes(llama, weight_formats(llama, "nvfp4", head="fp8"))
    assert plain - smaller == llama.output_matrix.elements


def test_roles_add_up() -> None:
    deepseek = model("deepseek-v3")
    formats = weight_formats(deepseek)
    assert sum(weight_bytes_by_role(deepseek, formats).values()) == weight_bytes(deepseek, formats)
    assert formats.ids["expert"] == "fp8-block" and formats.ids["head"] == "bf16"


def test_no_choice_means_the_checkpoints_own_format() -> None:
    assert weight_formats(model("gpt-oss-120b")).ids["expert"] == "mxfp4"
    assert weight_formats(model("llama-3.1-8b")).ids["attention"] == "bf16"


def test_wide_formats_hold_the_embedding_too() -> None:
    llama = model("llama-3.1-8b")
    assert weight_bytes(llama, weight_formats(llama, "fp32")) == 4 * counts(llama).total
    assert set(weight_formats(llama, "fp16").ids.values()) == {"fp16"}


def test_unknown_format_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="fp9"):
        weight_formats(model("llama-3.1-8b"), "fp9")


LLAMA_8B_BITS = {
    "q2_k": 3.1593,
    "q3_k_s": 3.6429,
    "q3_k_m": 3.9960,
    "q3_k_l": 4.2979,
    "q4_k_s": 4.6672,
    "q4_k_m": 4.8944,
    "q5_k_s": 5.5704,
    "q5_k_m": 5.7036,
    "q6_k": 6.5633,
    "q8_0": 8.5008,
}
"""As ``llama-quantize`` documents them for Llama-3.1-8B (ggml-org/llama.cpp, tools/quantize/README.md)."""


@pytest.mark.parametrize("mix", LLAMA_8B_BITS)
def test_gguf_mixtures_have_the_documented_bits(mix: str) -> None:
    llama = model("llama-3.1-8b")
    bits = 8 * weight_bytes(llama, weight_formats(llama, mix)) / counts(llama).total
    assert bits == pytest.approx(LLAMA_8B_BITS[mix], abs=6e-5)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("name", ["mixtral-8x7b", "qwen2.5-0.5b", "llama-3.1-70b", "deepseek-v3", "nemotron-3-nano"])
def test_every_mixture_works_for_every_kind_of_model(mix: str, name: str) -> None:
    built = model(name)
    bits = 8 * weight_bytes(built, weight_formats(built, mix)) / counts(built).total
    assert 2.5 < bits < 9.0


def test_a_checkpoint_holds_more_than_an_engine() -> None:
    deepseek = model("deepseek-v3")
    size = checkpoint_size(deepseek)
    # The tensors of its files: 688,574,839,360 bytes (public index of the repository).
    assert size.total_bytes == pytest.approx(688_574_839_360, rel=1e-7)
    assert size.language_model_bytes == weight_bytes(deepseek, weight_formats(deepseek))


SEEN = [row for row in counted() if row["checkpoint_bytes_seen"]]


@pytest.mark.parametrize("row", SEEN, ids=names(SEEN))
def test_checkpoints_as_seen(row: dict[str, str]) -> None:
    # Two of them are given with three digits only.
    found = checkpoint_size(architecture(row["file"])).total_bytes
    assert found == pytest.approx(float(row["checkpoint_bytes_seen"]), rel=2e-3)


@given(
    name=st.sampled_from(["llama-3.1-8b", "gpt-oss-20b", "deepseek-v2-lite", "qwen3-next", "jamba-1.5-mini"]),
    pair=st.sampled_from([("nvfp4", "fp8"), ("mxfp4", "nvfp4"), ("int4-g128", "int4-g32"), ("fp8", "bf16")]),
    everywhere=st.booleans(),
)
def test_more_bits_never_shrink_memory(name: str, pair: tuple[str, str], everywhere: bool) -> None:
    built = model(name)
    fewer, more = (weight_bytes(built, weight_formats(built, one, everywhere=everywhere)) for one in pair)
    assert fewer < more
