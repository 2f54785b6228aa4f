"""A user's machine: four numbers suffice, every mistake is named in two lines, overrides follow through."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InferCostError, InputError, UnitError, UnknownNameError
from infer_cost.hardware_specs import hardware
from infer_cost.hardware_specs.overrides import SETTABLE, with_overrides
from infer_cost.hardware_specs.user import TEMPLATE, json_schema

FOUR = """\
name = "My card"
memory = "48 GB"
memory_bandwidth = "900 GB/s"
power = "300 W"
[peak_flops]
bf16 = "180 TFLOP/s"
"""


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_four_numbers_suffice(tmp_path: Path) -> None:
    machine = hardware(write(tmp_path, FOUR))
    chip = machine.accelerator
    assert (machine.id, machine.name) == ("my-card", "My card")
    assert (chip.memory_bytes, chip.memory_bandwidth, chip.power_w) == (48e9, 900e9, 300.0)
    assert chip.peak_flops == {"bf16": 180e12}
    assert chip.usable_memory_bytes == 48e9
    assert machine.power_per_gpu_w == 300.0
    assert machine.prices == () and machine.warnings == ()
    assert chip.provenance["memory_bandwidth"].confidence == "user"
    assert "my.toml" in chip.provenance["memory_bandwidth"].source


def test_a_path_object_is_a_file_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "card.txt"
    path.write_text(FOUR, encoding="utf-8")
    assert hardware(path).id == "my-card"
    assert hardware(write(tmp_path, FOUR)) == hardware(Path(write(tmp_path, FOUR)))


def test_a_figure_may_carry_its_source(tmp_path: Path) -> None:
    text = FOUR.replace('memory = "48 GB"', 'memory = { value = "48 GB", source = "datasheet of 2026-01" }')
    origin = hardware(write(tmp_path, text)).accelerator.provenance["memory_bytes"]
    assert origin.source == "datasheet of 2026-01"


def test_everything_may_be_given(tmp_path: Path) -> None:
    more = """\
