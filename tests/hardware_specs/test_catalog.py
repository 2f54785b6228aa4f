"""Machines by name: spellings, systems, prices, what a machine takes from its system."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.hardware_specs import hardware
from infer_cost.hardware_specs.bundled import accelerator, accelerator_ids, prices, resolve, system, system_ids

SPELLINGS = Path(__file__).parents[1] / "data" / "hardware" / "spellings.csv"


def spellings() -> list[tuple[str, str]]:
    with SPELLINGS.open(encoding="utf-8") as file:
        return [(row["spelling"], row["id"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("spelling", "key"), spellings())
def test_spellings_that_people_use(spelling: str, key: str) -> None:
    assert hardware(spelling).id == key
    assert hardware(spelling.upper()).id == key


def test_every_id_is_its_own_name() -> None:
    for key in (*accelerator_ids(), *system_ids()):
        assert resolve(key) == key


@pytest.mark.parametrize("name", ["A100", "V100", "TPU", "Trainium", "a100 80gb", "Gaudi"])
def test_ambiguous_names_are_refused_with_their_candidates(name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        hardware(name)
    assert caught.value.field == "hardware"
    assert caught.value.allowed
    candidates = caught.value.allowed.replace(" or ", ", ").split(", ")
    assert len(candidates) > 1
    assert all(resolve(candidate) == candidate for candidate in candidates)


def test_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown hardware 'h100-smx'") as caught:
        hardware("h100-smx")
    assert caught.value.hint and "h100-sxm" in caught.value.hint


@pytest.mark.parametrize("name", ["", " ", "ﷺ", "x" * 5000, "../../etc/passwd", "\x00"])
def test_odd_names_are_refused_in_two_short_lines(name: str) -> None:
    with pytest.raises(InputError) as caught:
        hardware(name)
    assert len(str(caught.value).splitlines()) <= 2
    assert all(len(line) < 250 for line in str(caught.value).splitlines())


def test_a_number_is_no_name() -> None:
    with pytest.raises(InputError):
        hardware(5)  # type: ignore[arg-type]


def test_accelerator_has_no_limit_and_its_system_does() -> None:
    chip, box = hardware("h100-sxm"), hardware("dgx-h100")
    assert chip.max_gpus is None
    assert box.max_gpus == 8
    assert chip.accelerator == box.accelerator
    assert chip.system == box.system
    assert chip.scale_up_domain == box.scale_up_domain == 8
    assert hardware("gb200").scale_up_domain == hardware("gb200-nvl72").max_gpus == 72


def test_power_a_gpu_is_the_systems_share() -> None:
    assert hardware("h100-sxm").power_per_gpu_w == 10_200 / 8
    assert hardware("l4").power_per_gpu_w == accelerator("l4").power_w
    # No figure of the box is known: the analyst's, which has the building in it, less the building.
    assert hardware("mi355x").power_per_gpu_w == pytest.approx(2650 / 1.25)


def test_cards_without_a_link_talk_over_pcie_and_say_so() -> None:
    card = hardware("l40s")
    assert card.accelerator.scale_up_bandwidth is None
    assert card.scale_up_bandwidth == card.host_bandwidth == 32e9
    assert card.scale_up_domain == 8
    assert any("host link" in note for note in card.notes)


def test_first_set_has_the_prices_of_the_analyst() -> None:
    table = {"h100-sxm": (1.30, 1.69, 1.30), "gb200": (2.21, 2.75, 3.30), "mi355x": (1.48, 1.90, 2.10)}
    for key, (hyperscaler, neocloud, rental) in table.items():
        tiers = {price.tier: price.usd for price in prices(key)}
        assert (tiers["hyperscaler-tco"], tiers["neocloud-tco"], tiers["rental-3yr"]) == (hyperscaler, neocloud, rental)


def test_default_tier_is_the_neoclouds_else_a_list_price() -> None:
    for key in accelerator_ids():
        tiers = [price.tier for price in prices(key)]
        if "neocloud-tco" in tiers:
            assert tiers[0] == "neocloud-tco"
        elif tiers:
            assert tiers[0] == "on-demand"


def test_placeholders_are_marked() -> None:
    assert all(price.placeholder for price in prices("b300-sxm") if price.tier.endswith(("tco", "3yr")))
    assert not any(price.placeholder for price in prices("h100-sxm"))


def test_a_system_carries_the_prices_of_its_accelerator() -> None:
    assert hardware("gb200-nvl72").prices == hardware("gb200").prices
    assert system("gb200-nvl72").price_usd == 3.4e6


QUERY = """
import sys, time
from infer_cost.hardware_specs.bundled import accelerator_ids, system_ids
from infer_cost.hardware_specs.catalog import hardware
start = time.perf_counter()
hardware("h100-sxm")
one = time.perf_counter() - start
start = time.perf_counter()
for key in (*accelerator_ids(), *system_ids()):
    hardware(key)
all_ = time.perf_counter() - start
print(one, all_, [m for m in ("pydantic", "numpy", "tomllib", "sympy", "rich") if m in sys.modules])
"""


def test_a_query_is_quick_and_loads_nothing_heavy() -> None:
    def run(code: str) -> tuple[str, float]:
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return done.stdout, time.perf_counter() - start

    runs, bare = zip(*((run(QUERY)[0].split(maxsplit=2), run("pass")[1]) for _ in range(5)), strict=True)
    # Ten and sixty milliseconds where Python itself starts in twenty.
    assert min(float(run[0]) for run in runs) < 0.5 * min(bare)
    assert min(float(run[1]) for run in runs) < 3.0 * min(bare)
    assert runs[0][2].strip() == "[]"
