"""The source documents audited: every quantitative statement, recomputed by calling the library.

Four documents describe how a token travels through a data centre and what that costs. Their statements stand in
``data/*.toml``, one row each, with the calculation that recomputes the figure. A verdict is never stored: a row with
a calculation to hold against gets it from the comparison, a row with a source is an external fact, the rest is
qualitative (see :mod:`.audit`). Nothing here is used by the rest of the library, save the command line.
"""

from __future__ import annotations

from infer_cost.claims.audit import VERDICTS, Finding, audit, counts_by_verdict
from infer_cost.claims.store import DOCUMENTS, documents

__all__ = ["DOCUMENTS", "VERDICTS", "Finding", "audit", "counts_by_verdict", "documents"]
