"""Number formats: bits with their scales, aliases, and the rate that multiplies them."""

from __future__ import annotations

import pytest

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.hardware_specs import accelerator, number_format, peak_rate
from infer_cost.hardware_specs.formats import number_formats
from infer_cost.hardware_specs.types import PRECISIONS

# 4 + 8/16 and so on; GGUF blocks by the bytes of their structs.
BITS = {
    "fp32": 32,
    "tf32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "fp8-block": 8 + 32 / 16384,
    "int8": 8,
    "int4-g128": 4.125,
    "int4-g32": 4.5,
    "nvfp4": 4.5,
    "mxfp4": 4.25,
    "mxfp8": 8.25,
    "q4_0": 18 * 8 / 32,
    "q8_0": 34 * 8 / 32,
    "q4_k_block": 144 * 8 / 256,
    "q6_k_block": 210 * 8 / 256,
    "q4_k_m": 4.8944,
    "q2_k": 3.1593,
}


@pytest.mark.parametrize(("name", "bits"), BITS.items())
def test_bits_a_weight(name: str, bits: float) -> None:
    assert number_format(name).bits_per_weight == pytest.approx(bits, rel=1e-9)


@pytest.mark.parametrize(
    ("alias", "key"),
    [
        ("BFloat16", "bf16"),
        ("float8_e4m3fn", "fp8"),
        ("fp8_block", "fp8-block"),
        ("AWQ", "int4-g128"),
        ("gptq", "int4-g128"),
        ("Q4_K_M", "q4_k_m"),
        ("NVFP4", "nvfp4"),
        ("GPTQ-4bit-g128-act", "int4-g128"),
        ("f16", "fp16"),
        (" int4_g32 ", "int4-g32"),
    ],
)
def test_aliases(alias: str, key: str) -> None:
    assert number_format(alias).id == key


def test_unknown_format_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        number_format("nvfp5")
    assert caught.value.hint and "nvfp4" in caught.value.hint


def test_a_number_is_no_format() -> None:
    with pytest.raises(InputError):
        number_format(8)  # type: ignore[arg-type]


def test_formats_are_consistent() -> None:
    for form in number_formats():
        assert form.bits_per_weight == pytest.approx(form.bits + form.scale_bits / form.block_size)
        assert form.compute and set(form.compute) <= set(PRECISIONS)
        assert form.provenance.source and form.provenance.read


@pytest.mark.parametrize(
    ("chip", "form", "precision", "weight_only"),
    [
        ("h100-sxm", "fp8", "fp8", False),
        ("h100-sxm", "fp8-block", "fp8", False),
        ("h100-sxm", "nvfp4", "bf16", True),
        ("h100-sxm", "int8", "int8", False),
        ("h100-sxm", "int4-g128", "bf16", True),
        ("a100-sxm-80gb", "fp8", "bf16", True),
        ("a100-sxm-80gb", "int8", "int8", False),
        ("b200-sxm", "nvfp4", "fp4", False),
        ("mi355x", "mxfp4", "fp4", False),
        ("mi300x", "mxfp4", "bf16", True),
        ("b300-sxm", "int8", "bf16", True),  # its INT8 rate is a fifteenth of BF16
        ("t4", "bf16", "fp16", False),
        ("v100-sxm2-32gb", "int4-g128", "fp16", True),
        ("m4-max", "q4_k_m", "fp16", True),
        ("rubin-r200", "fp6", "fp6", False),
        ("h100-sxm", "fp6", "fp8", True),
    ],
)
def test_what_a_chip_multiplies_a_format_as(chip: str, form: str, precision: str, weight_only: bool) -> None:
    rate, taken, widened = peak_rate(accelerator(chip), number_format(form))
    assert (taken, widened) == (precision, weight_only)
    assert rate == accelerator(chip).peak_flops[precision]


def test_a_chip_without_a_rate_says_so() -> None:
    with pytest.raises(InputError, match="nv-lp30 states no rate") as caught:
        peak_rate(accelerator("nv-lp30"), number_format("bf16"))
    assert caught.value.hint and "peak_flops.bf16" in caught.value.hint
    with pytest.raises(InputError, match="rubin-cpx states no rate that multiplies bf16"):
        peak_rate(accelerator("rubin-cpx"), number_format("bf16"))