vendor = "ACME"
architecture = "Hopper"
usable_memory = "46 GiB"
scale_up_bandwidth = "450 GB/s"
scale_up_domain = 4
scale_out_bandwidth = "400 Gb/s"
host_bandwidth = "64 GB/s"
price_per_gpu_hour = 2.5
"""
    machine = hardware(write(tmp_path, FOUR.replace("[peak_flops]", more + "[peak_flops]")))
    assert machine.scale_up_domain == 4
    assert machine.scale_out_bandwidth == 50e9
    assert machine.accelerator.usable_memory_bytes == 46 * 2**30
    assert (machine.prices[0].tier, machine.prices[0].usd) == ("user", 2.5)


def test_the_template_is_a_machine(tmp_path: Path) -> None:
    machine = hardware(write(tmp_path, TEMPLATE))
    assert machine.accelerator.memory_bandwidth == 3.35e12
    assert machine.warnings == ()


def test_every_line_of_the_template_is_true(tmp_path: Path) -> None:
    head, tail = TEMPLATE.split("[peak_flops]\n", 1)
    optional = [line.removeprefix("# ") for line in tail.splitlines() if line.startswith("# ") and " = " in line]
    extras = [line for line in optional if not line.startswith(("fp8", "base", "memory"))]
    text = head + "\n".join(extras) + "\n[peak_flops]\n" + "\n".join(optional[:1])
    assert tomllib.loads(text)
    assert len(extras) >= 7
    assert hardware(write(tmp_path, text)).accelerator.peak_flops == {"fp8": 1979e12}


def test_a_base_gives_what_is_left_out(tmp_path: Path) -> None:
    text = 'name = "Fast H100"\nbase = "H100"\nmemory_bandwidth = "4 TB/s"\nprice_per_gpu_hour = 2\n'
    machine, base = hardware(write(tmp_path, text)), hardware("h100-sxm")
    assert (machine.id, machine.name) == ("fast-h100", "Fast H100")
    assert machine.accelerator.id == "h100-sxm", "its measured efficiencies still hold"
    assert machine.accelerator.memory_bandwidth == 4e12
    assert machine.accelerator.peak_flops == base.accelerator.peak_flops
    assert machine.scale_up_domain == 8
    assert machine.prices[0].usd == 2


def test_rates_with_sparsity_are_taken_and_warned_of(tmp_path: Path) -> None:
    text = FOUR.replace("180 TFLOP/s", "1979 TFLOP/s").replace("48 GB", "80 GB").replace("900 GB/s", "3.35 TB/s")
    machine = hardware(write(tmp_path, text))
    assert machine.accelerator.peak_flops["bf16"] == 1979e12
    assert machine.warnings == ("bf16 of 1979 TFLOP/s is the rate with sparsity: h100-sxm has 989.4 TFLOP/s dense",)


MISTAKES = [
    ('"900 GB/s"', '"900 Gb/s"', UnitError, "in bits"),
    ('"900 GB/s"', '"900 GB"', UnitError, "another kind"),
    ('"900 GB/s"', '"900 W"', UnitError, "another kind"),
    ('"900 GB/s"', '"900"', UnitError, "no unit"),
    ('"900 GB/s"', '"fast"', UnitError, "isn't a number"),
    ('"900 GB/s"', '"-900 GB/s"', UnitError, "below"),
    ('"900 GB/s"', '"900 XB/s"', UnitError, "unknown unit"),
    ('"900 GB/s"', '"9e99 GB/s"', UnitError, "above"),
    ('"48 GB"', "48", InputError, "without a unit"),
    ('"48 GB"', '"48 gb"', UnitError, "unknown unit"),
    ("memory =", "memmory =", InputError, "no field 'memmory'"),
    ('memory_bandwidth = "900 GB/s"\n', "", InputError, "memory_bandwidth is missing"),
    ('memory = "48 GB"\n', "", InputError, "memory is missing"),
    ('name = "My card"\n', "", InputError, "name is missing"),
    ('[peak_flops]\nbf16 = "180 TFLOP/s"\n', "", InputError, "peak_flops is missing"),
    ("bf16 =", "bf17 =", InputError, "peak_flops"),
    ('"180 TFLOP/s"', '"180 TFLOP"', UnitError, "another kind"),
    ('"180 TFLOP/s"', "180", InputError, "without a unit"),
    ('power = "300 W"', "power = [1]", InputError, "power"),
    ('name = "My card"', 'name = "My card', InputError, "isn't TOML"),
    ("name =", "scale_up_domain = 0\nname =", InputError, "scale_up_domain"),
    ("name =", 'base = "A100"\nname =', UnknownNameError, "several machines"),
]


@pytest.mark.parametrize(("old", "new", "error", "says"), MISTAKES)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, error: type[Exception], says: str) -> None:
    assert old in FOUR
    with pytest.raises(error) as caught:
        hardware(write(tmp_path, FOUR.replace(old, new, 1)))
    message = str(caught.value)
    assert says in message
    assert len(message.splitlines()) <= 2
    assert "pydantic" not in message


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file") as caught:
        hardware(str(tmp_path / "missing.toml"))
    assert caught.value.hint and "--template" in caught.value.hint
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        hardware(str(tmp_path / "folder.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="isn't UTF-8 text"):
        hardware(str(tmp_path / "binary.toml"))
    (tmp_path / "large.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(InputError, match="too large"):
        hardware(str(tmp_path / "large.toml"))


def test_schema_describes_the_file() -> None:
    schema = json_schema()
    assert set(tomllib.loads(FOUR)) <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["name"]


def test_overrides_replace_one_figure_and_leave_the_rest() -> None:
    base = hardware("h100-sxm")
    faster = with_overrides(base, {"memory_bandwidth": "4 TB/s"})
    assert faster.accelerator.memory_bandwidth == 4e12
    assert faster.accelerator.peak_flops == base.accelerator.peak_flops
    assert faster.id == base.id
    assert faster.accelerator.provenance["memory_bandwidth"].confidence == "user"
    assert base.accelerator.memory_bandwidth == 3.35e12


def test_overrides_have_their_consequences() -> None:
    base = hardware("h100-sxm")
    assert with_overrides(base, {"memory": "120 GB"}).accelerator.usable_memory_bytes == 120e9
    both = with_overrides(base, {"memory": "120 GB", "usable_memory": "100 GB"})
    assert both.accelerator.usable_memory_bytes == 100e9
    assert base.power_per_gpu_w is not None
    assert with_overrides(base, {"power": "500 W"}).power_per_gpu_w == base.power_per_gpu_w - 200
    linked = with_overrides(base, {"scale_up_bandwidth": "900 GB/s", "scale_up_domain": "16"})
    assert linked.scale_up_bandwidth == linked.accelerator.scale_up_bandwidth == 900e9
    assert linked.scale_up_domain == 16
    assert with_overrides(base, {"price_per_gpu_hour": 3}).prices[0].usd == 3
    rated = with_overrides(base, {"peak_flops.fp4": "4 PFLOP/s"})
    assert rated.accelerator.peak_flops["fp4"] == 4e15


def test_an_override_with_sparsity_is_warned_of() -> None:
    machine = with_overrides(hardware("h100-sxm"), {"peak_flops.fp8": "3958 TFLOP/s"})
    assert machine.warnings and "1978.9 TFLOP/s dense" in machine.warnings[0]


def test_unknown_fields_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        with_overrides(hardware("h100-sxm"), {"memory_bandwith": "4 TB/s"})
    assert caught.value.hint and "memory_bandwidth" in caught.value.hint


@pytest.mark.parametrize(
    ("field", "value"),
    [("scale_up_domain", "many"), ("scale_up_domain", 0), ("price_per_gpu_hour", "nan"), ("price_per_gpu_hour", -1)],
)
def test_numbers_out_of_range_are_refused(field: str, value: str | float) -> None:
    with pytest.raises(InputError, match=field):
        with_overrides(hardware("h100-sxm"), {field: value})


@given(field=st.sampled_from(SETTABLE), value=st.text(max_size=30))
def test_no_text_breaks_an_override(field: str, value: str) -> None:
    machine = hardware("h100-sxm")
    try:
        changed = with_overrides(machine, {field: value})
    except InferCostError:
        return
    assert changed.accelerator.memory_bandwidth > 0
