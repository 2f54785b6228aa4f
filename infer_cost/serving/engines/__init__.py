"""Serving engines as profiles: what they do at each step, in a few constants, from ``profiles.toml``."""

from __future__ import annotations

from infer_cost.serving.engines.profile import EngineProfile, engine_profile, engine_profiles

__all__ = ["EngineProfile", "engine_profile", "engine_profiles"]
