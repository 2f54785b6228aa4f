"""The few fixed numbers of the formulas, each with its unit.

They have names so that no unit hides in a bare number: the tests scale every unit, these included, and check
that each formula's result scales as its unit says.
"""

from __future__ import annotations

MULTIPLY_ADD = 2.0
"""[FLOP] One multiply and one add: the work of one parameter for one token."""

BITS_PER_BYTE = 8.0
"""[bit/B]"""

SECONDS_PER_HOUR = 3600.0
"""[s/h] Prices are quoted an hour."""

TOKENS_PER_MILLION = 1e6
"""[1] Prices are quoted a million tokens."""

SECONDS_PER_YEAR = 31.536e6
"""[s/year] 365 days."""

JOULES_PER_KILOWATT_HOUR = 3.6e6
"""[J/kWh]"""
