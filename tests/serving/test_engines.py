"""Profiles of engines: which constants hold where, and files of one's own."""

from __future__ import annotations

import math

import pytest

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.serving.engines import engine_profile, engine_profiles
from infer_cost.serving.engines import profile as profiles
from infer_cost.serving.engines.constants import constants_by_engine, fitted_constants
from tests.serving.support import engine


def test_names_and_aliases():
    assert set(engine_profiles()) >= {"generic", "vllm", "sglang", "trtllm", "llama.cpp"}
    assert engine_profile(" TensorRT_LLM ").id == "trtllm"
    assert engine_profile("Ollama").id == "llama.cpp"
    with pytest.raises(UnknownNameError):
        engine_profile("vllmm")


def test_constants_of_the_generation_or_the_nearest():
    fitted = constants_by_engine()
    on = engine_profile("vllm").on("Hopper")
    assert {name: getattr(on, name) for name in fitted["vllm", "hopper"]} == fitted["vllm", "hopper"]
    elsewhere = engine_profile("vllm").on("no such generation")
    assert {name: getattr(elsewhere, name) for name in fitted["vllm", ""]} == fitted["vllm", ""]
    everyone = engine_profile("atom").on("Hopper")
    assert {name: getattr(everyone, name) for name in fitted["generic", ""]} == fitted["generic", ""]
    assert everyone.id == "atom"


def test_constants_of_one_s_own_come_first(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "vllm"\n[constants]\nfloor_share = 0.123\n')
    found = engine_profile(str(path)).on("Hopper")
    assert (found.id, found.name, found.floor_share) == ("vllm", "mine", 0.123)
    assert found.kernel_factor == constants_by_engine()["vllm", "hopper"]["kernel_factor"]
    path.write_text('name = "Ours"\n[constants]\nfloor_share = 0.5\n')
    assert (engine_profile(str(path)).id, engine_profile(str(path)).name) == ("generic", "Ours")
    path.write_text("[constants]\nfloor_share = 1000\n")
    assert engine_profile(str(path)).own == {"floor_share": 1000}
    path.write_text("[constants]\nfloor_share = 1000.5\n")
    with pytest.raises(InputError):
        engine_profile(str(path))


def test_without_any_fit_the_profile_stays(monkeypatch):
    # Wherever the table of fitted constants is asked for.
    monkeypatch.setattr("infer_cost.serving.engines.constants.constants_by_engine", dict)
    monkeypatch.setattr(profiles, "constants_by_engine", dict)
    plain = engine_profile("vllm")
    assert plain.on("Hopper") == plain


def test_a_newer_version_has_less_overhead():
    assert engine(yearly_gain=0.5, age_years=0.0).overhead == 1
    assert engine(yearly_gain=0.5, age_years=3.0).overhead == pytest.approx(math.exp(1.5))


def test_every_constant_says_what_it_was_fitted_on():
    found = list(fitted_constants())
    assert len(found) == sum(len(constants) for constants in constants_by_engine().values())
    said = {
        (constant.shared_by.removeprefix("every model, format and size of "), constant.fitted_on) for constant in found
    }
    assert ("vllm on hopper", "published serving measurements") in said
    assert ("vllm on any other accelerator", "median of the engine's generations") in said
    assert ("generic on any other accelerator", "median of the engines") in said
