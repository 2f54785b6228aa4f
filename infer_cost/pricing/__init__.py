"""API prices: what a call used, what a price list says, and the bill. Exact decimal arithmetic.

Here live usage and its counting conventions, price rows and their layers, bills, conversations, tasks
and blends.
What a model costs its operator is the business of :mod:`infer_cost.serving` and :mod:`infer_cost.economics`.
"""

from infer_cost.pricing.billing import Bill, BillLine, bill
from infer_cost.pricing.book import find_rates, list_rows, price
from infer_cost.pricing.rates import SERVICES, Prices, Rates, Tier, Validity
from infer_cost.pricing.usage import Usage

__all__ = [
    "SERVICES",
    "Bill",
    "BillLine",
    "Prices",
    "Rates",
    "Tier",
    "Usage",
    "Validity",
    "bill",
    "find_rates",
    "list_rows",
    "price",
]
