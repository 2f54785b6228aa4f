"""The data files: in step with what is compiled, every value with a source, and physically possible."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from infer_cost.errors import UnitError
from infer_cost.hardware_specs.bundled import accelerator, accelerator_ids, prices, system, system_ids
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.hardware_specs.formats import number_formats
from infer_cost.hardware_specs.infrastructure import figures, sections
from infer_cost.hardware_specs.types import PRECISIONS, Provenance

ROOT = Path(__file__).parents[2]
HARDWARE = ROOT / "infer_cost" / "hardware_specs"


@pytest.fixture(scope="module")
def compiler() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compile_hardware", ROOT / "tools" / "compile_hardware.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HARDWARE / "data", tmp_path / "data"))


def test_compiled_files_are_in_step_with_their_sources(compiler: ModuleType) -> None:
    for name, text in compiler.compile_all(HARDWARE / "data").items():
        stored = (HARDWARE / "compiled" / f"{name}.json").read_text(encoding="utf-8")
        assert json.loads(stored) == json.loads(text), f"run tools/compile_hardware.py: {name}.json is stale"
        assert stored == text


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


BREAKS = [
    ("no source", ', source = ["aic", "ixa"], confidence = "two-sources"', "", ValidationError),
    ("an unknown source", 'source = ["aic", "ixa"]', 'source = ["hearsay", "ixa"]', ValueError),
    ("two sources that are one", 'source = ["aic", "ixa"]', 'source = ["aic"]', ValidationError),
    ("no unit", 'value = "80 GB"', 'value = "80"', UnitError),
    ("a unit of another kind", 'value = "3.35 TB/s"', 'value = "3.35 TB"', UnitError),
    ("bits for bytes", 'value = "3.35 TB/s"', 'value = "3.35 Tb/s"', UnitError),
    ("an unknown field", "memory_bandwidth =", "memory_bandwith =", ValidationError),
    ("an unknown confidence", 'confidence = "two-sources"', 'confidence = "sure"', ValidationError),
    ("a system of another accelerator", 'system = "dgx-h100"', 'system = "dgx-h200"', ValueError),
    ("an alias that is taken", 'aliases = ["H100"', 'aliases = ["H200", "H100"', ValueError),
    ("broken TOML", 'id = "h100-sxm"', 'id = "h100-sxm', ValueError),
]


@pytest.mark.parametrize(("what", "old", "new", "error"), BREAKS, ids=[row[0] for row in BREAKS])
def test_faulty_data_does_not_load(
    compiler: ModuleType, data: Path, what: str, old: str, new: str, error: type[Exception]
) -> None:
    edit(data / "accelerators" / "h100-sxm.toml", old, new)
    with pytest.raises(error):
        compiler.compile_all(data)


def test_a_price_of_an_unknown_accelerator_or_a_tier_twice_does_not_load(compiler: ModuleType, data: Path) -> None:
    edit(data / "gpu_hours.toml", 'accelerator = "h100-sxm"', 'accelerator = "h1000"')
    with pytest.raises(ValueError, match="no accelerator"):
        compiler.compile_all(data)


def origins() -> Iterator[tuple[str, Provenance]]:
    for key in accelerator_ids():
        yield from ((f"{key} {name}", origin) for name, origin in accelerator(key).provenance.items())
        yield from ((f"{key} {price.tier}", price.provenance) for price in prices(key))
    for key in system_ids():
        yield from ((f"{key} {name}", origin) for name, origin in system(key).provenance.items())
    yield from ((form.id, form.provenance) for form in number_formats())
    for name in sections():
        yield from ((f"{name} {key}", row.provenance) for key, row in figures(name).items())


def test_every_value_says_where_and_when_it_was_read() -> None:
    found = list(origins())
    assert len(found) > 1100
    for name, origin in found:
        assert origin.source, name
        assert origin.read >= "2026-01-01", name
        assert origin.confidence in ("two-sources", "one-source", "recalled", "derived"), name
        if origin.confidence == "two-sources":
            assert "; " in origin.source, name


def test_every_figure_of_an_accelerator_has_an_origin() -> None:
    for key in accelerator_ids():
        chip = accelerator(key)
        for name in ("memory_bytes", "usable_memory_bytes", "memory_bandwidth"):
            assert name in chip.provenance, key
        assert {f"peak_flops.{p}" for p in chip.peak_flops} <= chip.provenance.keys()
        for name in ("scale_up_bandwidth", "scale_out_bandwidth", "host_bandwidth", "power_w", "l2_bytes"):
            assert (getattr(chip, name) is None) == (name not in chip.provenance), (key, name)


def test_a_value_that_only_memory_vouches_for_is_unverified() -> None:
    for name, origin in origins():
        if origin.source.startswith("recollection") and ";" not in origin.source:
            assert origin.confidence == "recalled", name
    assert "peak_flops.bf16" in accelerator("rtx-3080").unverified
    assert accelerator("h100-sxm").unverified == ()


def test_the_catalog_is_as_large_as_promised() -> None:
    assert len(accelerator_ids()) >= 80
    assert len(system_ids()) >= 18
    assert {accelerator(key).vendor for key in accelerator_ids()} >= {
        "NVIDIA", "AMD", "Intel", "Google", "AWS", "Groq", "Cerebras", "Apple", "Huawei", "Qualcomm", "SambaNova",
    }  # fmt: skip


# What no machine of these years lies beyond.
RANGES: dict[str, tuple[float, float]] = {
    "memory_bytes": (0.2e9, 2e12),
    "memory_bandwidth": (200e9, 25e15),
    "power_w": (50, 25_000),
    "l2_bytes": (3e6, 130e6),
    "scale_up_bandwidth": (20e9, 2e12),
    "scale_out_bandwidth": (3e9, 200e9),
    "host_bandwidth": (15e9, 450e9),
}


@pytest.mark.parametrize("key", accelerator_ids())
def test_figures_are_possible(key: str) -> None:
    chip = accelerator(key)
    for name, (low, high) in RANGES.items():
        value = getattr(chip, name)
        assert value is None or low <= value <= high, (name, value)
    assert set(chip.peak_flops) <= set(PRECISIONS)
    assert chip.scale_up_domain >= 1
    # Chips come in GiB: at most 7.4 % above the decimal figure; never below two thirds (an Apple's share of it).
    assert 0.66 <= chip.usable_memory_bytes / chip.memory_bytes <= 1.075


@pytest.mark.parametrize("key", accelerator_ids())
def test_narrower_formats_are_no_slower_but_where_it_is_known(key: str) -> None:
    peaks = accelerator(key).peak_flops
    wide = max((peaks[p] for p in ("bf16", "fp16") if p in peaks), default=None)
    if wide is None:
        return
    for narrow in ("fp8", "fp4"):
        assert peaks.get(narrow, wide) >= wide
    slow_int8 = key in ("b300-sxm", "gb300")
    assert (peaks.get("int8", wide) < wide) == slow_int8
    assert peaks.get("fp32", 0.0) <= wide


# HBM machines balance between 30 (a decode card) and 600 FLOP a byte in 16 bits; SRAM machines far below.
@pytest.mark.parametrize("key", accelerator_ids())
def test_ridge_point_is_that_of_its_kind(key: str) -> None:
    chip = accelerator(key)
    wide = next((chip.peak_flops[p] for p in ("bf16", "fp16") if p in chip.peak_flops), None)
    if wide is None:
        return
    ridge = wide / chip.memory_bandwidth
    if chip.memory_kind == "SRAM":
        assert ridge < 30
    else:
        assert 20 <= ridge <= 650


LINK_OF_GENERATION = {
    "Volta": 150e9,
    "Hopper": 450e9,
    "Blackwell": 900e9,
    "Blackwell Ultra": 900e9,
    "Vera Rubin": 1800e9,
}


def test_links_are_those_of_their_generation() -> None:
    cut = {"h800-sxm": 200e9, "h100-pcie": 300e9, "h100-nvl": 300e9}
    for key in accelerator_ids():
        chip = accelerator(key)
        expected = cut.get(key, LINK_OF_GENERATION.get(chip.architecture))
        if chip.vendor == "NVIDIA" and chip.scale_up_bandwidth and expected:
            assert chip.scale_up_bandwidth == expected, key
    assert figures("links")["nvlink5"].value == accelerator("b200-sxm").scale_up_bandwidth


@pytest.mark.parametrize("key", system_ids())
def test_systems_agree_with_their_accelerators(key: str) -> None:
    box, machine = system(key), hardware(key)
    chip = machine.accelerator
    assert box.gpus == machine.max_gpus == machine.scale_up_domain
    if box.power_w and chip.power_w:
        assert box.power_w > 0.95 * chip.power_w * box.gpus, "a box takes more than its chips"
        assert box.power_w < 3.2 * chip.power_w * box.gpus
    if machine.scale_up_bandwidth and machine.scale_out_bandwidth:
        assert machine.scale_up_bandwidth >= machine.scale_out_bandwidth


def test_contested_values_say_why_theirs_was_taken() -> None:
    for name, origin in origins():
        assert not origin.readings or origin.note or name.startswith(("links", "switches", "electricity")), name


def test_contested_values_carry_all_readings() -> None:
    fp4 = accelerator("b300-sxm").provenance["peak_flops.fp4"]
    assert accelerator("b300-sxm").peak_flops["fp4"] == 13.5e15
    assert [reading.split()[0] for reading in fp4.readings] == ["13.125", "14", "15"]
    assert fp4.note
    assert accelerator("b200-sxm").provenance["memory_bandwidth"].readings


# The rates that are famous for being misread: with sparsity, of a sister chip, by doubling.
@pytest.mark.parametrize(
    ("key", "precision", "tflops"),
    [
        ("h100-sxm", "bf16", 989.4),
        ("h100-sxm", "fp8", 1978.9),
        ("h200-sxm", "fp8", 1978.9),
        ("l40s", "fp8", 733.0),
        ("rtx-4090", "bf16", 165.2),
        ("rtx-5090", "fp4", 1676.0),
        ("rubin-r200", "bf16", 4000.0),
        ("rubin-r200", "fp8", 17500.0),
        ("b300-sxm", "int8", 153.5),
        ("gaudi3", "fp8", 1835.0),
        ("gaudi3", "bf16", 1835.0),
        ("mi355x", "fp4", 10066.0),
        ("gb300", "fp4", 15000.0),
    ],
)
def test_dense_rates(key: str, precision: str, tflops: float) -> None:
    assert accelerator(key).peak_flops[precision] == pytest.approx(tflops * 1e12)


def test_balance_of_the_generations() -> None:
    ridges = {"h100-sxm": 295, "b200-sxm": 292, "gb200": 312, "gb300": 312, "h200-sxm": 206, "a100-sxm-80gb": 153}
    for key, expected in ridges.items():
        chip = accelerator(key)
        assert chip.peak_flops["bf16"] / chip.memory_bandwidth == pytest.approx(expected, abs=1)


# What PyTorch prints as the total capacity of the device, in GiB (public out-of-memory messages).
@pytest.mark.parametrize(
    ("key", "gib"), [("h100-sxm", 79.19), ("h200-sxm", 139.80), ("b200-sxm", 178.35), ("gb10", 119.61)]
)
def test_usable_memory_is_what_frameworks_find(key: str, gib: float) -> None:
    assert accelerator(key).usable_memory_bytes / 2**30 == pytest.approx(gib, rel=0.003)


def test_infrastructure_ranges_hold_their_values() -> None:
    for name in sections():
        for key, row in figures(name).items():
            low = row.low if row.low is not None else row.value
            high = row.high if row.high is not None else row.value
            assert low is not None and high is not None and 0 < low <= high, (name, key)
            assert row.value is None or low <= row.value <= high, (name, key)
    assert figures("pue")["default"].value == 1.25
    assert figures("depreciation")["default"].value == 5
    assert figures("electricity")["default"].value == 0.08


def test_licences_of_the_sources_are_in_the_notice() -> None:
    import tomllib

    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    sources: dict[str, Any] = tomllib.loads((HARDWARE / "data" / "sources.toml").read_text(encoding="utf-8"))
    for licence in {row["licence"] for row in sources.values() if row.get("licence")}:
        assert licence in notice
