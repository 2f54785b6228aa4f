"""Units of time that money is counted in."""

from __future__ import annotations

HOURS_PER_YEAR = 8760.0
"""[h/year] 365 days."""

HOURS_PER_MONTH = HOURS_PER_YEAR / 12.0
"""[h/month] 730: clouds bill a month so."""

SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600.0
"""[s/month]"""

SECONDS_PER_YEAR = HOURS_PER_YEAR * 3600.0
"""[s/year]"""
